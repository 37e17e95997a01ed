"""A chart as a value: what is drawn, without how. Room: report.

The page draws it with Bokeh, a figure for a paper with matplotlib, so that both show the same data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one kind. Sequences are of one length, or empty where there is nothing of their kind.

    Attributes:
        label: in the legend; series of one label are one entry. Empty for none.
        low, high: ends of each point's interval in y.
        marker: circle, square, triangle, diamond or inverted_triangle; empty for a line alone.
        hollow: only the marker's outline is drawn, as for what is left out or is a reference.
        faint: drawn behind and pale, as for single cells beside their median.
        dash: of the line that joins the points: solid, dashed, dotted, dotdash; empty for none.
        sizes: of the markers, in pixels; one for all, or one each.
        said: what hovering tells of each point.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    colour: str
    marker: str = "circle"
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    hollow: bool = False
    faint: bool = False
    dash: str = ""
    sizes: Sequence[float] = (7.0,)
    said: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """A short text at a place of the chart."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with one pair of axes.

    Attributes:
        alt: what it shows, in words, for those who cannot see it.
        ticks: where the x axis is marked, and with what; empty for the library's choice.
        y_range: its ends; None for the data's.
        legend: where: right or below (outside the chart), bottom_right, top_left, ... or empty for none.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    alt: str
    x_log: bool = False
    y_log: bool = False
    ticks: Sequence[tuple[float, str]] = ()
    y_range: Point | None = None
    notes: Sequence[Note] = ()
    legend: str = "right"
    height: int = 320


@dataclass(frozen=True, slots=True)
class Bars:
    """Stacked horizontal bars.

    Attributes:
        names: of the bars, from the top.
        parts: (label, colour, a value a bar), from the left.
    """

    title: str
    x_label: str
    names: Sequence[str]
    parts: Sequence[tuple[str, str, Sequence[float]]]
    alt: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of a still timeline: stretches (start, length, colour)."""

    label: str
    marks: Sequence[tuple[float, float, str]] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Lanes:
    """A still timeline. `key` says what its colours mean."""

    title: str
    x_label: str
    lanes: Sequence[Lane]
    key: Sequence[tuple[str, str]]
    span: Point
    alt: str


Drawing = Chart | Bars | Lanes
