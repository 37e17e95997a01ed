"""Drawings as SVG, PDF or PNG by matplotlib, for papers: fonts are embedded, and equal data give equal files. Room: report."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kerntrace.errors import KerntraceError, UsageError
from kerntrace.report.figures.chart import Bars, Chart, Drawing, Lanes, Series

MISSING = "pip install 'kerntrace[figures]'"
FORMATS = ("svg", "pdf", "png")
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # matplotlib ships it
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dfe4ea",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 7.0,
    "svg.fonttype": "path",
    "svg.hashsalt": "kerntrace",
    "pdf.fonttype": 42,
}
_MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "inverted_triangle": "v"}
_DASHES = {"solid": "-", "dashed": "--", "dotted": ":", "dotdash": "-."}
_INK = "#222222"
_PANEL = (3.5, 2.6)  # inches, a column of most papers


def require_figures() -> None:
    """See to it that matplotlib is installed.

    Raises:
        KerntraceError: naming the extra.
    """
    if find_spec("matplotlib") is None:
        raise KerntraceError("figures need matplotlib, which is not installed", f"Install it: {MISSING}")


def format_of(path: Path) -> str:
    """The format that a file's ending chooses.

    Raises:
        UsageError: if the ending is none of svg, pdf, png.
    """
    kind = path.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise UsageError(f"{path} does not end in .svg, .pdf or .png", "Name it so.")
    return kind


def save(drawings: Sequence[Drawing], path: Path) -> None:
    """Draw one panel a drawing and write the file; its ending chooses the format.

    Raises:
        UsageError: if the ending is none of svg, pdf, png.
        UsageError: if the file cannot be written.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    kind = format_of(path)
    columns = 1 if isinstance(drawings[0], Lanes) else 2 if len(drawings) == 4 else min(3, len(drawings))
    rows = -(-len(drawings) // columns)
    with mpl.rc_context(_STYLE):
        width = sum(_size(one)[0] for one in drawings[:columns])
        height = max(_size(one)[1] for one in drawings) * rows
        made = Figure(figsize=(width, height), layout="constrained")
        grid = made.subplots(rows, columns, squeeze=False)
        for axes, one in zip(grid.flat, drawings):
            _panel(axes, one, legend=one is drawings[min(columns, len(drawings)) - 1])
        for axes in list(grid.flat)[len(drawings) :]:
            axes.set_axis_off()
        unset: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[kind]
        try:
            made.savefig(path, format=kind, dpi=200, metadata=unset)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}", "Choose another -o.") from None


def _size(one: Drawing) -> tuple[float, float]:
    if isinstance(one, Bars):
        return 2 * _PANEL[0], 0.8 + 0.34 * len(one.names)
    if isinstance(one, Lanes):
        return 2 * _PANEL[0], 1.0 + 0.26 * len(one.lanes)
    beside = 1.6 if one.legend in ("right", "below") and any(series.label for series in one.series) else 0.0
    return _PANEL[0] + beside, _PANEL[1]


def _panel(axes: Any, one: Drawing, *, legend: bool) -> None:
    if isinstance(one, Bars):
        _bars(axes, one)
    elif isinstance(one, Lanes):
        _lanes(axes, one)
    else:
        _chart(axes, one, legend=legend)
    if one.title:
        axes.set_title(_plain(one.title), loc="left")


def _chart(axes: Any, chart: Chart, *, legend: bool) -> None:
    if chart.x_log:
        axes.set_xscale("log")
    if chart.y_log:
        axes.set_yscale("log")
    for one in chart.series:
        _series(axes, one)
    axes.set_xlabel(_plain(chart.x_label))
    axes.set_ylabel(_plain(chart.y_label))
    if chart.y_range:
        axes.set_ylim(*chart.y_range)
    if chart.ticks:
        axes.set_xticks([at for at, _ in chart.ticks], [_plain(text) for _, text in chart.ticks])
        axes.minorticks_off()
    for note in chart.notes:
        axes.text(note.x, note.y, _plain(note.text), ha="center", va="bottom", fontsize=7, color=_INK)
    if chart.legend and any(one.label for one in chart.series):
        if chart.legend in ("right", "below"):
            if legend:
                axes.legend(*_entries(axes), loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0)
        else:
            vertical, _, side = chart.legend.partition("_")
            axes.legend(*_entries(axes), loc=f"{'lower' if vertical == 'bottom' else 'upper'} {side}")


def _entries(axes: Any) -> tuple[list[Any], list[str]]:
    """The legend's marks and labels, each label once."""
    found: dict[str, Any] = {}
    for mark, label in zip(*axes.get_legend_handles_labels()):
        found.setdefault(label, mark)
    return list(found.values()), list(found)


def _series(axes: Any, one: Series) -> None:
    if not len(one.x):
        return
    colour = one.colour or _INK
    label = _plain(one.label) or None
    if one.dash:
        axes.plot(one.x, one.y, linestyle=_DASHES[one.dash], color=colour, linewidth=1.1, label=None if one.marker else label)
    if len(one.low):
        axes.vlines(one.x, one.low, one.high, color=_INK, linewidth=0.9, zorder=4)
    if not one.marker:
        return
    axes.scatter(
        one.x,
        one.y,
        s=[(0.55 * size) ** 2 for size in one.sizes],
        marker=_MARKERS[one.marker],
        facecolors="none" if one.hollow else colour,
        edgecolors=colour,
        linewidths=0.9 if one.hollow else 0.3,
        alpha=0.3 if one.faint else 0.75 if len(one.sizes) > 1 else 1.0,
        label=label,
        zorder=2 if one.faint else 3,
    )


def _bars(axes: Any, bars: Bars) -> None:
    places = list(range(len(bars.names)))
    before = [0.0] * len(places)
    for label, colour, values in bars.parts:
        axes.barh(places, values, left=before, color=colour, label=_plain(label), edgecolor="white", linewidth=0.4, height=0.66)
        before = [left + value for left, value in zip(before, values)]
    axes.set_yticks(places, [_plain(name) for name in bars.names])
    axes.invert_yaxis()
    axes.set_xlabel(_plain(bars.x_label))
    axes.grid(visible=False, axis="y")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)


def _lanes(axes: Any, drawing: Lanes) -> None:
    from matplotlib.patches import Patch

    for place, lane in enumerate(drawing.lanes):
        axes.broken_barh(
            [(start, length) for start, length, _ in lane.marks],
            (place - 0.4, 0.8),
            facecolors=[colour for *_, colour in lane.marks],
            linewidth=0,
        )
    axes.set_yticks(range(len(drawing.lanes)), [_plain(lane.label) for lane in drawing.lanes])
    axes.set_ylim(len(drawing.lanes) - 0.5, -0.5)
    axes.set_xlim(*drawing.span)
    axes.set_xlabel(_plain(drawing.x_label))
    axes.grid(visible=False, axis="y")
    key = [Patch(color=colour, label=_plain(text)) for colour, text in drawing.key]
    axes.legend(handles=key, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)


def _plain(text: str) -> str:
    """Text that matplotlib takes as it is: a dollar sign would begin a formula."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text).replace("$", r"\$")
