"""The page of one trace or of two: every value that its template shows. Room: report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kerntrace.report.excluded import left_out
from kerntrace.report.figures.palette import CLASS_COLOURS, DARK_CLASSES, TERM_COLOURS
from kerntrace.report.figures.trace_charts import beyond, exposure_chart, roofline_chart, steps_chart
from kerntrace.report.html.draw import draw
from kerntrace.report.html.kernel_rows import COLUMNS, MOST_ROWS, ROOFLINE_COLUMNS, kernel_rows, rows_left_out
from kerntrace.report.html.marks import CLASSES
from kerntrace.report.html.names import shown_name
from kerntrace.report.html.numbers import Numbers
from kerntrace.report.html.pack import packed
from kerntrace.report.html.provenance import facts
from kerntrace.report.html.render import render
from kerntrace.report.html.side import Side
from kerntrace.report.html.timeline import strip
from kerntrace.report.html.timeline_figure import timeline_figure
from kerntrace.report.html.verdict import RULE, exposure
from kerntrace.report.html.views import Block, blocks_of
from kerntrace.report.html.words import WORDS
from kerntrace.report.html.work_rows import work_tables
from kerntrace.report.text import TERM_NAMES, how_found
from kerntrace.units import ms

Json = dict[str, Any]

TERMS = (
    ("wall", "step wall"),
    *((name, TERM_NAMES[name]) for name in ("busy", "host_wait", "launch_call", "launch_latency", "device_gap")),
    ("profiler", TERM_NAMES["profiler"]),
    ("unattributed", TERM_NAMES["unattributed"]),
    ("host_exposed", "host-exposed (the three waits)"),
)
_MEANINGS = {
    "host_wait": "the host had not launched yet",
    "launch_call": "the host was inside the launch call",
    "launch_latency": "the launch was on its way to the device",
    "device_gap": "the device's own: its next work was queued already",
    "profiler": "the profiler did its own work",
    "unattributed": "the launch call is not on record",
}
_DRAWN_TOGETHER = ("launch", "graph launch", "synchronising call", "other call", "matrix product", "attention", "other kernel")


def trace_page(sides: Sequence[Side], compare: Json | None) -> str:
    """The HTML file of one trace, or of two with their comparison.

    Args:
        compare: `kerntrace.compare/1` of the two; None for one trace, or where a rule refuses one of them.
    """
    documents: dict[str, Json] = {f"{s.letter}.{name}": document for s in sides for name, document in s.documents.items()}
    if compare is not None:
        documents["compare"] = compare
    healthy = [side for side in sides if side.analysis.ok and side.analysis.steps is not None]
    blocks = blocks_of(healthy, compare)
    figures, data = _drawn(healthy)
    context = {
        "title": "kerntrace: " + " against ".join(shown_name(side.name) for side in sides),
        "sides": [_Shown(side) for side in sides],
        "healthy": [_Shown(side) for side in healthy],
        "timelines": [_Shown(side) for side in healthy if f"timeline-data-{side.letter}" in data],
        "documents": documents,
        "n": Numbers(documents),
        "blocks": blocks,
        "terms": TERMS,
        "rule": RULE,
        "words": WORDS,
        "ms": ms,
        "shown": shown_name,
        "colours": TERM_COLOURS,
        "bar_legend": [(colour, TERM_NAMES[name]) for name, colour in TERM_COLOURS.items() if _is_there(name, blocks)],
        "mark_legend": [(CLASS_COLOURS[name], name) for name in _DRAWN_TOGETHER]
        + [(CLASS_COLOURS[name], TERM_NAMES[name]) for name in _MEANINGS if _is_there(name, blocks)],
        "unpaired": _unpaired(compare),
        "phases": _phases(blocks),
        "exposures": exposure_rows(healthy),
        "works": work_tables(compare),
        "rooflines": _rooflines(healthy),
        **_kernels(healthy),
    }
    context["sections"] = _sections(context)
    return render("trace.html.j2", context, figures, data, ["report.js", "marks.js", "timeline.js"])


class _Shown:
    """A side with what only a page needs; everything else is the side's own."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self.name = shown_name(side.name)
        self.facts = facts(side)
        self.beyond = _told_beyond(beyond(side.documents["steps"]))
        self.left_out = left_out(side.analysis)
        self.found = how_found(side.analysis.steps) if side.analysis.steps is not None else "nothing"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._side, name)


def _told_beyond(count: int) -> str:
    if not count:
        return ""
    lies, is_ = ("lies", "is") if count == 1 else ("lie", "are")
    return f"; {count} of them {lies} above the figure and {is_} drawn at its top edge"


