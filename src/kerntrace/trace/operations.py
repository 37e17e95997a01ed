"""What ran on a device, kernels and memops together, in order of start. Room: trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kerntrace.trace.launches import Launches, Rows
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints, Mask, Table


@dataclass(frozen=True, slots=True)
class Operations:
    """Device operations with timestamps, ascending by start. Arrays of one length.

    Attributes:
        start, end: device time in ns.
        launch: row of `trace.api_calls` that launched it, -1 where none is on record.
        row: row in `trace.kernels`, or in `trace.memops` where `is_kernel` is False.
        first: of another length, an entry an API call: the earliest operation it launched, -1 where it launched none.
    """

    start: Ints
    end: Ints
    launch: Rows
    row: Rows
    is_kernel: Mask
    first: Rows

    def __len__(self) -> int:
        return len(self.start)


def operations_of(trace: Trace, launches: Launches) -> Operations:
    """The trace's kernels and memops as one sequence. Records without timestamps are left out."""
    kernels = _timed(trace.kernels, launches.of_kernels)
    memops = _timed(trace.memops, launches.of_memops)
    calls = len(trace.api_calls)
    if not len(memops.start):
        return Operations(*kernels, np.ones(len(kernels.start), dtype=bool), _first(kernels.launch, calls))
    order = np.argsort(np.concatenate([kernels.start, memops.start]), kind="stable")
    launch = np.concatenate([kernels.launch, memops.launch])[order]
    return Operations(
        np.concatenate([kernels.start, memops.start])[order],
        np.concatenate([kernels.end, memops.end])[order],
        launch,
        np.concatenate([kernels.row, memops.row])[order],
        order < len(kernels.start),
        _first(launch, calls),
    )


class _Timed(NamedTuple):
    """Rows of one table that have timestamps."""

    start: Ints
    end: Ints
    launch: Rows
    row: Rows


def _timed(table: Table, launch: Rows) -> _Timed:
    table.load(["start_ns", "end_ns"])
    start, end = table.ints("start_ns"), table.ints("end_ns")
    row = np.arange(len(table), dtype=np.int32)
    known = table.valid("start_ns") & table.valid("end_ns")
    if known.all():
        return _Timed(start, end, launch, row)
    return _Timed(start[known], end[known], launch[known], row[known])


def _first(launch: Rows, calls: int) -> Rows:
    """For each of `calls` API calls, the earliest operation it launched; -1 for one that launched none."""
    first = np.full(calls + 1, -1, np.int32)  # the last place takes the operations without a launch
    first[launch[::-1]] = np.arange(len(launch) - 1, -1, -1, dtype=np.int32)  # the last value assigned stays: the earliest
    return first[:-1]


def starts_before_launch(trace: Trace, ops: Operations) -> Ints:
    """For each API call that launched work, how long (ns) the earliest of it starts before the call; negative if after."""
    call = np.flatnonzero(ops.first >= 0)
    early: Ints = trace.api_calls.ints("start_ns")[call] - ops.start[ops.first[call]]
    return early
