"""Numbers as an Nsight Systems export holds them: serialised process and thread ids. Room: export.

A serialised id is hardware << 56 | virtual machine << 48 | process << 24 | thread; nsys itself writes virtual machine 1.
"""

from __future__ import annotations

import numpy as np

from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints, Mask, Table, distinct

VM = 1
_BITS = 24
_ROOM = 1 << _BITS
_RESERVED = 16  # of the highest thread numbers, for rows of our own


class Ids:
    """Processes and threads as serialised ids. A number that needs more than 24 bits gets a free one that does not."""

    def __init__(self, trace: Trace) -> None:
        tables = [table for table in trace.tables().values() if "pid" in table.schema.names]
        self._pids = _Numbers([table.ints("pid", null=0) for table in tables])
        self._tids = _Numbers([table.ints("tid", null=0) for table in tables if "tid" in table.schema.names])

    def process(self, pid: Ints) -> Ints:
        """`globalPid` of each pid."""
        return VM << 48 | self._pids(pid) << _BITS

    def thread(self, pid: Ints, tid: Ints) -> Ints:
        """`globalTid` of each (pid, tid)."""
        return self.process(pid) | self._tids(tid)

    def own_thread(self, pid: int, number: int) -> int:
        """`globalTid` of a thread of our own in a process; no thread of the trace has it."""
        return int(self.process(np.array([pid]))[0]) | (_ROOM - _RESERVED + number)

    def pid(self, pid: int) -> int:
        """The number that stands for a pid."""
        return int(self._pids(np.array([pid]))[0])


def global_pids(ids: Ids, table: Table) -> np.ma.MaskedArray:
    """`globalPid` of a table's rows, masked where the process is not recorded."""
    return np.ma.array(ids.process(table.ints("pid", null=0)), mask=~table.valid("pid"))


def global_tids(ids: Ids, table: Table) -> np.ma.MaskedArray:
    """`globalTid` of a table's rows, masked where the process is not recorded."""
    return np.ma.array(ids.thread(table.ints("pid", null=0), table.ints("tid", null=0)), mask=~table.valid("pid"))


class _Numbers:
    """Numbers below 2**24 as they are, others as free ones."""

    def __init__(self, columns: list[Ints]) -> None:
        used = distinct(np.concatenate([distinct(c) for c in columns if len(c)] or [np.zeros(0, np.int64)]))
        fits: Mask = (used >= 0) & (used < _ROOM - _RESERVED)
        self._large = used[~fits]
        free = np.setdiff1d(np.arange(_ROOM - _RESERVED - len(used) - 1, _ROOM - _RESERVED), used[fits])
        self._small = free[: len(self._large)]

    def __call__(self, numbers: Ints) -> Ints:
        numbers = numbers.astype(np.int64)
        if not len(self._large):
            return numbers
        at = np.minimum(np.searchsorted(self._large, numbers), len(self._large) - 1)
        return np.where(self._large[at] == numbers, self._small[at], numbers)
