"""Times counted from an origin that puts them all above zero, as the formats' readers like them. Room: export.

Rules of nsys leave out what starts at or before 0, and 0 is how Kineto says that there is no timestamp.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints, Table

_MARGIN_NS = 1_000_000
_FARTHEST_NS = 2**61


def sane(times: Ints) -> Ints:
    """Times, absurd ones moved to half of what 64 bits hold, so that neither a shift nor a difference turns them around."""
    return np.clip(times, -_FARTHEST_NS, _FARTHEST_NS)


@dataclass(frozen=True, slots=True)
class Shift:
    """How many ns are added to a trace's times: 0 becomes a millisecond."""

    ns: int

    def __call__(self, table: Table, column: str) -> np.ma.MaskedArray:
        """A column of times, shifted; nulls stay."""
        times = sane(table.ints(column)) + self.ns
        return np.ma.array(times, mask=~table.valid(column))


def shift_of(trace: Trace) -> Shift:
    """The shift that puts every sane time of a trace above zero."""
    timed = [table for table in trace.tables().values() if "start_ns" in table.schema.names]
    starts = [table.ints("start_ns")[table.valid("start_ns")] for table in timed]
    lowest = min((int(start.min()) for start in starts if len(start)), default=0)
    return Shift(_MARGIN_NS - max(min(lowest, 0), -_FARTHEST_NS))
