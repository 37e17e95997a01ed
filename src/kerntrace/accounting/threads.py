"""What host threads were doing: the threads asked about, laid end to end on one line, so that one search serves them all.

Room: accounting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.accounting.intervals import Pieces, meet, summed, union
from kerntrace.trace.launches import Rows
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints, Table, distinct

Index = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Asked:
    """Host intervals, each on the thread of an API call, and their places on the line.

    Attributes:
        pids, tids: distinct ids among the calls' threads, ascending.
        threads: keys of the distinct threads, ascending; a thread's number is its place here.
        origin, span: time at which each thread's part of the line begins, and its length, in ns.
        start, end: the intervals on the line.
    """

    pids: Ints
    tids: Ints
    threads: Ints
    origin: int
    span: int
    start: Ints
    end: Ints

    def numbers(self, pid: Ints, tid: Ints) -> Index:
        """The number of each (pid, tid), -1 for a thread not asked about."""
        p, t = _rank(self.pids, pid), _rank(self.tids, tid)
        key = np.where((p < 0) | (t < 0), -1, p * len(self.tids) + t)
        return _rank(self.threads, key)

    def place(self, number: Index, time: Ints) -> Ints:
        """Where a thread's time lies on the line; times outside the intervals' reach move to its ends."""
        on_line: Ints = number * np.int64(self.span) + (np.clip(time, self.origin, self.origin + self.span) - self.origin)
        return on_line


def ask(trace: Trace, call: Rows, start: Ints, end: Ints) -> Asked:
    """The intervals [start, end), each on the thread of an API call; those of a gap without one (-1) must be empty."""
    calls = trace.api_calls
    origin = int(start.min()) if len(start) else 0
    span = int(end.max()) - origin + 1 if len(end) else 1
    pid, tid = calls.ints("pid", null=-1), calls.ints("tid", null=-1)
    pids, tids = distinct(pid), distinct(tid)
    if len(pids) == len(tids) == 1:
        return Asked(pids, tids, np.zeros(1, np.int64), origin, span, start - origin, end - origin)
    pid, tid = pid[call], tid[call]
    pids, tids = distinct(pid), distinct(tid)
    key = _rank(pids, pid) * len(tids) + _rank(tids, tid)
    threads = distinct(key)
    offset = _rank(threads, key) * np.int64(span) - origin
    return Asked(pids, tids, threads, origin, span, start + offset, end + offset)


def overlap(asked: Asked, table: Table) -> Ints:
    """How much of each interval the rows of a host table, on the same thread, cover between them."""
    if not len(table) or not len(asked.start):
        return np.zeros(len(asked.start), np.int64)
    number = asked.numbers(table.ints("pid", null=-1), table.ints("tid", null=-1))
    rows = np.flatnonzero(number >= 0)
    begin = asked.place(number[rows], table.ints("start_ns")[rows])
    finish = asked.place(number[rows], table.ints("end_ns", null=asked.origin + asked.span)[rows])
    order = np.argsort(begin, kind="stable")
    pieces: Pieces = meet(asked.start, asked.end, union(begin[order], finish[order]))
    return summed(pieces.source, pieces.end - pieces.start, len(asked.start))


def _rank(distinct: Ints, values: Ints) -> Index:
    """The place of each value among ascending distinct ones, -1 where it is not one of them."""
    if not len(distinct):
        return np.full(len(values), -1, np.intp)
    if len(distinct) == 1:
        return np.where(values == distinct[0], 0, -1)
    at = np.minimum(np.searchsorted(distinct, values), len(distinct) - 1)
    return np.where(distinct[at] == values, at, -1)
