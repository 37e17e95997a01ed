"""An interval with its level and the method that made it. Room: stats | hardware | workload."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, in the unit of the estimate it belongs to.

    Attributes:
        level: nominal coverage, e.g. 0.95.
        method: what made it, e.g. `percentile bootstrap`.
    """

    low: float
    high: float
    level: float
    method: str

    def excludes(self, value: float) -> bool:
        return not self.low <= value <= self.high

    def misses(self, low: float, high: float) -> bool:
        """Whether it has no value in common with those between two values."""
        return self.high < low or high < self.low

    def inside(self, low: float, high: float) -> bool:
        """Whether it lies wholly between two values."""
        return low < self.low and self.high < high


def of_draws(draws: Floats, method: str, level: float = LEVEL) -> Interval | None:
    """The percentile interval of a statistic's resampled values; None where fewer than half of them are numbers.

    Args:
        draws: one value a resample; NaN where the statistic does not exist, e.g. a slope over one batch size.
    """
    good = draws[np.isfinite(draws)]
    if not len(draws) or 2 * len(good) < len(draws):
        return None
    low, high = np.quantile(good, [(1 - level) / 2, (1 + level) / 2], method="linear")
    return Interval(float(low), float(high), level, method)


def two_sided_p(draws: Floats, value: float = 0.0) -> float | None:
    """Twice the share of resampled values on the smaller side of `value`, at least 2 / (resamples + 1)."""
    good = draws[np.isfinite(draws)]
    if not len(good):
        return None
    smaller = min(int(np.sum(good <= value)), int(np.sum(good >= value)))
    return min(1.0, 2 * (smaller + 1) / (len(good) + 1))
