"""Colours that colour-blind eyes tell apart, on white and on black alike: those of Okabe and Ito, and greys. Room: report."""

from __future__ import annotations

BUSY = "#0072b2"
TERM_COLOURS = {
    "busy": BUSY,
    "host_wait": "#d55e00",
    "launch_call": "#e69f00",
    "launch_latency": "#f0e442",
    "device_gap": "#9aa3ad",
    "profiler": "#a05195",
    "unattributed": "#cfd4da",
}
CLASS_COLOURS = {
    "step": "#b9c3cf",
    "range": "#cdd6e0",
    "launch": "#7a8797",
    "graph launch": "#cc79a7",
    "synchronising call": "#8c6d31",
    "other call": "#c5b89a",
    **{name: colour for name, colour in TERM_COLOURS.items() if name != "busy"},
    "replay": "#cc79a7",
    "matrix product": BUSY,
    "attention": "#009e73",
    "other kernel": "#56b4e9",
    "copy or memset": "#6a4c93",
}
DARK_CLASSES = frozenset(
    {"matrix product", "attention", "copy or memset", "host_wait", "profiler", "launch", "synchronising call"}
)
SIDE_COLOURS = {"a": "#d55e00", "b": BUSY}
SIDE_MARKERS = {"a": "circle", "b": "triangle"}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6a4c93", "#8c6d31")
MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle")
GREY = "#6b7683"
