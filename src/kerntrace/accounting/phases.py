"""Which phase of the engine the GPU waited for: host_wait and launch_call by the innermost range or synchronising call.

Room: accounting. The ranges and calls looked at are those of the thread that made the launch call which ended the gap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kerntrace.accounting.intervals import Union, meet, meet_in_groups, summed
from kerntrace.accounting.ledger import Gaps
from kerntrace.accounting.threads import Index, Line, covered, line_of
from kerntrace.steps.names import VLLM
from kerntrace.trace.api_names import is_synchronising
from kerntrace.trace.blocks import in_parallel, rows_in_blocks
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints, Names

NO_RANGE = "(no range)"
OTHERS = "(other ranges)"
_MOST = 64  # phases told apart: a range named for each step or request would make a table of steps times names
_STEP = re.compile(rf"{VLLM.pattern}|^kerntrace\.step\b.*")


@dataclass(frozen=True, slots=True)
class Phases:
    """Exposed host time by phase.

    Attributes:
        names: of the phases, the one for time in no range last.
        host_wait, launch_call: int64 ns, one row a step and one column a phase; a row sums to the step's ledger term.
    """

    names: tuple[str, ...]
    host_wait: npt.NDArray[np.int64]
    launch_call: npt.NDArray[np.int64]


def attribute_phases(trace: Trace, gaps: Gaps, steps: int) -> Phases:
    """Split each step's host_wait and launch_call by phase. The profiler's own time is in neither."""
    if not any(gaps.terms[name].any() for name in ("host_wait", "launch_call", "profiler")):
        return Phases((NO_RANGE,), np.zeros((steps, 1), np.int64), np.zeros((steps, 1), np.int64))
    line = line_of(trace, gaps.call, int(gaps.start.min()), int(gaps.end.max()))
    own = covered(line, trace.overheads)
    names, labels = _longest(*_labelled(trace, line), gaps, line)
    waited, called = (np.zeros((steps, len(names)), np.int64) for _ in range(2))

    def split(rows: slice) -> tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        asked = _exposed(gaps, rows, line)
        low, high = (int(asked.step.min()), int(asked.step.max())) if len(asked.step) else (0, -1)
        step, shape = asked.step - low, (high - low + 1, len(names))
        before = _split(asked.start, asked.at_launch, labels, step, shape)
        profiler = meet(asked.start, asked.at_launch, _near(own, asked))
        before -= _split(profiler.start, profiler.end, labels, step[profiler.source], shape)
        return low, before, _split(asked.at_launch, asked.end, labels, step, shape)

    for low, before, inside in in_parallel(split, rows_in_blocks(len(gaps.step))):
        waited[low : low + len(before)] += before
        called[low : low + len(inside)] += inside
    return Phases(names, waited, called)


class _Exposed(NamedTuple):
    """Gaps that the host answers for, on the line: up to `at_launch` it had not launched, from then on it was launching."""

    step: Index
    start: Ints
    at_launch: Ints
    end: Ints


def _exposed(gaps: Gaps, rows: slice, line: Line) -> _Exposed:
    """Those of some gaps, ascending on the line."""
    waited_for = gaps.terms["host_wait"][rows] + gaps.terms["profiler"][rows]  # all that lies before the launch call
    called = gaps.terms["launch_call"][rows]
    chosen = np.flatnonzero(waited_for + called)
    start = line.of_calls(gaps.call[rows][chosen], gaps.start[rows][chosen])
    at_launch = start + waited_for[chosen]
    found = _Exposed(gaps.step[rows][chosen], start, at_launch, at_launch + called[chosen])
    if np.any(start[1:] < start[:-1]):
        order = np.argsort(start, kind="stable")
        return _Exposed(*(part[order] for part in found))
    return found


def _near(stretches: Union, asked: _Exposed) -> Union:
    """The stretches, which ascend, that may meet what is asked about."""
    if not len(asked.start):
        return Union(*(part[:0] for part in stretches))
    low = int(np.searchsorted(stretches.end, asked.start[0], side="right"))
    high = int(np.searchsorted(stretches.start, asked.end.max(), side="left"))
    return Union(*(part[low:high] for part in stretches))


def phase_name(name: str) -> str:
    """The phase a range's name stands for: a step's own range, whose numbers differ from step to step, is one phase."""
    return "execute step" if _STEP.search(name) else name


@dataclass(frozen=True, slots=True)
class _Labels:
    """Disjoint stretches of the line, ascending, each with the number of its phase; the rest of the line is in no range."""

    stretches: Union
    phase: Index


def _labelled(trace: Trace, line: Line) -> tuple[tuple[str, ...], _Labels]:
    """The innermost range or synchronising call at every place of the line."""
    numbers: dict[str, int] = {}
    begins, ends, phases, since = [], [], [], []
    sync = trace.api_calls.names("name").where(is_synchronising) if len(trace.api_calls) else np.zeros(0, bool)
    for table, chosen in ((trace.ranges, trace.ranges.valid("start_ns")), (trace.api_calls, sync)):
        rows = np.flatnonzero(chosen)
        thread = line.numbers(table.ints("pid", null=-1)[rows], table.ints("tid", null=-1)[rows])
        rows, thread = rows[thread >= 0], thread[thread >= 0]
        begins.append(line.place(thread, table.ints("start_ns")[rows]))
        ends.append(line.place(thread, table.ints("end_ns", null=line.origin + line.span)[rows]))
        phases.append(_numbered(table.names("name"), rows, numbers))
        since.append(table.ints("start_ns")[rows])
    labels = _innermost(*(np.concatenate(part) for part in (begins, ends, since, phases)))
    return (*numbers, NO_RANGE), labels


def _longest(names: tuple[str, ...], labels: _Labels, gaps: Gaps, line: Line) -> tuple[tuple[str, ...], _Labels]:
    """The phases that cover most of the exposed gaps by name, the others together as one."""
    if len(names) <= _MOST + 1:
        return names, labels

    def reached(rows: slice) -> Ints:
        asked = _exposed(gaps, rows, line)
        alike = np.zeros(len(asked.step), np.intp)
        return _split(asked.start, np.maximum.accumulate(asked.end), labels, alike, (1, len(names)))[0, :-1]

    total = np.sum(in_parallel(reached, rows_in_blocks(len(gaps.step))), axis=0)
    kept = np.sort(np.argsort(-total, kind="stable")[:_MOST])
    number = np.full(len(names) - 1, _MOST, np.intp)
    number[kept] = np.arange(_MOST)
    return (*(names[i] for i in kept), OTHERS, NO_RANGE), _Labels(labels.stretches, number[labels.phase])


def _numbered(names: Names, rows: Index, numbers: dict[str, int]) -> Index:
    codes = names.codes[rows]
    number = np.full(len(names.values) + 1, -1, np.intp)
    for code in np.unique(codes):
        number[code] = numbers.setdefault(phase_name(names.values[code]) if code >= 0 else "(unnamed range)", len(numbers))
    return number[codes]


def _innermost(begin: Ints, end: Ints, since: Ints, phase: Index) -> _Labels:
    """At every place the phase of the interval that began last among those still open.

    What began before the part of the line that is looked at is there from its beginning; `since` then tells which began last.

    A stack in order of beginning, from whose top the closed ones are taken when it is looked at: nested or not, the topmost
    open one is the one that began last.
    """
    some = np.flatnonzero(end > begin)
    order = some[np.lexsort([-end[some], since[some], begin[some]])]
    starts, stops, which = begin[order].tolist(), end[order].tolist(), phase[order].tolist()
    edges: list[tuple[int, int, int]] = []  # from, to, phase
    open_: list[tuple[int, int]] = []  # end, phase
    at = 0

    def advance(until: int) -> None:
        nonlocal at
        while open_ and at < until:
            stop, label = open_[-1]
            if stop <= at:
                open_.pop()
                continue
            to = min(stop, until)
            edges.append((at, to, label))
            at = to
        at = max(at, until)

    for start, stop, label in zip(starts, stops, which):
        advance(start)
        open_.append((stop, label))
    advance(np.iinfo(np.int64).max)
    found = np.array(edges, dtype=np.int64).reshape(-1, 3)
    return _Labels(Union(found[:, 0], found[:, 1], np.arange(len(found))), found[:, 2])


def _split(start: Ints, end: Ints, labels: _Labels, step: Index, shape: tuple[int, int]) -> npt.NDArray[np.int64]:
    """The lengths of intervals, which ascend, by (step, phase), the last phase taking what lies in none."""
    if not len(start):
        return np.zeros(shape, np.int64)
    if np.any(start[1:] < end[:-1]):  # steps out of order have windows that overlap, and share gaps
        parts = [_split(start[step == s], end[step == s], labels, step[step == s], shape) for s in np.unique(step)]
        together: npt.NDArray[np.int64] = np.sum(parts, axis=0, dtype=np.int64)
        return together
    low = int(np.searchsorted(labels.stretches.end, start[0], side="right"))
    high = int(np.searchsorted(labels.stretches.start, end[-1], side="left"))
    near = Union(*(part[low:high] for part in labels.stretches))
    stretch, group, length = meet_in_groups(start, end, step, near)
    table = summed(group * shape[1] + labels.phase[low:high][stretch], length, shape[0] * shape[1]).reshape(shape)
    table[:, -1] += summed(step, end - start, shape[0]) - table.sum(axis=1)
    return table
