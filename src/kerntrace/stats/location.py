"""Medians and shifts with intervals that need no shape of the samples. Room: stats | hardware | workload.

The Hodges-Lehmann shift between two samples has the Mann-Whitney interval, a median that of the sign test. The shift estimates
the median of all pairwise differences. Where the two samples differ in shape and not only in place, that is not the difference
of their medians, so it stands beside the bootstrap and does not replace it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from kerntrace.stats.interval import LEVEL, Floats, Interval

METHOD = "Mann-Whitney"
SIGN_TEST = "sign test"
_EXACT = 3_000  # pairs up to which the rank sum's distribution is counted out


def hodges_lehmann(a: Floats, b: Floats, level: float = LEVEL) -> tuple[float, Interval | None]:
    """The median of a_i - b_j, and its interval; None where the samples are too small for the level."""
    pairs = np.sort((a[:, None] - b[None, :]).ravel())
    rank = _rank(len(a), len(b), level)
    found = Interval(float(pairs[rank - 1]), float(pairs[-rank]), level, METHOD) if rank else None
    return float(np.median(pairs)), found


def median_interval(values: Floats, level: float = LEVEL) -> Interval | None:
    """The interval of a median between two order statistics, the closest that hold at least `level` of the probability.

    Of n independent values below and above the median there are as many as of heads in n throws. Source: the sign test,
    Conover, Practical Nonparametric Statistics, section 3.2.

    Returns:
        None where there are too few values: less than 6 for 0.95.
    """
    below = np.cumsum([math.comb(len(values), k) for k in range(len(values) + 1)]) / 2.0 ** len(values)
    rank = int(np.searchsorted(below, (1 - level) / 2, side="right"))
    if rank == 0 or not len(values):
        return None
    ordered = np.sort(values)
    return Interval(float(ordered[rank - 1]), float(ordered[-rank]), level, SIGN_TEST)


@lru_cache(maxsize=256)
def _rank(m: int, n: int, level: float) -> int:
    """The greatest k with P(U < k) <= (1 - level) / 2; 0 where there is none."""
    tail = (1 - level) / 2
    if m * n > _EXACT:
        from scipy import stats

        deviation = (m * n * (m + n + 1) / 12) ** 0.5
        return max(0, int(m * n / 2 + stats.norm.ppf(tail) * deviation))
    counts = mann_whitney_counts(m, n)
    below = np.cumsum(counts) / counts.sum()
    return int(np.searchsorted(below, tail, side="right"))


def mann_whitney_counts(m: int, n: int) -> Floats:
    """How many of the arrangements of m and n values without ties have U = 0, 1, ..., m n.

    The coefficients of the Gaussian binomial: the product over i to m of (1 - q^(n + i)) / (1 - q^i).
    """
    m, n = min(m, n), max(m, n)
    counts = np.zeros(m * n + 1)
    counts[0] = 1
    for i in range(1, m + 1):
        if n + i < len(counts):
            counts[n + i :] = counts[n + i :] - counts[: -(n + i)]
        for first in range(i):
            counts[first::i] = np.cumsum(counts[first::i])
    return counts
