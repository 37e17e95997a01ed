"""The ledger: a step's wall time on the device, split to the nanosecond into work and the causes of idleness. Room: accounting.

    wall = busy + device_gap + host_wait + launch_call + launch_latency + profiler + unattributed

Each gap [g0, g1) ends at an operation whose launch call is [a0, a1]. No launch on record: unattributed. a1 <= g0, or the
operation is not the first of its call: device_gap. Else what lies before a0 is host_wait (of that, what the profiler itself
took on that thread is profiler), inside [a0, a1] launch_call, after a1 launch_latency. All int64, exact, no threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.accounting.intervals import Pieces, Union, covered_before, gaps_of, gaps_within, union
from kerntrace.accounting.threads import covered, line_of, overlap
from kerntrace.steps.ownership import Steps
from kerntrace.trace.blocks import blocks, in_parallel
from kerntrace.trace.launches import Rows
from kerntrace.trace.model import Trace
from kerntrace.trace.operations import Operations
from kerntrace.trace.table import Ints, Mask

GAP_TERMS = ("device_gap", "host_wait", "launch_call", "launch_latency", "profiler", "unattributed")
HOST_EXPOSED = ("host_wait", "launch_call", "launch_latency")


@dataclass(frozen=True, slots=True)
class Gaps:
    """Stretches in which the device was idle. Arrays of one length; the six terms of each sum to `end - start`.

    Attributes:
        step: whose window it lies in.
        start, end: device time in ns.
        call: row in `trace.api_calls` of the launch that ended it, -1 where none is on record.
        between: whether it reaches its window's end, and so lies between steps.
        terms: by name, in ns.
    """

    step: npt.NDArray[np.intp]
    start: Ints
    end: Ints
    call: Rows
    between: Mask
    terms: dict[str, Ints]


@dataclass(frozen=True, slots=True)
class Ledger:
    """Every step's account. Arrays of one length, a value a step, ns; zero for a step that owns nothing.

    Attributes:
        complete: whether later work closes the step's window. If not, the account goes to its own last operation's end, which
            is no step's wall time, and is kept out of every headline figure.
        within, between: the six gap terms inside the step, and of the gap that reaches its window's end.
        overlap: by how much the summed durations of operations exceed busy, in the window.
        gaps: the gaps, for whoever wants to know more of one.
    """

    complete: Mask
    wall: Ints
    busy: Ints
    within: dict[str, Ints]
    between: dict[str, Ints]
    overlap: Ints
    gaps: Gaps

    def term(self, name: str) -> Ints:
        """A gap term over the whole window, `host_exposed` (their sum), `wall` or `busy`."""
        if name == "host_exposed":
            exposed: Ints = np.sum([self.term(part) for part in HOST_EXPOSED], axis=0, dtype=np.int64)
            return exposed
        if name in ("wall", "busy"):
            whole: Ints = getattr(self, name)
            return whole
        return self.within[name] + self.between[name]


def keep_ledger(trace: Trace, ops: Operations, steps: Steps) -> Ledger:
    """Account for every complete step of a trace of one device. Time is linear in operations, but for sorts."""
    whole = np.flatnonzero((steps.operations > 0) & (steps.window_begin < steps.window_end))
    begin, end = steps.window_begin[whole], steps.window_end[whole]
    gaps = _gaps(trace, ops, steps, whole)
    count = len(steps)
    leads = _leads(gaps.step)
    at_end = np.flatnonzero(gaps.between)
    outer = {name: _placed(gaps.step[at_end], value[at_end], count) for name, value in gaps.terms.items()}
    totals = in_parallel(lambda value: _by_step(gaps.step, leads, value, count), [gaps.terms[name] for name in GAP_TERMS])
    inner = {name: total - outer[name] for name, total in zip(GAP_TERMS, totals)}
    wall, idle = np.zeros(count, np.int64), np.sum(totals, axis=0, dtype=np.int64)
    wall[whole] = end - begin
    overlap = np.zeros(count, np.int64)
    covered = covered_before(ops.start, ops.end, np.concatenate([begin, end]))
    overlap[whole] = covered[len(begin) :] - covered[: len(begin)]
    overlap -= wall - idle
    return Ledger(steps.complete, wall, wall - idle, inner, outer, overlap, gaps)


def _gaps(trace: Trace, ops: Operations, steps: Steps, whole: npt.NDArray[np.intp]) -> Gaps:
    """Every gap of the windows of the steps `whole`, with its terms, worked out a block of windows at a time."""
    begin, end = steps.window_begin[whole], steps.window_end[whole]
    busy = union(ops.start, ops.end)
    answers, own_time = _answers(trace, ops, busy), _own_time(trace, ops)
    low, high = gaps_of(busy, begin, end)
    before = np.concatenate([[0], np.cumsum(high - low)])
    size = int(before[-1])
    gaps = Gaps(
        np.empty(size, np.intp), np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int32),
        np.empty(size, bool), {name: np.zeros(size, np.int64) for name in GAP_TERMS},
    )  # fmt: skip

    def fill(windows: slice) -> None:
        here = slice(before[windows.start], before[windows.stop])
        pieces = gaps_within(busy, begin[windows], end[windows], low[windows], high[windows])
        answer = answers(pieces)
        gaps.step[here] = whole[windows][pieces.source]
        gaps.start[here], gaps.end[here] = pieces.start, pieces.end
        gaps.call[here] = ops.launch[answer]
        gaps.between[here] = pieces.end == end[windows][pieces.source]
        for name, value in _terms(trace, ops, pieces, answer, own_time).items():
            if value.any():  # memory of zeros that nobody wrote to costs nothing
                gaps.terms[name][here] = value

    in_parallel(fill, blocks(before))
    return gaps


def largest_gap(gaps: Gaps, steps: int) -> npt.NDArray[np.intp]:
    """For each step, which gap is its longest; -1 for a step without any."""
    found = np.full(steps, -1, np.intp)
    if len(gaps.step):
        length = gaps.end - gaps.start
        leads = _leads(gaps.step)
        most = np.zeros(steps, np.int64)
        most[gaps.step[leads]] = np.maximum.reduceat(length, leads)
        longest = np.flatnonzero(length == most[gaps.step])[::-1]
        found[gaps.step[longest]] = longest  # the last value assigned stays: of equally long gaps the earliest
    return found


def _leads(step: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Where each step's gaps begin; gaps are in order of step."""
    return np.flatnonzero(np.concatenate([[True], step[1:] != step[:-1]])) if len(step) else np.zeros(0, np.intp)


