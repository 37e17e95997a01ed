"""A straight line through points of very different size, some of which may be wrong. Room: accounting | model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_FAR = 5.0  # times the median deviation
_WORTH_DROPPING = 0.15  # of its value: a point closer than this is kept, however well the others agree
_MOST_DROPPED = 0.25
_ROUNDS = 4

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Line:
    """y = intercept + slope x.

    Attributes:
        mape: mean of |line - y| / y over the points kept.
        outliers: positions of the points left out.
    """

    intercept: float
    slope: float
    mape: float
    outliers: tuple[int, ...]


def fit_line(x: Sequence[float], y: Sequence[float]) -> Line:
    """The line with the least squares of relative errors; points far off the others are left out, a quarter at most.

    Neither constant is below zero: a fixed time and a time a byte cannot be.

    Raises:
        ValueError: if there are fewer than two different x, or a y is not above zero.
    """
    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(np.unique(xs)) < 2 or not (ys > 0).all():
        raise ValueError(f"no line through {len(xs)} points")
    kept = np.ones(len(xs), dtype=bool)
    for _ in range(_ROUNDS):
        intercept, slope = _least_squares(xs[kept], ys[kept])
        error = np.abs((intercept + slope * xs) / ys - 1)
        limit = max(_FAR * float(np.median(error[kept])), _WORTH_DROPPING)
        worst = np.argsort(-error, kind="stable")[: int(_MOST_DROPPED * len(xs))]
        far = np.zeros(len(xs), dtype=bool)
        far[worst] = error[worst] > limit
        if len(np.unique(xs[~far])) < 2 or (kept == ~far).all():
            break
        kept = ~far
    intercept, slope = _least_squares(xs[kept], ys[kept])
    mape = float(np.mean(np.abs((intercept + slope * xs[kept]) / ys[kept] - 1)))
    return Line(intercept, slope, mape, tuple(np.flatnonzero(~kept).tolist()))


def _least_squares(x: Floats, y: Floats) -> tuple[float, float]:
    design = np.stack([1 / y, x / y], axis=1)
    intercept, slope = np.linalg.lstsq(design, np.ones(len(y)), rcond=None)[0]
    if intercept < 0:
        ratio = x / y
        return 0.0, float(ratio.sum() / (ratio**2).sum())
    if slope < 0:
        return float((1 / y).sum() / (1 / y**2).sum()), 0.0
    return float(intercept), float(slope)
