"""A trace in memory: the manifest and its six tables. Room: trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kerntrace.trace.manifest import Manifest
from kerntrace.trace.schema import TABLES
from kerntrace.trace.table import Ints, Table, distinct


@dataclass(frozen=True, slots=True)
class Trace:
    """What one recording holds. Tables are in the order their schema states; see `kerntrace.trace.schema` for columns."""

    manifest: Manifest
    kernels: Table
    memops: Table
    api_calls: Table
    ranges: Table
    overheads: Table
    walls: Table

    def table(self, name: str) -> Table:
        """A table by its schema's name."""
        table: Table = getattr(self, name)
        return table

    def tables(self) -> dict[str, Table]:
        return {name: self.table(name) for name in TABLES}


def devices(trace: Trace) -> Ints:
    """The devices that ran a kernel or a memop; -1 stands for a device that is not recorded."""
    return _distinct(trace, "device_id")


def pids(trace: Trace) -> Ints:
    """The processes whose work ran on a device; -1 stands for a process that is not recorded."""
    return _distinct(trace, "pid")


def _distinct(trace: Trace, column: str) -> Ints:
    found = [distinct(table.ints(column, null=-1)) for table in (trace.kernels, trace.memops) if len(table)]
    return distinct(np.concatenate(found)) if found else np.zeros(0, np.int64)
