"""A study's charts against the batch size N, and of its predictions and cross-checks. Room: report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kerntrace.report.figures.chart import Chart, Series
from kerntrace.report.figures.palette import COLOURS, GREY, MARKERS
from kerntrace.report.figures.study_charts import GAP, batch_ticks, cells_by_context, machines_of
from kerntrace.units import NS_PER_MS

Json = dict[str, Any]
_MOST_TICKS = 24

_RIVALS = {"H-S": ("#d55e00", "dashed"), "H-C": (GREY, "dotted"), "H-D": ("#009e73", "solid"), "H-D+S": ("#cc79a7", "dotdash")}
_FORMS = (("linear", "solid"), ("log2", "dashed"), ("sqrt", "dotted"), ("power", "dotdash"))


def rival_charts(study: Json) -> list[Chart]:
    """The gap against N with the rivals' fits: a chart a machine and context, by the form of S that decides."""
    charts = []
    for machine in machines_of(study):
        contest = _contest(study, machine)
        for context, cells in cells_by_context(study, machine).items():
            title = f"{machine['name']}, context {context}"
            batches = [cell["batch"] for cell in cells]
            series = [_gaps(machine, cells), *(_fits(contest, cells) if contest else [])]
            alt = f"Eager less graphed step against batch size, {title}, with the fits of rival models; tables have the numbers"
            chart = Chart(
                title,
                "batch N",
                "eager - graph, ms",
                tuple(series),
                alt,
                x_log=True,
                ticks=batch_ticks(batches),
                legend="below",
                height=360,
            )
            charts.append(chart)
    return charts


def _contest(study: Json, machine: Json) -> Json | None:
    if machine["store"]:
        return None
    form = study["statistics"]["s_form"]
    rows = study["attribution"]["rivals"]
    return next((r for r in rows if (r["host"], r["target"], r["s_form"]) == (machine["host"], GAP, form)), None)


def _gaps(machine: Json, cells: Sequence[Json]) -> Series:
    effects = [cell["effects"][GAP] for cell in cells]
    intervals = [one["decisive"]["interval"] for one in effects]
    values = [one["decisive"]["estimate_ns"] / NS_PER_MS for one in effects]
    whole = all(intervals)
    said = [
        f"batch {cell['batch']}: {value:.3f} ms"
        + (f" [{i['low'] / NS_PER_MS:.3f}, {i['high'] / NS_PER_MS:.3f}] {i['method']}" if i else "")
        for cell, value, i in zip(cells, values, intervals)
    ]
    return Series(
        "measured gap, 95 %",
        [cell["batch"] for cell in cells],
        values,
        machine["colour"],
        machine["marker"],
        [i["low"] / NS_PER_MS for i in intervals] if whole else (),
        [i["high"] / NS_PER_MS for i in intervals] if whole else (),
        sizes=(8.0,),
        said=said,
    )


def _fits(contest: Json, cells: Sequence[Json]) -> list[Series]:
    """Each rival's value at the cells: c, alpha S(N), max(0, D - T), or the last two's sum."""
    time_of = contest["gpu_time"].removesuffix(" step")
    there = [cell for cell in cells if time_of in cell["steps"]]
    series = []
    for fit in contest["fits"]:
        colour, dash = _RIVALS.get(fit["rival"], (GREY, "solid"))
        y = [_fitted(fit, contest["s_form"], cell["batch"], cell["steps"][time_of]["median_ns"] / NS_PER_MS) for cell in there]
        if y and not any(value is None for value in y):
            chosen = " (chosen)" if fit["rival"] == contest["chosen"] else ""
            label = f"{fit['rival']}: {fit['formula']}{chosen}"
            series.append(Series(label, [cell["batch"] for cell in there], [v or 0.0 for v in y], colour, "", dash=dash))
    return series


def _fitted(fit: Json, form: str, batch: int, time_ms: float) -> float | None:
    residual = scheduler(form, batch)
    if fit["slope"] is not None and residual is None:
        return None
    total = fit["constant_ms"] or 0.0
    total += max(0.0, fit["floor_ms"] - time_ms) if fit["floor_ms"] is not None else 0.0
    return float(total + (fit["slope"] * residual if fit["slope"] is not None and residual is not None else 0.0))


def scheduler(form: str, batch: int) -> float | None:
    """S(N) in ms by a form that needs no table."""
    from kerntrace.model.scheduler import SForm, scheduler_ms

    return None if form == SForm.TABLE.value else scheduler_ms(batch, SForm(form))


def exposure_charts(study: Json) -> list[Chart]:
    """Host-exposed time of eager steps within and between, against N, beside the forms of S(N): a chart a machine."""
    charts = []
    for machine in machines_of(study):
        rows = [row for row in study["crosscheck"] if row["host"] == machine["host"] and row["mode"] == "eager"]
        if not rows or machine["store"]:
            continue
        batches = sorted({row["batch"] for row in rows})
        series = [one for part in ("within", "between") for one in _exposures(rows, part)]
        for form, dash in _FORMS:
            values = [scheduler(form, batch) or 0.0 for batch in batches]
            series.append(Series(f"S(N), {form} (predicted)", batches, values, GREY, "", dash=dash))
        alt = f"Host-exposed time of eager steps on {machine['name']}: within and between steps, and S(N), against N"
        title = f"{machine['name']}, eager, traced"
        charts.append(
            Chart(
                title,
                "batch N",
                "ms a step",
                tuple(series),
                alt,
                x_log=True,
                ticks=batch_ticks(batches),
                legend="below",
                height=440,
            )
        )
    return charts


