"""Equivalence within a margin by two one-sided tests: shown, not assumed. Room: stats | hardware | workload."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kerntrace.stats.interval import Floats, Interval


@dataclass(frozen=True, slots=True)
class Equivalence:
    """The outcome of two one-sided tests.

    Attributes:
        p: the larger of the two tests' p values; equivalent at 5 % where it is below 0.05.
        p_beyond: of the opposite claim, that the value lies outside the margin.
    """

    p: float
    p_beyond: float


def equivalence_of_draws(draws: Floats, margin: float) -> Equivalence:
    """Equivalence of a bootstrapped value with 0: the share of draws beyond each end of the margin.

    p < 0.05 is the same as the 90 % percentile interval lying within the margin.
    """
    good = draws[np.isfinite(draws)]
    count = len(good) + 1
    below, above = (int(np.sum(good <= -margin)) + 1) / count, (int(np.sum(good >= margin)) + 1) / count
    return Equivalence(max(below, above), min(1.0, 2 * min(1 - below + 1 / count, 1 - above + 1 / count)))


def decided(interval95: Interval, interval90: Interval, margin: float) -> str:
    """What two intervals of a difference say of it.

    Returns:
        `gap` or `negative gap` (not zero), `negligible` (not zero, but within the margin), `none` (within the margin), or
        `inconclusive`.
    """
    real = interval95.excludes(0.0)
    if interval90.inside(-margin, margin):
        return "negligible" if real else "none"
    if not real:
        return "inconclusive"
    return "gap" if interval95.low > 0 else "negative gap"
