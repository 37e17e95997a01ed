"""A straight line through few cells, with intervals that know the cells come in groups. Room: stats | hardware | workload.

A predictor that depends on the batch size alone has as many distinct values as there are batch sizes, however many contexts
were measured. The naive p value of such a regression is too small. So there are intervals by resampling whole groups, and a
t interval through the groups' means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.stats.interval import LEVEL, Floats, Interval, of_draws

Index = npt.NDArray[np.int64]
_FEWEST_GROUPS = 3


@dataclass(frozen=True, slots=True)
class Line:
    """y = intercept + slope x by least squares.

    Attributes:
        r: correlation; NaN where y does not vary. r2 is its square.
        rss: residual sum of squares.
    """

    slope: float
    intercept: float
    r: float
    rss: float

    @property
    def r2(self) -> float:
        return self.r**2


def line(x: Floats, y: Floats) -> Line | None:
    """The least-squares line; None where x has fewer than two distinct values."""
    if len(x) < 2 or np.ptp(x) == 0:
        return None
    slope, intercept, r = (float(part[0]) for part in lines(x, y[None, :], np.ones((1, len(x)))))
    return Line(slope, intercept, r, float(np.sum((y - intercept - slope * x) ** 2)))


def lines(x: Floats, y: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Many weighted least-squares lines at once.

    Args:
        x: (n,). y: (lines or 1, n). weight: (lines or 1, n), not negative.

    Returns:
        slope, intercept, correlation, each (lines,); NaN where a line is not determined.
    """
    total = weight.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        x_mean = (weight * x).sum(axis=1) / total
        y_mean = (weight * y).sum(axis=1) / total
        dx, dy = x - x_mean[:, None], y - y_mean[:, None]
        sxx, sxy, syy = (weight * dx * dx).sum(1), (weight * dx * dy).sum(1), (weight * dy * dy).sum(1)
        flat = sxx <= 1e-12 * np.maximum(1e-300, total * np.square(x).max())
        slope = np.where(flat, np.nan, sxy / sxx)
        r = np.where(flat | (syy <= 0), np.nan, sxy / np.sqrt(sxx * syy))
    return slope, y_mean - slope * x_mean, r


@dataclass(frozen=True, slots=True)
class LineIntervals:
    """Intervals of a line's slope, intercept and correlation; None where they cannot be had."""

    slope: Interval | None
    intercept: Interval | None
    r: Interval | None


def resampled_groups(x: Floats, y: Floats, group: Index, rng: np.random.Generator, resamples: int) -> LineIntervals:
    """Percentile intervals by drawing whole groups with replacement; needs three groups."""
    labels, which = np.unique(group, return_inverse=True)
    if len(labels) < _FEWEST_GROUPS:
        return LineIntervals(None, None, None)
    drawn = rng.integers(0, len(labels), (resamples, len(labels)))
    counts = (drawn[:, :, None] == np.arange(len(labels))).sum(axis=1)
    slope, intercept, r = lines(x, y[None, :], counts[:, which].astype(np.float64))
    method = "bootstrap over groups of cells"
    return LineIntervals(of_draws(slope, method), of_draws(intercept, method), of_draws(r, method))


def redrawn_values(x: Floats, draws: Floats) -> LineIntervals:
    """Percentile intervals given the cells: only the measured values are redrawn, (resamples, n)."""
    slope, intercept, r = lines(x, draws, np.ones((1, len(x))))
    method = "bootstrap over repetitions"
    return LineIntervals(of_draws(slope, method), of_draws(intercept, method), of_draws(r, method))


@dataclass(frozen=True, slots=True)
class Claim:
    """The test of a line's slope and intercept through the groups' means.

    Attributes:
        slope, intercept: t intervals, with as many degrees of freedom as there are groups less two.
        fitted, error, free: the slope, its standard error and its degrees of freedom.
        p: of the F test that slope and intercept both have the claimed values; None where the means lie on the line.
    """

    slope: Interval
    intercept: Interval
    fitted: float
    error: float
    free: int
    p: float | None

    def p_slope(self, value: float) -> float:
        """Two-sided, that the slope is another than `value`."""
        from scipy import stats

        if self.error == 0:
            return 0.0 if self.fitted != value else 1.0
        return float(2 * stats.t.sf(abs(self.fitted - value) / self.error, self.free))


