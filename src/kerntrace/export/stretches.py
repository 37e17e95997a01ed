"""Named stretches of time, the form in which findings are handed to the exporters. Room: export."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.trace.table import Ints, Names

Index = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches [start, end) of one kind. Arrays of one length.

    Attributes:
        step: the step that each belongs to.
        start, end: in ns.
        name: what it is.
    """

    step: Index
    start: Ints
    end: Ints
    name: Names

    def __len__(self) -> int:
        return len(self.start)


NO_STRETCHES = Stretches(np.zeros(0, np.intp), np.zeros(0, np.int64), np.zeros(0, np.int64), Names(np.zeros(0, np.int32), ()))


def ragged(count: Ints) -> tuple[Index, Ints]:
    """For counts of parts, each part's owner and its number within the owner: [2, 1] gives [0, 0, 1] and [0, 1, 0]."""
    owner = np.repeat(np.arange(len(count)), count)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
