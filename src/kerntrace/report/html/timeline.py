"""The marks of a timeline: what lies where, in columns that the page's script draws. Room: report.

A strip is a run of steps. Its lanes are, from the top: the steps, each host thread's NVTX ranges and API calls, the gaps by
cause, graph replays, and the streams. Times are ns since the strip's beginning, exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kerntrace.accounting.analysis import Analysis
from kerntrace.report.html.choose import Run
from kerntrace.report.html.marks import Marks, Names, Strings, api_marks, gap_marks, operation_marks, replay_marks, step_marks
from kerntrace.report.html.range_marks import range_marks
from kerntrace.trace.table import Ints

MOST_MARKS = 120_000  # in one strip; a run of more is cut at its end, and the page says so
MOST_THREADS = 3
MOST_STREAMS = 8

Json = dict[str, Any]


@dataclass(slots=True)
class Lanes:
    """Lanes of a strip, from the top, each with the marks in it."""

    labels: list[str] = field(default_factory=list)
    parts: list[Marks] = field(default_factory=list)

    def add(self, label: str, marks: Marks) -> None:
        if len(marks):
            self.labels.append(label)
            self.parts.append(marks)


def strip(analysis: Analysis, run: Run) -> Json:
    """The strip of a run of steps, as the page's script reads it.

    Returns:
        `lanes`: labels; `marks`: a column each of `start`, `length` (ns), `lane`, `class`, `name` (place in `strings`), `id`,
        `by` (the `id` of the launch call, -1 for none) and `more` (kinds have their own use for it); `steps`, `strings`.
    """
    assert analysis.steps is not None
    begin, end, last = _reach(analysis, run)
    strings = Strings()
    lanes = Lanes()
    lanes.add("step", step_marks(analysis, run.first, last, strings))
    ops = _within(analysis.ops.start, analysis.ops.end, begin, end)
    calls = _calls(analysis, ops, begin, end)
    _host(analysis, calls, (begin, end), strings, lanes)
    lanes.add("GPU idle, by cause", gap_marks(analysis, run.first, last, strings))
    lanes.add("graph replay", replay_marks(analysis, ops, strings))
    _device(analysis, ops, strings, lanes)
    return {
        "batch": run.batch,
        "first": run.first,
        "last": last,
        "rule": run.rule if last == run.last else f"{run.rule}; cut after step {last}, since more would be too many marks",
        "origin_ns": begin,
        "length_ns": end - begin,
        "lanes": lanes.labels,
        "steps": _steps(analysis, run.first, last, begin),
        "strings": strings.values,
        "marks": _columns(lanes, begin),
    }


def _reach(analysis: Analysis, run: Run) -> tuple[int, int, int]:
    """Time at which a strip begins and ends, and the last step that it has room for."""
    steps = analysis.steps
    assert steps is not None
    per_step = np.maximum(steps.operations[run.first : run.last + 1], 1) * 4
    room = int(np.searchsorted(np.cumsum(per_step), MOST_MARKS, side="right"))
    last = min(run.last, run.first + max(room, 1) - 1)
    some = np.flatnonzero(steps.operations[run.first : last + 1]) + run.first
    begins = int(steps.boundaries.begins[run.first]) if steps.boundaries.on_host else None
    if not len(some):
        begins = int(steps.boundaries.begins[run.first])
        return begins, begins + 1, last
    device = int(steps.window_begin[some[0]])
    begin = device if begins is None else min(begins, device)
    return begin, int(steps.window_end[some].max()), last


def _within(start: Ints, end: Ints, low: int, high: int) -> npt.NDArray[np.intp]:
    """Rows that overlap [low, high), of those in order of start."""
    stop = int(np.searchsorted(start, high))
    rows = np.flatnonzero(end[:stop] >= low)
    return rows[:MOST_MARKS]


def _calls(analysis: Analysis, ops: npt.NDArray[np.intp], low: int, high: int) -> npt.NDArray[np.intp]:
    """API calls that begin in the strip, and those that launched what runs in it."""
    start = analysis.trace.api_calls.ints("start_ns")
    inside = np.arange(np.searchsorted(start, low), np.searchsorted(start, high))[: 2 * MOST_MARKS]
    launched = analysis.ops.launch[ops]
    return np.union1d(inside, launched[launched >= 0]).astype(np.intp)


def _host(analysis: Analysis, calls: npt.NDArray[np.intp], reach: tuple[int, int], strings: Strings, lanes: Lanes) -> None:
    table = analysis.trace.api_calls
    tid = table.ints("tid", null=-1)[calls]
    threads, count = np.unique(tid, return_counts=True)
    shown = threads[np.argsort(-count, kind="stable")][:MOST_THREADS]
    for number, thread in enumerate(shown):
        name = "host thread" if len(threads) == 1 else f"host thread {number + 1}"
        for depth, marks in enumerate(range_marks(analysis.trace, int(thread), reach, strings)):
            lanes.add(f"{name}: NVTX" + (f" {depth + 1}" if depth else ""), marks)
        lanes.add(f"{name}: API calls", api_marks(analysis, calls[tid == thread], strings))


def _device(analysis: Analysis, ops: npt.NDArray[np.intp], strings: Strings, lanes: Lanes) -> None:
    trace, found = analysis.trace, analysis.ops
    stream = np.full(len(ops), -1, np.int64)
    kernel = found.is_kernel[ops]
    stream[kernel] = trace.kernels.ints("stream_id", null=-1)[found.row[ops[kernel]]]
    if not kernel.all():
        stream[~kernel] = trace.memops.ints("stream_id", null=-1)[found.row[ops[~kernel]]]
    ids, count = np.unique(stream, return_counts=True)
    shown = ids[np.argsort(-count, kind="stable")][:MOST_STREAMS]
    names = Names(trace, strings)
    for one in shown:
        label = f"stream {one}" if one >= 0 else "stream not recorded"
        lanes.add(label, operation_marks(analysis, ops[stream == one], names))
    rest = ops[~np.isin(stream, shown)]
    lanes.add(f"{len(ids) - len(shown)} more streams", operation_marks(analysis, rest, names))


def _steps(analysis: Analysis, first: int, last: int, origin: int) -> list[Json]:
    steps = analysis.steps
    assert steps is not None
    return [
        {
            "index": i,
            "start": int(steps.window_begin[i]) - origin,
            "end": int(steps.window_end[i]) - origin,
            "steady": bool(analysis.steady[i]),
        }
        for i in range(first, last + 1)
        if steps.operations[i]
    ]


def _columns(lanes: Lanes, origin: int) -> Json:
    """All marks as one set of columns, a lane after the other, each in order of start."""
    if not lanes.parts:
        return {}
    lane = np.repeat(np.arange(len(lanes.parts)), [len(part) for part in lanes.parts])
    joined = {name: np.concatenate([getattr(part, name) for part in lanes.parts]) for name in Marks.__slots__}
    joined["start"] = joined["start"] - origin
    return {"lane": lane, **joined}
