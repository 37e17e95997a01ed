"""The charts of a trace, from its documents: its steps, its roofline, and host-exposed time by batch. Room: report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kerntrace.errors import UsageError
from kerntrace.report.figures.chart import Bars, Chart, Note, Series
from kerntrace.report.figures.palette import BUSY, GREY, SIDE_COLOURS, SIDE_MARKERS, TERM_COLOURS
from kerntrace.report.text import TERM_NAMES
from kerntrace.units import NS_PER_MS, duration

Json = dict[str, Any]

_TERMS = (
    ("wall_ns", "wall", GREY, "circle"),
    ("busy_ns", "GPU busy", BUSY, "square"),
    ("host_exposed_ns", "host-exposed", "#d55e00", "triangle"),
)
_BOUNDS = (
    ("memory", "circle", BUSY),
    ("compute", "square", "#d55e00"),
    ("latency", "triangle", "#8a94a0"),
    ("l2", "diamond", "#009e73"),
)


def steps_chart(steps: Json, title: str) -> Chart:
    """Wall, busy and host-exposed time of each step drawn; steps left out of the headline figures are hollow.

    Args:
        steps: `kerntrace.steps/1`.
    """
    rows, top = _timed(steps), _top(steps)
    series = []
    for term, label, colour, marker in _TERMS:
        for steady in (True, False):
            chosen = [row for row in rows if row["steady"] is steady]
            values = [_value(row, term) for row in chosen]
            series.append(
                Series(
                    label if steady else f"{label}, left out",
                    [row["index"] for row in chosen],
                    [min(value, 0.99 * top) for value in values],
                    colour,
                    marker,
                    hollow=not steady,
                    sizes=(6.0,),
                    said=[f"step {row['index']}: {label} {value:.3f} ms; {_said(row)}" for row, value in zip(chosen, values)],
                )
            )
    alt = f"Wall, GPU busy and host-exposed time of each step of {title}; the medians are in the table of the ledger"
    return Chart(title, "step", "ms a step", tuple(series), alt, y_range=(0.0, top))


def beyond(steps: Json) -> int:
    """How many steps have a wall above the chart, whose scale is that of the steady ones."""
    top = _top(steps)
    return sum(_value(row, "wall_ns") > top for row in _timed(steps))


def _timed(steps: Json) -> list[Json]:
    return [row for row in steps["steps"] if "wall_ns" in row or "open_window" in row]


def _value(row: Json, term: str) -> float:
    """In ms; of a step whose window is not closed up to its own last operation."""
    return float(row.get(term, row.get("open_window", {}).get(term)) or 0) / NS_PER_MS


def _top(steps: Json) -> float:
    rows = _timed(steps)
    steady = [_value(row, "wall_ns") for row in rows if row["steady"]] or [_value(row, "wall_ns") for row in rows]
    return 1.12 * max(steady, default=1.0) or 1.0


def _said(row: Json) -> str:
    batch = f", batch {row['batch']}" if row["batch"] is not None else ""
    state = "steady" if row["steady"] else f"left out: {row['excluded']}"
    return f"{row['kind']}{batch}, {row['kernels']} kernels: {state}"


def roofline_chart(cell: Json, dtype: str, title: str) -> Chart:
    """Operations of a cell under the roofs of its GPU: operations a byte against operations a second, both logarithmic.

    Args:
        cell: a cell of `kerntrace.roofline/1`.
    """
    dots = [row for row in cell["kernels"] if row["intensity"] and row["tflop_s"]]
    series = [_roof(cell, dtype, [row["intensity"] for row in dots])]
    for bound, marker, colour in _BOUNDS:
        rows = [row for row in dots if row["bound"] == bound]
        series.append(
            Series(
                f"{bound}-bound by the model",
                [row["intensity"] for row in rows],
                [row["tflop_s"] for row in rows],
                colour,
                marker,
                sizes=[7 + 34 * row["share_of_busy"] ** 0.5 for row in rows],
                said=[_told(row) for row in rows],
            )
        )
    return Chart(
        title,
        "FLOP a byte (predicted from shapes)",
        "TFLOP/s (derived)",
        tuple(one for one in series if one is not None and len(one.x)),
        f"Roofline of {title}: operations a byte against operations a second; the table has the numbers",
        x_log=True,
        y_log=True,
        notes=_roof_notes(series[0]),
        legend="bottom_right",
        height=430,
    )


def _told(row: Json) -> str:
    shape = " x ".join(map(str, row["shape"]))
    lines = [f"{row['name']} ({shape}), {row['calls']} a step", f"measured {duration(row['measured_ns'])}"]
    error = f", error {100 * row['error']:+.1f} %" if row["error"] is not None else ""
    lines.append(f"predicted {duration(row['predicted_ns'])}{error}")
    if row["share_of_roof"] is not None:
        lines.append(f"{row['gb_s']:,.0f} GB/s, {100 * row['share_of_roof']:.1f} % of its roof")
    return "; ".join(lines)


def _roof(cell: Json, dtype: str, intensities: Sequence[float]) -> Series | None:
    """DRAM bandwidth up to the ridge point, then the dense peak; None where the table lacks the GPU."""
    from kerntrace.hardware import find_gpu

    try:
        gpu = find_gpu(cell["gpu"])
        bandwidth, peak = gpu.bandwidth, gpu.peak_flops_per_ns(dtype)
    except UsageError:
        return None
    if not intensities or not bandwidth:
        return None
    ridge = peak / bandwidth
    low, high = min(intensities) / 3, max(10 * ridge, 3 * max(intensities))
    points = [low, ridge, high], [low * bandwidth / 1000, peak / 1000, peak / 1000]
    return Series("", *points, "", marker="", dash="solid")


def _roof_notes(roof: Series | None) -> list[Note]:
    if roof is None:
        return []
    bandwidth, peak = 1000 * roof.y[0] / roof.x[0], roof.y[-1]
    at = roof.x[0] * 3
    notes = [Note(at, at * bandwidth / 1000 * 1.5, f"{bandwidth:,.0f} GB/s")]
    return [*notes, Note((roof.x[1] * roof.x[2]) ** 0.5, peak * 1.15, f"{peak:,.0f} TFLOP/s")]


def exposure_chart(rows: Sequence[Mapping[str, Any]]) -> Chart:
    """Host-exposed time against batch, inside the step and between steps.

    Args:
        rows: `letter`, `mode`, `batch`, and `within` and `between` in ns, of every cell.
    """
    series = []
    for letter, mode in dict.fromkeys((row["letter"], row["mode"]) for row in rows):
        mine = [row for row in rows if row["letter"] == letter]
        for part, dash in (("within", "solid"), ("between", "dashed")):
            label = f"{letter.upper()} {mode}: {part} steps"
            values = [row[part] / NS_PER_MS for row in mine]
            said = [f"{label}, batch {row['batch']}: {value:.3f} ms" for row, value in zip(mine, values)]
            series.append(
                Series(
                    label,
                    [row["batch"] for row in mine],
                    values,
                    SIDE_COLOURS[letter],
                    SIDE_MARKERS[letter],
                    hollow=part == "between",
                    dash=dash,
                    sizes=(9.0,),
                    said=said,
                )
            )
    sizes = sorted({row["batch"] for row in rows})
    greatest = max((max(one.y) for one in series if len(one.y)), default=1.0)
    return Chart(
        "host-exposed time by batch",
        "batch N",
        "host-exposed, ms a step (median)",
        tuple(series),
        "Host-exposed time inside the step and between steps against batch size; the table has the numbers",
        x_log=True,
        ticks=[(size, str(size)) for size in sizes],
        y_range=(-0.02 * greatest, 1.08 * greatest or 1.0),
        height=300,
    )


def ledger_bars(rows: Sequence[tuple[str, Json]]) -> Bars:
    """A step's wall by the ledger, a bar a cell.

    Args:
        rows: a name and a row of `summary` for each bar.
    """
    parts = [
        (TERM_NAMES[term], colour, [row[f"{term}_ns"]["median"] / NS_PER_MS for _, row in rows])
        for term, colour in TERM_COLOURS.items()
        if any(row[f"{term}_ns"]["median"] for _, row in rows)
    ]
    told = "; ".join(f"{name}: wall {row['wall_ns']['median'] / NS_PER_MS:.3f} ms" for name, row in rows)
    return Bars("", "ms a step (medians over steady steps, measured)", [name for name, _ in rows], parts, told)
