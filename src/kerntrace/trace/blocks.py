"""Long columns a piece at a time: what a piece needs stays in the cache, and pieces run on every core. Room: trace.

NumPy leaves the interpreter free while it works on an array, so threads serve.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from kerntrace.trace.table import Ints

_ROWS = 1 << 17  # of a few columns of eight bytes: some megabytes
_CORES = min(os.cpu_count() or 1, 8)

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def blocks(before: Ints) -> list[slice]:
    """Runs of consecutive groups with about as many rows as the cache takes, at least one group each.

    Args:
        before: rows before each group, and before the end: one entry more than there are groups.
    """
    groups = len(before) - 1
    edges = np.searchsorted(before, np.arange(0, int(before[-1]), _ROWS)) if groups else np.zeros(0, np.int64)
    edges = np.unique(np.append(edges, groups))
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def rows_in_blocks(rows: int) -> list[slice]:
    """Runs of rows."""
    return [slice(at, min(at + _ROWS, rows)) for at in range(0, rows, _ROWS)]


def in_parallel(work: Callable[[Piece], Result], pieces: Iterable[Piece]) -> list[Result]:
    """The results of `work` for each piece, in order."""
    pieces = list(pieces)
    if len(pieces) < 2 or _CORES < 2:
        return [work(piece) for piece in pieces]
    with ThreadPoolExecutor(_CORES) as pool:
        return list(pool.map(work, pieces))


Part = tuple[npt.NDArray[np.integer], "npt.NDArray[np.number] | None"]


def summed_in_blocks(rows: int, groups: int, parts: Callable[[slice], list[Part]]) -> list[npt.NDArray[np.float64]]:
    """Sums over the rows of each group, exact below 2**53.

    Args:
        parts: for a run of rows, one pair a sum: the group of each value, which is not negative, and the values; None counts.
    """

    def local(run: slice) -> list[tuple[int, npt.NDArray[np.int64 | np.float64]]]:
        lows = [(int(group.min()) if len(group) else 0, group, value) for group, value in parts(run)]
        return [(low, np.bincount(group - low, weights=value)) for low, group, value in lows]

    totals: list[npt.NDArray[np.float64]] = []
    for found in in_parallel(local, rows_in_blocks(rows) or [slice(0, 0)]):
        totals = totals or [np.zeros(groups) for _ in found]
        for total, (low, value) in zip(totals, found):
            total[low : low + len(value)] += value
    return totals
