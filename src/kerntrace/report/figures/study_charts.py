"""The charts of a study, from its `kerntrace.study/1` document. Room: report.

Cells are faint, medians have their intervals, reference rows are hollow; nothing here is fitted or averaged anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kerntrace.errors import UsageError
from kerntrace.report.figures.chart import Chart, Series
from kerntrace.report.figures.palette import COLOURS, GREY, MARKERS
from kerntrace.units import NS_PER_MS

Json = dict[str, Any]

GAP = "gap"


def grid_of(study: Json) -> str:
    """The grid whose medians are drawn: that common to all machines where there are several, else all cells."""
    grids = {row["grid"] for row in study["skus"]}
    return "common" if "common" in grids else "all"


def grid_text(grid: str) -> str:
    return {"all": "all cells", "common": "the common grid"}.get(grid, f"the {grid} grid")


def bandwidth_of(gpu: str) -> float | None:
    """Nominal DRAM bandwidth in GB/s; None for a GPU that the table lacks."""
    from kerntrace.hardware import find_gpu

    try:
        return find_gpu(gpu).bandwidth or None
    except UsageError:
        return None


def machines_of(study: Json) -> list[Json]:
    """Hosts in the order of the document, each with a colour, a marker and a short name."""
    return [
        {**host, "colour": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)], "name": short_gpu(host["gpu"])}
        for i, host in enumerate(study["hosts"])
    ]


def short_gpu(gpu: str) -> str:
    """The table's short name of a GPU, or its own name cut."""
    from kerntrace.hardware import find_gpu

    try:
        return find_gpu(gpu).name
    except UsageError:
        return gpu[:40]


def benefit_chart(study: Json) -> Chart | None:
    """Share of the eager step that graphs remove, against DRAM bandwidth."""
    return _against_gpu(study, "benefit", "nominal HBM bandwidth, GB/s", "gap / eager step", by_bandwidth=True)


def gap_chart(study: Json) -> Chart | None:
    """Eager step less graphed step, by GPU."""
    return _against_gpu(study, "gap", "", "eager - graph, ms a step", by_bandwidth=False)


def _against_gpu(study: Json, what: str, x_label: str, y_label: str, *, by_bandwidth: bool) -> Chart | None:
    machines = machines_of(study)
    places = {m["gpu"]: bandwidth_of(m["gpu"]) if by_bandwidth else float(i) for i, m in enumerate(machines)}
    grid = grid_of(study)
    series: list[Series] = []
    for machine in machines:
        at = places[machine["gpu"]]
        if at is not None:
            series += _of_machine(study, machine, at, what, grid)
    if not series:
        return None
    if not by_bandwidth:
        known = {short_gpu(gpu) for gpu in places}
        absent = [row["gpus"][0] for row in study["reference"] if known.isdisjoint(row["gpus"])]
        places |= {gpu: float(i) for i, gpu in enumerate(absent, len(machines))}
    series += _references(study, places, what)
    ticks = [] if by_bandwidth else [(place, short_gpu(gpu)) for gpu, place in places.items() if place is not None]
    over = f"the median over {grid_text(grid)} with its 95 % interval"
    alt = f"{y_label} by GPU: single cells, {over}, and published reference rows"
    greatest = max(max(one.y) for one in series)
    least = min(0.0, min(min(one.y) for one in series))
    return Chart("", x_label, y_label, tuple(series), alt, ticks=ticks, y_range=(1.08 * least, 1.1 * greatest or 1.0))


def _of_machine(study: Json, machine: Json, at: float, what: str, grid: str) -> list[Series]:
    cells = [
        c for c in study["cells"] if c["host"] == machine["host"] and GAP in c["effects"] and c["store"] == machine["store"]
    ]
    values = [_effect(cell, what) for cell in cells]
    said = [f"{machine['name']}, batch {c['batch']}, context {c['context']}: {_text(v, what)}" for c, v in zip(cells, values)]
    found = [
        Series("cells", [at] * len(cells), values, machine["colour"], "circle", faint=True, sizes=(6.0,), said=said)
        if cells
        else None
    ]
    row = next(
        (
            r
            for r in study["skus"]
            if (r["host"], r["store"], r["grid"], r["effect"]) == (machine["host"], machine["store"], grid, GAP)
        ),
        None,
    )
    if row is not None:
        value, interval = _median(row, what)
        ends = (interval["low"], interval["high"]) if interval else None
        scale = 1.0 if what == "benefit" else 1 / NS_PER_MS
        told = f"{machine['name']}, median over {row['cells']} cells ({grid_text(grid)}): {_text(value * scale, what)}"
        if ends and interval:
            told += f" [{_text(ends[0] * scale, what)}, {_text(ends[1] * scale, what)}], 95 %, {interval['method']}"
        found.append(
            Series(
                f"{machine['name']}: median",
                (at,),
                (value * scale,),
                machine["colour"],
                machine["marker"],
                (ends[0] * scale,) if ends else (),
                (ends[1] * scale,) if ends else (),
                sizes=(12.0,),
                said=(told,),
            )
        )
    return [one for one in found if one is not None]


def _effect(cell: Json, what: str) -> float:
    effect = cell["effects"][GAP]
    return float(effect["benefit"] if what == "benefit" else effect["decisive"]["estimate_ns"] / NS_PER_MS)


def _median(row: Json, what: str) -> tuple[float, Json | None]:
    if what == "benefit":
        return row["benefit_median_of_ratios"], row["benefit_median_of_ratios_interval"]
    return row["decisive"]["estimate_ns"], row["decisive"]["interval"]


def _references(study: Json, places: dict[str, float | None], what: str) -> list[Series]:
    """Published rows at the place of their GPU; one whose GPU is not in the study where its bandwidth puts it, or beside."""
    short = {short_gpu(gpu): place for gpu, place in places.items()}
    x, y, said = [], [], []
    for row in study["reference"]:
        place = next((short[gpu] for gpu in row["gpus"] if short.get(gpu) is not None), None)
        place = place if place is not None or what == "gap" else bandwidth_of(row["gpus"][0])
        if place is None:
            continue
        value = row["benefit"] if what == "benefit" else row["gap_median_ns"] / NS_PER_MS
        x.append(place)
        y.append(value)
        said.append(f"{' / '.join(row['gpus'])}, published (reference): {_text(value, what)}")
    return [Series("published (reference)", x, y, GREY, "diamond", hollow=True, sizes=(12.0,), said=said)] if x else []


def _text(value: float, what: str) -> str:
    return f"{100 * value:.1f} %" if what == "benefit" else f"{value:.3f} ms"


def cells_by_context(study: Json, machine: Json) -> dict[int, list[Json]]:
    """A machine's cells that have a gap, by context, each in order of batch."""
    found: dict[int, list[Json]] = {}
    for cell in study["cells"]:
        if cell["host"] == machine["host"] and cell["store"] == machine["store"] and GAP in cell["effects"]:
            found.setdefault(cell["context"], []).append(cell)
    return {context: sorted(cells, key=lambda c: c["batch"]) for context, cells in sorted(found.items())}


def batch_ticks(batches: Sequence[int]) -> list[tuple[float, str]]:
    return [(float(batch), str(batch)) for batch in sorted(set(batches))]
