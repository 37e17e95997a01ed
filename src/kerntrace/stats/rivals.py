"""Four shapes that a gap between two step times may have over a grid, fitted exactly and compared by leaving cells out.

    constant   gap = c
    residual   gap = a S
    floor      gap = max(0, D - T)              T: the GPU's time of the cell
    floor+residual   gap = max(0, D - T) + a S

Least squares. The floor's sum of squares is smooth while the set of cells with T < D does not change, so every such set is
solved and the best is taken: no starting values, no iterations. Room: stats | hardware | workload.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.stats.interval import Floats

CONSTANT, RESIDUAL, FLOOR, BOTH = "constant", "residual", "floor", "floor+residual"
RIVALS = (CONSTANT, RESIDUAL, FLOOR, BOTH)
PARAMETERS = {CONSTANT: 1, RESIDUAL: 1, FLOOR: 1, BOTH: 2}


@dataclass(frozen=True, slots=True)
class Fit:
    """Fits of one rival to many data sets; every array is (sets,).

    Attributes:
        constant: c; zero for other rivals. floor: D; zero where there is none. slope: a; zero where there is none.
    """

    constant: Floats
    floor: Floats
    slope: Floats

    def at(self, time: Floats, residual: Floats, rival: str) -> Floats:
        """Predicted gaps, (sets, n)."""
        found = self.constant[:, None] + self.slope[:, None] * residual
        if rival in (FLOOR, BOTH):
            found = found + np.maximum(0.0, self.floor[:, None] - time)
        return found


def fit(rival: str, gap: Floats, time: Floats, residual: Floats, weight: Floats) -> Fit:
    """Fit a rival to many data sets at once.

    Args:
        gap, time, weight: (sets, n). residual: S, (n,). Any one time unit.
        weight: 0 leaves a cell out.
    """
    sets = len(gap)
    none = np.zeros(sets)
    if rival == CONSTANT:
        return Fit((weight * gap).sum(1) / weight.sum(1), none, none)
    if rival == RESIDUAL:
        return Fit(none, none, (weight * gap * residual).sum(1) / (weight * residual**2).sum(1))
    floor, slope = _fit_floor(gap, time, residual, weight, with_slope=rival == BOTH)
    return Fit(none, floor, slope)


def _fit_floor(gap: Floats, time: Floats, residual: Floats, weight: Floats, *, with_slope: bool) -> tuple[Floats, Floats]:
    """The best (D, a) of every data set: the k cells of least time are those below the floor, for every k from 1 to n."""
    order = np.argsort(time, axis=1)
    t, y, w = (np.take_along_axis(part, order, 1) for part in (time, gap, weight))
    s = residual[order]
    above = np.concatenate([t[:, 1:], np.full((len(t), 1), np.inf)], axis=1)

    def to(part: Floats) -> Floats:
        found: Floats = np.cumsum(part, axis=1)
        return found

    # Of the k cells below the floor: y + T = D + a S. Of the others: y = a S.
    n, sd, target = to(w), to(w * s), to(w * (y + t))
    n = np.maximum(n, 1e-12)
    if not with_slope:
        floor = np.clip(target / n, t, above)
        slope = np.zeros_like(floor)
    else:
        ss = (w * s * s).sum(1)[:, None]
        sy = to(w * s * (y + t)) + (w * s * y).sum(1)[:, None] - to(w * s * y)
        determinant = n * ss - sd**2
        with np.errstate(divide="ignore", invalid="ignore"):
            free = (ss * target - sd * sy) / determinant
        free = np.where(determinant > 1e-9 * n * ss, free, target / n)
        floor = np.clip(free, t, above)
        slope = (sy - sd * floor) / ss  # the best slope for that floor
    guess = np.maximum(0.0, floor[:, :, None] - t[:, None, :]) + slope[:, :, None] * s[:, None, :]
    error = (w[:, None, :] * (y[:, None, :] - guess) ** 2).sum(2)
    best = np.argmin(error, axis=1)[:, None]
    return np.take_along_axis(floor, best, 1)[:, 0], np.take_along_axis(slope, best, 1)[:, 0]


def left_out_errors(rival: str, gap: Floats, time: Floats, residual: Floats) -> Floats:
    """Each cell's error when the rival was fitted to all other cells.

    Args:
        gap, time: (sets, n) or (n,). residual: (n,).

    Returns:
        (sets, n): gap less predicted gap.
    """
    gap, time = np.atleast_2d(gap), np.atleast_2d(time)
    sets, n = gap.shape
    weight = np.broadcast_to(1.0 - np.eye(n), (sets, n, n)).reshape(-1, n)
    many_gap, many_time = (np.repeat(part, n, axis=0) for part in (gap, time))
    found = fit(rival, many_gap, many_time, residual, weight).at(many_time, residual, rival)
    diagonal: npt.NDArray[np.float64] = found.reshape(sets, n, n)[:, np.arange(n), np.arange(n)]
    return gap - diagonal


def simplest_of_best(errors: dict[str, Floats]) -> list[str]:
    """For each data set the rival of least left-out error; or one with fewer parameters whose squared errors are higher by no
    more than one standard error of the difference.

    Args:
        errors: (sets, n) left-out errors by rival.
    """
    names = sorted(errors, key=lambda name: PARAMETERS[name])
    squares = np.stack([errors[name] ** 2 for name in names])
    count = squares.shape[2]
    means = squares.mean(axis=2)
    best = np.argmin(means, axis=0)
    more = squares - np.take_along_axis(squares, best[None, :, None], axis=0)
    near = more.mean(axis=2) <= more.std(axis=2, ddof=1) / count**0.5
    parameters = np.array([PARAMETERS[name] for name in names])
    allowed = near & (parameters[:, None] < parameters[best])
    allowed[best, np.arange(len(best))] = True
    # Fewest parameters first, then least error.
    fewest = np.where(allowed, parameters[:, None], parameters.max() + 1).min(axis=0)
    ranked = np.where(allowed & (parameters[:, None] == fewest), means, np.inf)
    return [names[i] for i in np.argmin(ranked, axis=0)]
