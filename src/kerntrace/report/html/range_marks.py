"""NVTX ranges of one thread as marks, a lane a depth. Room: report."""

from __future__ import annotations

import numpy as np

from kerntrace.report.html.marks import CLASSES, Marks, Strings
from kerntrace.trace.model import Trace

_DEEPEST = 5  # lanes; deeper ranges are not drawn
_MOST = 20_000


def range_marks(trace: Trace, tid: int, reach: tuple[int, int], strings: Strings) -> list[Marks]:
    """The ranges of a thread that overlap a stretch of time, cut to it: the outermost first, then those nested in them."""
    table = trace.ranges
    if not len(table):
        return []
    low, high = reach
    begin, end = table.ints("start_ns"), table.ints("end_ns", null=high)
    mine = (begin < high) & (end > low) & (table.ints("tid", null=-1) == tid) & table.valid("start_ns")
    rows = np.flatnonzero(mine)[:_MOST]
    names = table.names("name")
    place = strings.of_column(names.codes[rows], names.values)
    depth = np.array(_depths(begin[rows].tolist(), end[rows].tolist()), np.int64)
    lanes = []
    for level in range(min(int(depth.max(initial=-1)) + 1, _DEEPEST)):
        at = np.flatnonzero(depth == level)
        start = np.maximum(begin[rows[at]], low)
        length = np.minimum(end[rows[at]], high) - start
        nothing = np.full(len(at), -1, np.int64)
        lanes.append(Marks(start, length, np.full(len(at), CLASSES.index("range")), place[at], nothing, nothing, nothing))
    return lanes


def _depths(starts: list[int], ends: list[int]) -> list[int]:
    """How many earlier ranges are still open when each one begins; ranges ascend by start, outer before inner."""
    open_: list[int] = []
    depths = []
    for start, end in zip(starts, ends):
        open_ = [stop for stop in open_ if stop > start]
        depths.append(len(open_))
        open_.append(end)
    return depths