def _by_step(step: npt.NDArray[np.intp], leads: npt.NDArray[np.intp], value: Ints, count: int) -> Ints:
    """Sums over each step's gaps, in integers."""
    total = np.zeros(count, np.int64)
    if len(step):
        total[step[leads]] = np.add.reduceat(value, leads)
    return total


def _placed(step: npt.NDArray[np.intp], value: Ints, count: int) -> Ints:
    """One value a step, zero for the others: at most one gap reaches a window's end."""
    whole = np.zeros(count, np.int64)
    whole[step] = value
    return whole


def cause_of(gaps: Gaps, gap: int) -> str:
    """The term that most of a gap belongs to."""
    return max(GAP_TERMS, key=lambda term: int(gaps.terms[term][gap]))


def _answers(trace: Trace, ops: Operations, busy: Union) -> Callable[[Pieces], npt.NDArray[np.intp]]:
    """Finds, for each gap, the operation that answers for it: of those that start at its end, the one launched first.

    Operations of no length cover nothing but may answer, so the operation that opens a stretch need not be the one.
    """
    opens, first = np.append(busy.start, np.iinfo(np.int64).max), np.append(busy.first, 0)
    same = ops.start[1:] == ops.start[:-1]
    best: npt.NDArray[np.intp] | None = None
    if same.any():
        tied = np.flatnonzero(np.concatenate([[False], same]) | np.concatenate([same, [False]]))
        best = np.arange(len(ops))
        best[tied] = _launched_first(trace, ops, tied)

    def answer(gaps: Pieces) -> npt.NDArray[np.intp]:
        found: npt.NDArray[np.intp] = first[gaps.other]
        cut = np.flatnonzero(opens[gaps.other] != gaps.end)  # gaps that end with their window, not with a stretch
        found[cut] = np.searchsorted(ops.start, gaps.end[cut])
        return found if best is None else best[found]

    return answer


def _launched_first(trace: Trace, ops: Operations, tied: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """For operations that share their start with others, which one of those was launched first."""
    calls = trace.api_calls
    launch, start = ops.launch[tied], ops.start[tied]
    known = launch >= 0
    a0 = np.where(known, calls.ints("start_ns")[launch], 0) if len(calls) else np.zeros(len(tied), np.int64)
    a1 = np.where(known, _call_ends(trace)[launch], 0) if len(calls) else a0
    order = np.lexsort([a1, a0, ~known, start])
    ranked = start[order]
    leads = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    group = np.cumsum(leads) - 1
    winner = np.empty(len(tied), np.intp)
    winner[order] = tied[order[leads]][group]
    return winner


def _call_ends(trace: Trace) -> Ints:
    """Ends of API calls; one still open when recording ended has not returned by any time on record."""
    return trace.api_calls.ints("end_ns", null=np.iinfo(np.int64).max)


def _terms(
    trace: Trace, ops: Operations, gaps: Pieces, answer: npt.NDArray[np.intp], own_time: Callable[[Rows, Ints, Ints], Ints]
) -> dict[str, Ints]:
    """The six terms of each gap."""
    call = ops.launch[answer]
    length = gaps.end - gaps.start
    if not len(trace.api_calls):
        return dict.fromkeys(GAP_TERMS, np.zeros(len(length), np.int64)) | {"unattributed": length}
    launched = call >= 0
    a1 = _call_ends(trace)[call]
    later_node = ops.start[answer] > ops.start[ops.first[call]]
    queued = launched & ((a1 <= gaps.start) | later_node)
    exposed = launched & ~queued
    a0 = np.where(exposed, trace.api_calls.ints("start_ns")[call], gaps.start)
    np.clip(a0, gaps.start, gaps.end, out=a0)
    np.clip(a1, a0, gaps.end, out=a1)
    wait, own = a0 - gaps.start, own_time(call, gaps.start, a0)
    return {
        "device_gap": length * queued,
        "host_wait": wait - own,
        "launch_call": (a1 - a0) * exposed,
        "launch_latency": (gaps.end - a1) * exposed,
        "profiler": own,
        "unattributed": length * ~launched,
    }


def _own_time(trace: Trace, ops: Operations) -> Callable[[Rows, Ints, Ints], Ints]:
    """Tells the profiler's own time on the thread of each gap's launch call, of the host's wait [start, end)."""
    if not len(trace.overheads) or not len(trace.api_calls):
        return lambda call, start, end: np.zeros(len(start), np.int64)
    line = line_of(trace, ops.launch, int(ops.start[0]), int(ops.end.max()))
    own = covered(line, trace.overheads)

    def tell(call: Rows, start: Ints, end: Ints) -> Ints:
        found = np.zeros(len(start), np.int64)
        rows = np.flatnonzero(end > start)
        found[rows] = overlap(line, call[rows], start[rows], end[rows], own)
        return found

    return tell
