"""Which API call launched which device operation: the join on (pid, correlation id). Room: trace.

One call launches one to many operations, so eager and graph replay are one case. Of calls that share an id, the outermost
is *the* launch; that choice is made here and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints, Mask, Table, distinct

Rows = npt.NDArray[np.int32]
_DENSE = 8  # a direct table may have this many places a call before sorting is the better way


@dataclass(frozen=True, slots=True)
class Launches:
    """The join, in row numbers of `trace.api_calls`.

    Attributes:
        of_kernels: for each kernel the call that launched it, -1 where none is on record.
        of_memops: the same for memops.
        outer: for each call, the outermost call that shares its id: itself if it is that one, or if it has no id.
    """

    of_kernels: Rows
    of_memops: Rows
    outer: Rows

    @property
    def is_outermost(self) -> Mask:
        alone: Mask = self.outer == np.arange(len(self.outer), dtype=np.int32)
        return alone


def join_launches(trace: Trace) -> Launches:
    """Join the trace's device operations to their launch calls. Time and memory are linear in rows where ids are dense."""
    calls = trace.api_calls
    tables = [calls, trace.kernels, trace.memops]
    for table in tables:
        table.load(["pid", "correlation_id"])
    keys = _keys(tables)
    found = _first_rows(keys[0])
    outer = np.arange(len(calls), dtype=np.int32)
    mine = found(keys[0])
    outer[mine >= 0] = mine[mine >= 0]
    return Launches(found(keys[1]), found(keys[2]), outer)


def _keys(tables: list[Table]) -> list[Ints]:
    """A number for each row's (pid, correlation id), the same for equal pairs and only for them; -1 where there is no id."""
    ids = [t.ints("correlation_id", null=-1).astype(np.int64, copy=False) for t in tables]
    pids = [t.ints("pid", null=-1) for t in tables]
    known = [t.valid("correlation_id") for t in tables]
    present = [i[k] if not k.all() else i for i, k in zip(ids, known)]
    lowest = min((int(i.min()) for i in present if len(i)), default=0)
    span = max((int(i.max()) for i in present if len(i)), default=0) - lowest + 1
    processes = distinct(np.concatenate([distinct(p) for p in pids]))
    if span * (len(processes) + 1) >= 2**62:  # ids too far apart to be counted from one origin: number the distinct ones
        known_ids = np.unique(np.concatenate([np.unique(i) for i in present]))
        ids, lowest, span = [np.searchsorted(known_ids, i) for i in ids], 0, len(known_ids) + 1
    keys = []
    for i, p, k in zip(ids, pids, known):
        key = i - lowest
        if len(processes) > 1:
            key = key + np.searchsorted(processes, p) * np.int64(span)
        keys.append(np.where(k, key, -1) if not k.all() else key)
    return keys


class _first_rows:
    """Finds, for a key, the first row that has it. Rows of api_calls are in order of start and, of those that start
    together, the longest first: the first row with a key is the outermost call with it."""

    def __init__(self, keys: Ints) -> None:
        rows = np.flatnonzero(keys >= 0)
        keys = keys if len(rows) == len(keys) else keys[rows]
        self.size = int(keys.max()) + 1 if len(keys) else 0
        self.direct = self.size <= _DENSE * len(keys) + 1024
        if self.direct:
            self.row = np.full(self.size, -1, np.int32)
            self.row[keys[::-1]] = rows[::-1]  # of several values for one place the last stays, here the first row
        else:
            order = np.argsort(keys, kind="stable")
            ranked = keys[order]
            first = np.concatenate([[True], ranked[1:] != ranked[:-1]])
            self.keys, self.row = ranked[first], rows[order[first]].astype(np.int32)

    def __call__(self, keys: Ints) -> Rows:
        if self.direct:
            inside = (keys >= 0) & (keys < self.size)
            if inside.all():
                return self.row[keys]
            return np.where(inside, self.row[np.where(inside, keys, 0)] if self.size else np.int32(-1), np.int32(-1))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where((keys >= 0) & (self.keys[place] == keys), self.row[place], np.int32(-1))
