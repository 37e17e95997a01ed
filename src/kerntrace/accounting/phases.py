"""Which phase of the engine the GPU waited for: host_wait and launch_call by the innermost range or synchronising call.

Room: accounting. The ranges and calls looked at are those of the thread that made the launch call which ended the gap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.accounting.intervals import Union, meet, meet_in_groups, summed, union
from kerntrace.accounting.ledger import Gaps
from kerntrace.accounting.threads import Asked, Index, ask
from kerntrace.steps.names import VLLM
from kerntrace.trace.api_names import is_synchronising
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
    waited_for = gaps.terms["host_wait"] + gaps.terms["profiler"]  # all that lies before the launch call
    exposed = np.flatnonzero(waited_for + gaps.terms["launch_call"])
    if not len(exposed):
        return Phases((NO_RANGE,), np.zeros((steps, 1), np.int64), np.zeros((steps, 1), np.int64))
    start, step, waited_for = gaps.start[exposed], gaps.step[exposed], waited_for[exposed]
    asked = ask(trace, gaps.call[exposed], start, start + waited_for + gaps.terms["launch_call"][exposed])
    names, labels = _longest(*_labelled(trace, asked), asked)
    shape = steps, len(names)
    at_launch = asked.start + waited_for
    waited = _split(asked.start, at_launch, labels, step, shape) - _split_own(trace, asked, at_launch, labels, step, shape)
    return Phases(names, waited, _split(at_launch, asked.end, labels, step, shape))


def phase_name(name: str) -> str:
    """The phase a range's name stands for: a step's own range, whose numbers differ from step to step, is one phase."""
    return "execute step" if _STEP.search(name) else name


@dataclass(frozen=True, slots=True)
class _Labels:
    """Disjoint stretches of the line, ascending, each with the number of its phase; the rest of the line is in no range."""

    stretches: Union
    phase: Index


def _labelled(trace: Trace, asked: Asked) -> tuple[tuple[str, ...], _Labels]:
    """The innermost range or synchronising call at every place of the line."""
    numbers: dict[str, int] = {}
    begins, ends, phases, since = [], [], [], []
    sync = trace.api_calls.names("name").where(is_synchronising) if len(trace.api_calls) else np.zeros(0, bool)
    for table, chosen in ((trace.ranges, trace.ranges.valid("start_ns")), (trace.api_calls, sync)):
        rows = np.flatnonzero(chosen)
        thread = asked.numbers(table.ints("pid", null=-1)[rows], table.ints("tid", null=-1)[rows])
        rows, thread = rows[thread >= 0], thread[thread >= 0]
        begins.append(asked.place(thread, table.ints("start_ns")[rows]))
        ends.append(asked.place(thread, table.ints("end_ns", null=asked.origin + asked.span)[rows]))
        phases.append(_numbered(table.names("name"), rows, numbers))
        since.append(table.ints("start_ns")[rows])
    labels = _innermost(*(np.concatenate(part) for part in (begins, ends, since, phases)))
    return (*numbers, NO_RANGE), labels


def _longest(names: tuple[str, ...], labels: _Labels, asked: Asked) -> tuple[tuple[str, ...], _Labels]:
    """The phases that cover most of the asked intervals by name, the others together as one."""
    if len(names) <= _MOST + 1:
        return names, labels
    order = np.argsort(asked.start, kind="stable")
    alike = np.zeros(len(order), np.intp)
    stretch, _, length = meet_in_groups(asked.start[order], np.maximum.accumulate(asked.end[order]), alike, labels.stretches)
    total = summed(labels.phase[stretch], np.maximum(length, 0), len(names) - 1)
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
    """The lengths of intervals by (step, phase), the last phase taking what lies in none."""
    if np.any(start[1:] < start[:-1]):
        order = np.argsort(start, kind="stable")
        start, end, step = start[order], end[order], step[order]
    if np.any(start[1:] < end[:-1]):  # steps out of order have windows that overlap, and share gaps
        parts = [_split(start[step == s], end[step == s], labels, step[step == s], shape) for s in np.unique(step)]
        together: npt.NDArray[np.int64] = np.sum(parts, axis=0, dtype=np.int64)
        return together
    stretch, group, length = meet_in_groups(start, end, step, labels.stretches)
    table = summed(group * shape[1] + labels.phase[stretch], length, shape[0] * shape[1]).reshape(shape)
    table[:, -1] += summed(step, end - start, shape[0]) - table.sum(axis=1)
    return table


def _split_own(
    trace: Trace, asked: Asked, until: Ints, labels: _Labels, step: Index, shape: tuple[int, int]
) -> npt.NDArray[np.int64]:
    """The profiler's own time before the launch calls by (step, phase), to be taken off host_wait."""
    own = trace.overheads
    if not len(own) or not len(until):
        return np.zeros(shape, np.int64)
    number = asked.numbers(own.ints("pid", null=-1), own.ints("tid", null=-1))
    rows = np.flatnonzero(number >= 0)
    begin = asked.place(number[rows], own.ints("start_ns")[rows])
    finish = asked.place(number[rows], own.ints("end_ns")[rows])
    order = np.argsort(begin, kind="stable")
    pieces = meet(asked.start, until, union(begin[order], finish[order]))
    return _split(pieces.start, pieces.end, labels, step[pieces.source], shape)
