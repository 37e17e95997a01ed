"""What host threads were doing: the threads asked about, laid end to end on one line, so that one search serves them all.

Room: accounting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.accounting.intervals import Pieces, Union, meet, summed, union
from kerntrace.trace.launches import Rows
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints, Table, distinct

Index = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Line:
    """The time of some host threads laid end to end.

    Attributes:
        pids, tids: distinct ids among the threads, ascending.
        threads: keys of the distinct threads, ascending; a thread's number is its place here.
        origin, span: time at which each thread's part of the line begins, and its length, in ns.
        of_call: thread number of each API call, of those whose threads are asked about; None where there is but one thread.
    """

    pids: Ints
    tids: Ints
    threads: Ints
    origin: int
    span: int
    of_call: Index | None

    def numbers(self, pid: Ints, tid: Ints) -> Index:
        """The number of each (pid, tid), -1 for a thread not asked about."""
        p, t = _rank(self.pids, pid), _rank(self.tids, tid)
        key = np.where((p < 0) | (t < 0), -1, p * len(self.tids) + t)
        return _rank(self.threads, key)

    def place(self, number: Index, time: Ints) -> Ints:
        """Where a thread's time lies on the line; times outside the line's reach move to its ends."""
        on_line: Ints = number * np.int64(self.span) + (np.clip(time, self.origin, self.origin + self.span) - self.origin)
        return on_line

    def of_calls(self, call: Rows, time: Ints) -> Ints:
        """Where times within the line's reach lie, each on the thread of an API call."""
        if self.of_call is None:
            return time - self.origin
        offset: Ints = self.of_call[call] * np.int64(self.span) - self.origin
        return time + offset


def line_of(trace: Trace, call: Rows, begin: int, end: int) -> Line:
    """The line of the threads that made some API calls (-1 is none), from `begin` to `end`."""
    calls, span = trace.api_calls, end - begin + 1
    pid, tid = calls.ints("pid", null=-1), calls.ints("tid", null=-1)
    pids, tids = distinct(pid), distinct(tid)
    if len(pids) == len(tids) == 1:
        return Line(pids, tids, np.zeros(1, np.int64), begin, span, None)
    key = _rank(pids, pid) * len(tids) + _rank(tids, tid)
    asked = np.zeros(len(calls), dtype=bool)
    asked[call[call >= 0]] = True
    threads = distinct(key[asked])
    return Line(pids, tids, threads, begin, span, _rank(threads, key))


def covered(line: Line, table: Table) -> Union:
    """What the rows of a host table cover of the line."""
    number = line.numbers(table.ints("pid", null=-1), table.ints("tid", null=-1))
    rows = np.flatnonzero(number >= 0)
    begin = line.place(number[rows], table.ints("start_ns")[rows])
    finish = line.place(number[rows], table.ints("end_ns", null=line.origin + line.span)[rows])
    order = np.argsort(begin, kind="stable")
    return union(begin[order], finish[order])


def overlap(line: Line, call: Rows, start: Ints, end: Ints, own: Union) -> Ints:
    """How much of each interval [start, end), on the thread of an API call, stretches of the line cover."""
    first = line.of_calls(call, start)
    pieces: Pieces = meet(first, first + (end - start), own)
    return summed(pieces.source, pieces.end - pieces.start, len(start))


def _rank(distinct: Ints, values: Ints) -> Index:
    """The place of each value among ascending distinct ones, -1 where it is not one of them."""
    if not len(distinct):
        return np.full(len(values), -1, np.intp)
    if len(distinct) == 1:
        return np.where(values == distinct[0], 0, -1)
    at = np.minimum(np.searchsorted(distinct, values), len(distinct) - 1)
    return np.where(distinct[at] == values, at, -1)