def _exposures(rows: Sequence[Json], part: str) -> list[Series]:
    series = []
    for i, context in enumerate(sorted({row["context"] for row in rows})):
        mine = sorted((row for row in rows if row["context"] == context), key=lambda row: int(row["batch"]))
        values = [row["medians_ns"][part] / NS_PER_MS for row in mine]
        label = f"{part}, context {context} (measured, medians)"
        said = [f"{label}, batch {row['batch']}: {value:.3f} ms" for row, value in zip(mine, values)]
        colour = "#d55e00" if part == "within" else "#0072b2"
        marker = MARKERS[i % len(MARKERS)]
        series.append(
            Series(
                label, [row["batch"] for row in mine], values, colour, marker, hollow=part == "between", sizes=(8.0,), said=said
            )
        )
    return series


def prediction_charts(study: Json, predictions: Sequence[Json]) -> list[Chart]:
    """Predicted against measured steps of every mode: a chart a source of predictions.

    Args:
        predictions: `gpu`, `of`, `source`, `batch`, `context`, `predicted_ns`.
    """
    measured = {
        (c["gpu"], mode, c["batch"], c["context"]): arm["median_ns"] for c in study["cells"] for mode, arm in c["steps"].items()
    }
    charts = []
    for source in dict.fromkeys(row["source"] for row in predictions):
        mine = [
            (row, measured.get((row["gpu"], row["of"], row["batch"], row["context"])))
            for row in predictions
            if row["source"] == source
        ]
        series = _predicted([(row, value) for row, value in mine if value])
        if not series:
            continue
        ends = [value for one in series for side in (one.x, one.y) for value in side]
        low, high = 0.9 * min(ends), 1.1 * max(ends)
        series.append(Series("predicted = measured", (low, high), (low, high), "", marker="", dash="solid"))
        alt = f"Predicted against measured decode steps, predictions by {source}; the table of errors has the numbers"
        charts.append(
            Chart(
                f"by {source}",
                "measured step, ms",
                "predicted step, ms",
                tuple(series),
                alt,
                x_log=True,
                y_log=True,
                height=360,
            )
        )
    return charts


def _predicted(pairs: Sequence[tuple[Json, float]]) -> list[Series]:
    series = []
    gpus = list(dict.fromkeys(row["gpu"] for row, _ in pairs))
    for mode in dict.fromkeys(row["of"] for row, _ in pairs):
        for i, gpu in enumerate(gpus):
            mine = [(row, value) for row, value in pairs if (row["of"], row["gpu"]) == (mode, gpu)]
            if not mine:
                continue
            said = [
                f"{gpu}, {mode}, batch {row['batch']}, context {row['context']}: measured {value / NS_PER_MS:.3f} ms,"
                f" predicted {row['predicted_ns'] / NS_PER_MS:.3f} ms ({100 * (row['predicted_ns'] / value - 1):+.1f} %)"
                for row, value in mine
            ]
            series.append(
                Series(
                    f"{gpu.removeprefix('NVIDIA ')}, {mode}" if len(gpus) > 1 else mode,
                    [value / NS_PER_MS for _, value in mine],
                    [row["predicted_ns"] / NS_PER_MS for row, _ in mine],
                    COLOURS[list(dict.fromkeys(row["of"] for row, _ in pairs)).index(mode) % len(COLOURS)],
                    MARKERS[i % len(MARKERS)],
                    hollow=mode == "eager",
                    sizes=(8.0,),
                    said=said,
                )
            )
    return series


def crosscheck_chart(study: Json) -> Chart | None:
    """Ledger less traced subtraction of each traced cell with its interval; zero is agreement."""
    rows = [(number, row) for number, row in enumerate(study["crosscheck"], 1) if row["against_traced"]]
    if not rows:
        return None
    series = []
    for i, mode in enumerate(dict.fromkeys(row["mode"] for _, row in rows)):
        mine = [(number, row) for number, row in rows if row["mode"] == mode]
        found = [row["against_traced"] for _, row in mine]
        said = [
            f"{number}: {row['host']}, {mode}, batch {row['batch']}, context {row['context']}:"
            f" {one['ledger_less_subtraction_ns'] / NS_PER_MS:+.3f} ms, {one['verdict']}"
            for (number, row), one in zip(mine, found)
        ]
        whole = all(one["interval"] for one in found)
        series.append(
            Series(
                mode,
                [number for number, _ in mine],
                [one["ledger_less_subtraction_ns"] / NS_PER_MS for one in found],
                COLOURS[i % len(COLOURS)],
                MARKERS[i % len(MARKERS)],
                [one["interval"]["low"] / NS_PER_MS for one in found] if whole else (),
                [one["interval"]["high"] / NS_PER_MS for one in found] if whole else (),
                sizes=(7.0,),
                said=said,
            )
        )
    ticks = [(float(number), str(number)) for number, _ in rows[:: -(-len(rows) // _MOST_TICKS)]]
    alt = "Step by the ledger less step by subtraction of the traced calls' walls, a traced cell and mode at a time"
    return Chart("", "number of traced cell and mode", "ledger - subtraction, ms", tuple(series), alt, ticks=ticks, height=280)
