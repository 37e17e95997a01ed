"""Intervals over sessions, the processes that an engine was started in. Room: stats | hardware | workload.

Repetitions of one process share what that process was given: its memory layout, its cores, the host's mood. An interval over
repetitions says nothing of another start; one over sessions does, and with three sessions a mode it is wide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.stats.interval import LEVEL, Floats, Interval

Index = npt.NDArray[np.int64]
METHOD = "t over sessions"


@dataclass(frozen=True, slots=True)
class SessionEstimate:
    """A statistic with its standard error over sessions; `free` are degrees of freedom (Welch, Satterthwaite)."""

    centre: float
    error: float
    free: float

    def interval(self, level: float = LEVEL) -> Interval:
        """Student's t interval."""
        from scipy import stats

        half = float(stats.t.ppf((1 + level) / 2, self.free)) * self.error
        return Interval(self.centre - half, self.centre + half, level, METHOD)

    def p(self, value: float = 0.0) -> float:
        """Two-sided, that the statistic has another value."""
        return min(1.0, 2 * min(self._below(value), 1 - self._below(value)))

    def p_within(self, margin: float) -> float:
        """That it lies within the margin of 0: the larger p value of two one-sided tests."""
        return max(self._below(-margin), 1 - self._below(margin))

    def p_beyond(self, margin: float) -> float:
        """That it lies further from 0 than the margin."""
        return min(1.0, 2 * min(1 - self._below(-margin), self._below(margin)))

    def _below(self, value: float) -> float:
        """The probability of such a centre or a higher one if the true value were `value`."""
        from scipy import stats

        if self.error == 0:
            return 0.0 if self.centre > value else 1.0 if self.centre < value else 0.5
        return float(stats.t.sf((self.centre - value) / self.error, self.free))


def session_estimate(arms: Sequence[Floats], statistic: Callable[[Sequence[Floats]], float]) -> SessionEstimate | None:
    """The jackknife over sessions of a statistic of arms, each the mean of its sessions.

    One session at a time is left out. For the difference of two arms of one cell this is Welch's t.

    Args:
        arms: (sessions, cells) medians of each arm.
        statistic: of the arms' means over sessions, each (cells,).

    Returns:
        None where an arm has fewer than two sessions, or the statistic is no number.
    """
    if any(len(arm) < 2 for arm in arms):
        return None
    means = [arm.mean(axis=0) for arm in arms]
    variances, frees = [], []
    for i, arm in enumerate(arms):
        count = len(arm)
        left = np.array([statistic([*means[:i], (means[i] * count - one) / (count - 1), *means[i + 1 :]]) for one in arm])
        variances.append((count - 1) / count * float(np.sum((left - left.mean()) ** 2)))
        frees.append(count - 1)
    centre, total = statistic(means), sum(variances)
    if not np.isfinite(centre) or not np.isfinite(total):
        return None
    free = total**2 / sum(v**2 / f for v, f in zip(variances, frees)) if total > 0 else 1.0
    return SessionEstimate(float(centre), total**0.5, free)


@dataclass(frozen=True, slots=True)
class Spread:
    """How a sample of one cell and mode varies; nothing is trimmed.

    Attributes:
        mad: median of |value - median|.
        outliers: values further than 5 scaled MADs (1.4826 MAD) from the median.
        between_sessions, between_repetitions: standard deviations of the one-way random-effects model; None where there is
            one session, or one repetition in each.
    """

    mad: float
    outliers: int
    between_sessions: float | None
    between_repetitions: float | None


def spread(values: Floats, session: Index) -> Spread:
    """The spread of `values`, each of the session of the same position."""
    away = np.abs(values - np.median(values))
    mad = float(np.median(away))
    outliers = int(np.sum(away > 5 * 1.4826 * mad)) if mad > 0 else int(np.sum(away > 0))
    _, group, sizes = np.unique(session, return_inverse=True, return_counts=True)
    n, k = len(values), len(sizes)
    if n <= k:
        return Spread(mad, outliers, None, None)
    means = np.bincount(group, values) / sizes
    within = float(np.sum((values - means[group]) ** 2)) / (n - k)
    if k < 2:
        return Spread(mad, outliers, None, within**0.5)
    among = float(np.sum(sizes * (means - values.mean()) ** 2)) / (k - 1)
    typical = (n - float(np.sum(sizes**2)) / n) / (k - 1)
    return Spread(mad, outliers, max(0.0, (among - within) / typical) ** 0.5, within**0.5)
