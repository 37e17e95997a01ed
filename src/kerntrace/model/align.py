"""Two sequences laid beside each other in order, by how well their members go together. Room: accounting | model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.intp]
Weights = npt.NDArray[np.int64]


class Alignment(NamedTuple):
    """Pairs in order: `first[k]` goes with `second[k]`, both ascending. `score` is the sum of their weights."""

    first: Places
    second: Places
    score: int


def align(weight: Weights) -> Alignment:
    """The pairs in order with the largest sum of weights; a member without a pair costs nothing.

    Args:
        weight: of each pair, at least 0; a pair of weight 0 is never made. A row a member of the first sequence.

    Time and memory are rows times columns, a vectorised pass a row.
    """
    rows, columns = weight.shape
    best = np.zeros((rows + 1, columns + 1), np.int64)
    for row in range(rows):
        # What ends at this column: skip this row, or pair it here; then the best so far, which is to skip columns.
        np.maximum(best[row, 1:], best[row, :-1] + weight[row], out=best[row + 1, 1:])
        np.maximum.accumulate(best[row + 1], out=best[row + 1])
    return _trace_back(best, weight)


def _trace_back(best: Weights, weight: Weights) -> Alignment:
    row, column = best.shape[0] - 1, best.shape[1] - 1
    pairs: list[tuple[int, int]] = []
    while row and column:
        paired = weight[row - 1, column - 1]
        if paired > 0 and best[row, column] == best[row - 1, column - 1] + paired:
            row, column = row - 1, column - 1
            pairs.append((row, column))
        elif best[row, column] == best[row - 1, column]:
            row -= 1
        else:
            column -= 1
    found = np.array(pairs[::-1], np.intp).reshape(-1, 2)
    return Alignment(found[:, 0], found[:, 1], int(best[-1, -1]))
