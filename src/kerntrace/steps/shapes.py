"""Launch shapes of kernels as one number each, and back. Room: steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints

_SHAPE = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
_MOST = 2**62


@dataclass(frozen=True, slots=True)
class Shapes:
    """The launch shapes of a trace's kernels.

    Attributes:
        columns: the six sizes, a value a kernel each.
        low, span: the least value of each column, and how many values it may have; a number has the columns as its digits.
        known: where the digits would not fit in 62 bits, the distinct shapes, a row each; a number is then a place among them.
        place: with `known`, each kernel's.
    """

    columns: tuple[npt.NDArray[np.integer], ...]
    low: tuple[int, ...]
    span: tuple[int, ...]
    known: Ints | None
    place: Ints | None

    def numbers(self, rows: npt.NDArray[np.integer]) -> Ints:
        """A number for each of these kernels, equal for equal shapes."""
        if self.place is not None:
            found: Ints = self.place[rows]
            return found
        number = np.zeros(len(rows), np.int64)
        for column, low, span in zip(self.columns, self.low, self.span):
            if span > 1:
                number *= span
                number += column[rows] - low
        return number

    def ranked(self, numbers: npt.NDArray[np.integer]) -> tuple[str, ...]:
        """The distinct shapes of some numbers, the commonest first, of equally common ones the least first."""
        if numbers.min() == numbers.max():
            found, count = numbers[:1], np.ones(1, np.intp)
        else:
            found, count = np.unique(numbers, return_counts=True)
        sizes = self._sizes(found)
        order = np.lexsort([*sizes[::-1], -count])
        return tuple("grid {},{},{} block {},{},{}".format(*(int(size[i]) for size in sizes)) for i in order)

    def _sizes(self, numbers: npt.NDArray[np.integer]) -> list[Ints]:
        if self.known is not None:
            return list(self.known[numbers].T)
        sizes = []
        for low, span in zip(reversed(self.low), reversed(self.span)):
            numbers, digit = np.divmod(numbers, span)
            sizes.append(digit + low)
        return sizes[::-1]


def shapes_of(trace: Trace) -> Shapes | None:
    """The launch shapes of a trace's kernels; None where they are not recorded."""
    if not all(trace.kernels.has(name) for name in _SHAPE):
        return None
    columns = tuple(trace.kernels.ints(name) for name in _SHAPE)
    low = tuple(int(column.min()) for column in columns)
    span = tuple(int(column.max()) - least + 1 for column, least in zip(columns, low))
    if np.prod(np.array(span, dtype=object)) < _MOST:
        return Shapes(columns, low, span, None, None)
    known, place = np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0, return_inverse=True)
    return Shapes(columns, low, span, known, place.reshape(-1).astype(np.int64))