def through_means(x: Floats, y: Floats, group: Index, claimed: tuple[float, float], level: float = LEVEL) -> Claim | None:
    """The line through groups' means, each counted once; None with fewer than three distinct values of x.

    Args:
        claimed: (slope, intercept).
    """
    from scipy import stats

    _, which, sizes = np.unique(group, return_inverse=True, return_counts=True)
    xs, ys = np.bincount(which, x) / sizes, np.bincount(which, y) / sizes
    if len(np.unique(xs)) < _FEWEST_GROUPS:
        return None
    fit = stats.linregress(xs, ys)
    free = len(xs) - 2
    reach = float(stats.t.ppf((1 + level) / 2, free))
    method = "t through groups' means"
    slope = Interval(float(fit.slope - reach * fit.stderr), float(fit.slope + reach * fit.stderr), level, method)
    beside = reach * fit.intercept_stderr
    intercept = Interval(float(fit.intercept - beside), float(fit.intercept + beside), level, method)
    rss = float(np.sum((ys - fit.intercept - fit.slope * xs) ** 2))
    claimed_rss = float(np.sum((ys - claimed[1] - claimed[0] * xs) ** 2))
    if rss <= 1e-20 * float(np.sum(ys**2)):
        return Claim(slope, intercept, float(fit.slope), float(fit.stderr), free, None)
    p = float(stats.f.sf((claimed_rss - rss) / 2 / (rss / free), 2, free))
    return Claim(slope, intercept, float(fit.slope), float(fit.stderr), free, p)


@dataclass(frozen=True, slots=True)
class Robust:
    """Slopes that a few odd cells do not move.

    Attributes:
        theil_sen: median of pairwise slopes, with its interval; None where x has too many ties for one.
        siegel: median of each point's median slope.
    """

    theil_sen: float
    theil_sen_interval: Interval | None
    siegel: float


def robust(x: Floats, y: Floats, level: float = LEVEL) -> Robust | None:
    """Theil-Sen and Siegel slopes; None where x has fewer than two distinct values."""
    from scipy import stats

    if len(np.unique(x)) < 2:
        return None
    with np.errstate(invalid="ignore"):  # few cells at few batch sizes: ties leave its variance negative
        found = stats.theilslopes(y, x, alpha=level)
    known = np.isfinite(found.low_slope) and np.isfinite(found.high_slope)
    apart = Interval(float(found.low_slope), float(found.high_slope), level, "Theil-Sen") if known else None
    # Siegel's slope needs distinct x for every pair of a point; points of equal x are left out of its pairs.
    slopes = []
    for i in range(len(x)):
        other = x != x[i]
        slopes.append(np.median((y[other] - y[i]) / (x[other] - x[i])))
    return Robust(float(found.slope), apart, float(np.median(slopes)))


@dataclass(frozen=True, slots=True)
class Partial:
    """y = intercept + first x1 + second x2 by least squares, with intervals by resampling groups."""

    first: float
    second: float
    first_interval: Interval | None
    second_interval: Interval | None
    r2: float


def partial(x1: Floats, x2: Floats, y: Floats, group: Index, rng: np.random.Generator, resamples: int) -> Partial | None:
    """Two predictors at once; None where they do not determine a plane."""
    design = np.stack([np.ones_like(x1), x1, x2], axis=1)
    if len(y) < 4 or np.linalg.matrix_rank(design) < 3:
        return None
    fitted = np.linalg.lstsq(design, y, rcond=None)[0]
    total = float(np.sum((y - y.mean()) ** 2))
    r2 = 1 - float(np.sum((y - design @ fitted) ** 2)) / total if total > 0 else float("nan")
    labels, which = np.unique(group, return_inverse=True)
    if len(labels) < _FEWEST_GROUPS:
        return Partial(float(fitted[1]), float(fitted[2]), None, None, r2)
    drawn = rng.integers(0, len(labels), (resamples, len(labels)))
    weight = (drawn[:, :, None] == np.arange(len(labels))).sum(axis=1)[:, which].astype(np.float64)
    normal = np.einsum("rn,ni,nj->rij", weight, design, design)
    right = np.einsum("rn,ni,n->ri", weight, design, y)
    good = np.linalg.cond(normal) < 1e12
    slopes = np.full((resamples, 3), np.nan)
    slopes[good] = np.linalg.solve(normal[good], right[good][:, :, None])[:, :, 0]
    method = "bootstrap over groups of cells"
    intervals = of_draws(slopes[:, 1], method), of_draws(slopes[:, 2], method)
    return Partial(float(fitted[1]), float(fitted[2]), *intervals, r2)
