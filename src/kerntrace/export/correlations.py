"""Correlation ids that are unique in a file: CUDA counts them in each process, and the format has one number. Room: export."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kerntrace.export.json_text import field
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints, Table, distinct


class Correlations:
    """The ids of a trace: as they are where they are of one process, else numbered anew by (process, id)."""

    def __init__(self, trace: Trace) -> None:
        tables = [table for table in (trace.api_calls, trace.kernels, trace.memops) if len(table)]
        pids = distinct(np.concatenate([np.zeros(0, np.int64), *(distinct(table.ints("pid", null=-1)) for table in tables)]))
        self._pairs = np.unique(np.concatenate([_pairs(table) for table in tables])) if len(pids) > 1 else None

    def numbers(self, table: Table) -> Ints:
        """The id of each row; 0 where it has none."""
        if self._pairs is None:
            return table.ints("correlation_id")
        number: Ints = np.searchsorted(self._pairs, _pairs(table)) + 1
        return np.where(table.valid("correlation_id"), number, 0)

    def field(self, table: Table, part: slice) -> pa.Array:
        """The id of each row as a field of `args`."""
        return field("correlation", self.numbers(table)[part], table.valid("correlation_id")[part])


def _pairs(table: Table) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
    """(pid, id) of each row as one value that can be ordered."""
    pairs = np.empty(len(table), np.dtype([("pid", np.int64), ("id", np.int64)]))
    pairs["pid"], pairs["id"] = table.ints("pid", null=-1), table.ints("correlation_id")
    return pairs  # type: ignore[return-value]