def _drawn(sides: Sequence[Side]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Figures and timelines' data by the ids of their elements."""
    figures: dict[str, Any] = {}
    data: dict[str, Any] = {}
    for side in sides:
        strips = [strip(side.analysis, run) for run in side.runs]
        strips = [one for one in strips if one["marks"]]
        if strips:
            for one in strips:
                one["marks"] = {name: packed(values) for name, values in one["marks"].items()}
            data[f"timeline-data-{side.letter}"] = _timeline_data(strips)
            figures[f"figure-timeline-{side.letter}"] = timeline_figure(side.letter, max(len(one["lanes"]) for one in strips))
    for side in sides:
        figures[f"figure-steps-{side.letter}"] = draw(steps_chart(side.documents["steps"], shown_name(side.name)))
    if exposures := exposure_rows(sides):
        figures["figure-exposure"] = draw(exposure_chart(exposures))
    for one in _rooflines(sides):
        title = f"{shown_name(one['side'].name)}, batch {one['cell']['batch']}"
        figures[f"figure-roofline-{one['id']}"] = draw(roofline_chart(one["cell"], one["side"].dtype, title))
    return figures, data


def _timeline_data(strips: list[Json]) -> Json:
    return {
        "classes": CLASSES,
        "colours": [CLASS_COLOURS[name] for name in CLASSES],
        "dark": sorted(DARK_CLASSES),
        "titles": {name: TERM_NAMES[name] for name in _MEANINGS},
        "meanings": _MEANINGS,
        "strips": strips,
    }


def _is_there(term: str, blocks: Sequence[Block]) -> bool:
    return any(block.has.get(term, True) for block in blocks) or not blocks


def _unpaired(compare: Json | None) -> list[str]:
    if compare is None:
        return []
    return [
        f"Only in {one['side'].upper()}: {one['kind']} batch {one['batch'] if one['batch'] is not None else 'unknown'}."
        for one in compare["unpaired"]
    ]


def _phases(blocks: Sequence[Block]) -> list[Json]:
    """For each cell its phases, with one scale of their bars for all."""
    views = [(view, block.label) for block in blocks for view in block.views if view.row["phases"]]
    longest = max(
        (p["host_wait_mean_ns"] + p["launch_call_mean_ns"] for view, _ in views for p in view.row["phases"]), default=1
    )
    return [
        {"side": view.side, "place": view.place, "row": view.row, "label": label or "all", "scale": 150 / longest}
        for view, label in views
    ]


def exposure_rows(sides: Sequence[Side]) -> list[Json]:
    """Host-exposed time by batch, where a trace has several: medians over steady steps of each step's sum, ns."""
    if not any(len({cell.batch for cell in side.cells} - {None}) > 1 for side in sides):
        return []
    return [
        {"letter": side.letter, "mode": side.mode, "batch": cell.batch, "place": place} | asdict(exposure(side.analysis, cell))
        for side in sides
        for place, cell in enumerate(side.cells)
        if cell.batch is not None
    ]


def _rooflines(sides: Sequence[Side]) -> list[Json]:
    return [
        {
            "id": f"{side.letter}{place}",
            "side": side,
            "place": place,
            "cell": cell,
            "doc": f"{side.letter}.roofline",
            "at": f"cells.{place}.",
        }
        for side in sides
        if "roofline" in side.documents
        for place, cell in enumerate(side.documents["roofline"]["cells"])
    ]


def _kernels(sides: Sequence[Side]) -> Json:
    rows = kernel_rows(sides)
    batches = sorted({row.batch for row in rows}, key=lambda batch: (isinstance(batch, str), batch))
    roofline = any("roofline" in side.documents for side in sides)
    columns = [("trace", False)] * (len(sides) > 1) + [("batch", True)] * (len(batches) > 1) + list(COLUMNS)
    columns += list(ROOFLINE_COLUMNS) if roofline else []
    return {
        "kernel_rows": rows,
        "most_rows": MOST_ROWS,
        "rows_left_out": rows_left_out(sides),
        "batches": batches,
        "any_roofline": roofline,
        "kernel_columns": columns,
    }


def _sections(context: Json) -> list[tuple[str, str]]:
    known = (
        ("timeline", "Timeline", "timelines"),
        ("steps", "Steps", "healthy"),
        ("phases", "Host phases", "phases"),
        ("exposure", "By batch", "exposures"),
        ("kernels", "Kernels", "healthy"),
        ("roofline", "Roofline", "rooflines"),
        ("work", "Same work", "works"),
    )
    there = [(id_, text) for id_, text, need in known if context[need]]
    return [*there, ("provenance", "Provenance"), ("words", "Words")]
