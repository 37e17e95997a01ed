"""What ran on a device, kernels and memops together, in order of start. Room: trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
    """

    start: Ints
    end: Ints
    launch: Rows
    row: Rows
    is_kernel: Mask

    def __len__(self) -> int:
        return len(self.start)


def operations_of(trace: Trace, launches: Launches) -> Operations:
    """The trace's kernels and memops as one sequence. Records without timestamps are left out."""
    kernels = _timed(trace.kernels, launches.of_kernels)
    memops = _timed(trace.memops, launches.of_memops)
    flags = [np.ones(len(kernels[0]), dtype=bool), np.zeros(len(memops[0]), dtype=bool)]
    if not len(memops[0]):
        return Operations(*kernels, flags[0])
    start, end, launch, row = (np.concatenate(pair) for pair in zip(kernels, memops))
    order = np.argsort(start, kind="stable")
    return Operations(start[order], end[order], launch[order], row[order], np.concatenate(flags)[order])


def _timed(table: Table, launch: Rows) -> tuple[Ints, Ints, Rows, Rows]:
    table.load(["start_ns", "end_ns"])
    start, end = table.ints("start_ns"), table.ints("end_ns")
    row = np.arange(len(table), dtype=np.int32)
    known = table.valid("start_ns") & table.valid("end_ns")
    if known.all():
        return start, end, launch, row
    return start[known], end[known], launch[known], row[known]


def first_of_launch(ops: Operations, calls: int) -> Rows:
    """For each of `calls` API calls, the earliest operation it launched; -1 for one that launched none."""
    first = np.full(calls, -1, np.int32)
    launched = np.flatnonzero(ops.launch >= 0).astype(np.int32)
    first[ops.launch[launched[::-1]]] = launched[::-1]  # the last value assigned stays: here the earliest operation
    return first


def starts_before_launch(trace: Trace, ops: Operations) -> npt.NDArray[np.int64]:
    """For each operation with a launch on record, how long (ns) it starts before its launch call; negative if after."""
    launched = ops.launch >= 0
    return trace.api_calls.ints("start_ns")[ops.launch[launched]] - ops.start[launched]
