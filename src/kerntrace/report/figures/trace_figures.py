"""The figures of traces by name, from the same documents as the page. Room: report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kerntrace.errors import KerntraceError
from kerntrace.report.figures.chart import Chart, Drawing, Lane, Lanes
from kerntrace.report.figures.palette import CLASS_COLOURS
from kerntrace.report.figures.trace_charts import exposure_chart, ledger_bars, roofline_chart, steps_chart
from kerntrace.units import NS_PER_MS

if TYPE_CHECKING:
    from kerntrace.report.html.side import Side

Json = dict[str, Any]
_MARGIN = 0.02  # of a step's window, shown on either side of it


def ledger(sides: Sequence[Side]) -> list[Drawing]:
    """A bar a cell: where the step's time went."""
    several = len(sides) > 1
    rows = [
        (" ".join(filter(None, (f"{side.letter.upper()}:" if several else "", side.mode, _batch(row)))), row)
        for side in sides
        for row in side.documents["steps"]["summary"]
    ]
    rows.sort(key=lambda row: row[1]["batch"] or 0)
    return [ledger_bars(rows)] if rows else []


def steps(sides: Sequence[Side]) -> list[Drawing]:
    """A panel a trace: wall, busy and host-exposed time of each step."""
    return [steps_chart(side.documents["steps"], _title(side)) for side in sides]


def roofline(sides: Sequence[Side]) -> list[Drawing]:
    """A panel a cell: its operations under the roofs of its GPU.

    Raises:
        KerntraceError: if no trace says what the roofline needs; with the reason.
    """
    found: list[Chart] = [
        roofline_chart(cell, side.dtype, f"{_title(side)}, batch {cell['batch']}")
        for side in sides
        for cell in side.documents.get("roofline", {"cells": []})["cells"]
    ]
    if not found:
        raise KerntraceError(f"no roofline: {sides[0].no_roofline}", "See kerntrace roofline --help.")
    return list(found)


def exposure(sides: Sequence[Side]) -> list[Drawing]:
    """Host-exposed time by batch, within and between steps."""
    from kerntrace.report.html.trace_page import exposure_rows

    rows = exposure_rows(sides)
    return [exposure_chart(rows)] if rows else []


def timeline(sides: Sequence[Side]) -> list[Drawing]:
    """A panel a trace: the step nearest to the median of its first cell, or the first one asked for."""
    return [_lanes(side) for side in sides if side.runs]


def _lanes(side: Side) -> Lanes:
    from kerntrace.report.html.marks import CLASSES
    from kerntrace.report.html.timeline import strip

    found = strip(side.analysis, side.runs[0])
    step = found["steps"][len(found["steps"]) // 2]
    margin = _MARGIN * (step["end"] - step["start"])
    low, high = step["start"] - margin, step["end"] + margin
    marks, shown = found["marks"], CLASSES.index
    inside = (marks["start"] < high) & (marks["start"] + marks["length"] > low) & (marks["kind"] != shown("step"))
    lanes, used = [], set()
    for number, label in enumerate(found["lanes"]):
        rows = np.flatnonzero(inside & (marks["lane"] == number))
        kinds = [CLASSES[kind] for kind in marks["kind"][rows]]
        used |= set(kinds)
        drawn = zip(marks["start"][rows].tolist(), marks["length"][rows].tolist(), kinds)
        stretches = [
            ((start - step["start"]) / NS_PER_MS, length / NS_PER_MS, CLASS_COLOURS[kind]) for start, length, kind in drawn
        ]
        if stretches:
            lanes.append(Lane(label, stretches))
    title = f"{_title(side)}, step {step['index']}"
    span = (low - step["start"]) / NS_PER_MS, (high - step["start"]) / NS_PER_MS
    key = [(CLASS_COLOURS[name], name.replace("_", " ")) for name in CLASSES if name in used and name != "range"]
    return Lanes(title, "ms since the step's first operation (measured)", lanes, key, span, f"Timeline of {title}")


def _title(side: Side) -> str:
    from kerntrace.report.html.names import shown_name

    return side.mode or shown_name(side.name)[:40]


def _batch(row: Json) -> str:
    return f"batch {row['batch']}" if row["batch"] is not None else ""


TRACE_FIGURES: dict[str, tuple[Callable[[Sequence[Side]], list[Drawing]], str]] = {
    "ledger": (ledger, "where the step's time went, a bar a cell"),
    "steps": (steps, "wall, busy and host-exposed time of each step"),
    "timeline": (timeline, "one step: host, gaps by cause, streams"),
    "roofline": (roofline, "operations under the roofs of the GPU"),
    "exposure": (exposure, "host-exposed time by batch, within and between steps"),
}
