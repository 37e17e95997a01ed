"""Arithmetic of half-open intervals [a, b) in int64 ns, vectorised and exact. Room: accounting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kerntrace.trace.table import Ints

_MIN, _MAX = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class Union(NamedTuple):
    """Disjoint stretches covered by a set of intervals, ascending; `first[i]` is the interval that opens stretch i."""

    start: Ints
    end: Ints
    first: npt.NDArray[np.intp]


class Pieces(NamedTuple):
    """Parts of intervals: piece i is [start[i], end[i]), of interval `source[i]` and, in a join, meets `other[i]`."""

    start: Ints
    end: Ints
    source: npt.NDArray[np.intp]
    other: npt.NDArray[np.intp]


def union(start: Ints, end: Ints) -> Union:
    """The union of intervals that ascend by start. Those of no length cover nothing; those that touch are one stretch."""
    some = np.flatnonzero(end > start)
    if len(some) < len(start):
        start, end = start[some], end[some]
    if not len(start):
        return Union(start, end, some)
    reach = np.maximum.accumulate(end)
    opens = np.empty(len(start), dtype=bool)
    opens[0] = True
    np.greater(start[1:], reach[:-1], out=opens[1:])
    at = np.flatnonzero(opens)
    return Union(start[at], reach[np.append(at[1:], len(start)) - 1], some[at])


def gaps_of(busy: Union, begin: Ints, end: Ints) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Which gaps each window [begin, end) meets, as ranges of their numbers: gap i is the one before stretch i."""
    low = np.searchsorted(busy.start, begin, side="right")
    high = np.searchsorted(busy.end, end, side="left") + 1
    return low, np.where(begin < end, high, low)


def gaps_within(busy: Union, begin: Ints, end: Ints, low: npt.NDArray[np.intp], high: npt.NDArray[np.intp]) -> Pieces:
    """What the stretches leave uncovered of each window [begin, end), given which gaps it meets.

    `source` is the window; `other` is the stretch that follows the gap, or the number of stretches where none does. Windows
    may overlap each other. Every piece has some length, for stretches do not touch.
    """
    window, gap = _ragged(low, high)
    if not len(gap):
        return Pieces(begin[:0], end[:0], window, gap)
    first, last = int(gap.min()), int(gap.max())
    opens = np.concatenate([[_MIN], busy.end[first:last]]) if first == 0 else busy.end[first - 1 : last]
    closes = busy.start[first : last + 1]
    if last == len(busy.start):
        closes = np.append(closes, _MAX)
    start, stop = np.maximum(opens[gap - first], begin[window]), np.minimum(closes[gap - first], end[window])
    return Pieces(start, stop, window, gap)


def meet(start: Ints, end: Ints, other: Union) -> Pieces:
    """The overlaps of each interval with disjoint ascending stretches."""
    low = np.searchsorted(other.end, start, side="right")
    high = np.searchsorted(other.start, end, side="left")
    mine, theirs = _ragged(low, high)
    return Pieces(np.maximum(start[mine], other.start[theirs]), np.minimum(end[mine], other.end[theirs]), mine, theirs)


def meet_in_groups(start: Ints, end: Ints, group: npt.NDArray[np.intp], other: Union) -> tuple[Ints, Ints, Ints]:
    """How much of each group's intervals each stretch covers: (stretch, group, length) triples, at most one row a run.

    The same sums as over `meet`, but the work grows with stretches, not with intervals, of which there may be millions.

    Args:
        start, end: disjoint intervals, ascending.
        group: the group each belongs to; a run of equal ones is summed at once.
    """
    leads = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]])) if len(group) else np.zeros(0, np.intp)
    low = np.searchsorted(end, other.start, side="right")
    high = np.searchsorted(start, other.end, side="left")
    stretch, run = _ragged(np.searchsorted(leads, low, side="right") - 1, np.searchsorted(leads, high, side="left"))
    some = low[stretch] < high[stretch]
    stretch, run = stretch[some], run[some]
    first = np.maximum(leads[run], low[stretch])
    last = np.minimum(np.append(leads, len(start))[run + 1], high[stretch])
    before = np.concatenate([[0], np.cumsum(end - start)])
    length = before[last] - before[first]
    length -= np.maximum(other.start[stretch] - start[first], 0)
    length -= np.maximum(end[last - 1] - other.end[stretch], 0)
    return stretch, group[leads[run]], length


def covered_before(start: Ints, end: Ints, at: Ints) -> Ints:
    """For each time, the summed length of the intervals' parts before it; overlapping parts count more than once.

    Sums run modulo 2**64, so that partial sums may leave int64; the result is right wherever it fits.
    """
    total = np.zeros(len(at), np.int64)
    with np.errstate(over="ignore"):
        for edge, sign in ((_ascending(start), 1), (_ascending(end), -1)):
            before = np.concatenate([[0], np.cumsum(edge)])
            count = np.searchsorted(edge, at)
            total += sign * (count * at - before[count])
    return total


def _ascending(values: Ints) -> Ints:
    return values if bool(np.all(values[1:] >= values[:-1])) else np.sort(values)


def summed(index: npt.NDArray[np.intp], value: Ints, size: int) -> Ints:
    """The sum of the values at each index below `size`. Exact below 2**53, which is 104 days in ns."""
    return np.bincount(index, weights=value, minlength=size).astype(np.int64)


def _ragged(low: npt.NDArray[np.intp], high: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """All pairs (i, j) with low[i] <= j < high[i], as two arrays."""
    count = np.maximum(high - low, 0)
    rows = np.repeat(np.arange(len(low)), count)
    skipped = np.cumsum(count) - count
    return rows, np.arange(len(rows)) - np.repeat(skipped - low, count)
