"""Rival explanations of a gap, compared by leaving cells out. Room: evidence.

H-S: alpha S(N), a scheduler residual. H-C: a constant. H-D: max(0, D - T), a dispatch floor. H-D+S: both. All of them are given
the GPU's time T, here the graphed step, so none has an advantage: each says what the longer step is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kerntrace.evidence.attribution import Target, predictor_values
from kerntrace.model.scheduler import SForm
from kerntrace.stats.interval import Floats, Interval, of_draws
from kerntrace.stats.rivals import BOTH, CONSTANT, FLOOR, RESIDUAL, RIVALS, fit, left_out_errors, simplest_of_best

LABELS = {RESIDUAL: "H-S", CONSTANT: "H-C", FLOOR: "H-D", BOTH: "H-D+S"}
FORMULAS = {RESIDUAL: "alpha S(N)", CONSTANT: "c", FLOOR: "max(0, D - T)", BOTH: "max(0, D - T) + a S(N)"}
FEWEST = 4  # cells: with fewer, leaving one out leaves too little
_DRAWS = 200  # redrawn studies that the comparison is repeated on
_SURE = 0.95


@dataclass(frozen=True, slots=True)
class RivalFit:
    """One rival on one target and form of S; ms, and a pure number for the slope on S.

    Attributes:
        left_out_rmse: root mean square of the errors in cells that the fit did not see.
        worst: (batch, context) of the largest such error.
        chosen_share: share of redrawn studies in which this rival was chosen.
    """

    rival: str
    constant: float | None
    floor: float | None
    floor_interval: Interval | None
    slope: float | None
    slope_interval: Interval | None
    rmse: float
    left_out_rmse: float
    worst: tuple[int, int]
    chosen_share: float | None


@dataclass(frozen=True, slots=True)
class Contest:
    """All rivals on one target.

    Attributes:
        form: of S(N).
        chosen: the simplest rival whose left-out error is within one standard error of the least.
        sure: it was chosen in 95 % of redrawn studies.
    """

    target: Target
    form: str
    fits: tuple[RivalFit, ...]
    chosen: str
    sure: bool


def contests(target: Target, table: dict[int, float]) -> list[Contest]:
    """Fit and compare the rivals for every form of S; none where there are too few cells, or the GPU's time is not known."""
    if target.time is None or len(target.values) < FEWEST:
        return []
    redrawn = target.draws[:_DRAWS] if target.draws is not None else None
    # The target as measured is the first data set, the redrawn ones follow.
    gaps = np.concatenate([target.values[None, :], redrawn]) if redrawn is not None else target.values[None, :]
    times = np.broadcast_to(target.time, gaps.shape)
    errors: dict[str, Floats] = {}
    found = []
    for form in SForm:
        residual = predictor_values(f"S {form.value}", target.batch, table)
        if residual is None:
            continue
        for rival in RIVALS:
            if rival not in errors or rival in (RESIDUAL, BOTH):  # the others do not depend on S
                errors[rival] = left_out_errors(rival, gaps, times, residual)
        chosen, *again = simplest_of_best(errors)
        shares = {rival: again.count(rival) / len(again) for rival in RIVALS} if again else {}
        fits = tuple(_fit(rival, target, residual, errors[rival][0], redrawn, shares.get(rival)) for rival in RIVALS)
        found.append(Contest(target, form.value, fits, chosen, shares.get(chosen, 0.0) >= _SURE))
    return found


def _fit(
    rival: str, target: Target, residual: Floats, left_out: Floats, redrawn: Floats | None, share: float | None
) -> RivalFit:
    assert target.time is not None  # the contest has seen to that
    time, ones = target.time[None, :], np.ones((1, len(residual)))
    found = fit(rival, target.values[None, :], time, residual, ones)
    errors = target.values - found.at(time, residual, rival)[0]
    again = None
    if redrawn is not None:
        many = np.broadcast_to(time, redrawn.shape)
        again = fit(rival, redrawn, many, residual, np.ones_like(redrawn))
    has_floor, has_slope = rival in (FLOOR, BOTH), rival in (RESIDUAL, BOTH)
    worst = int(np.argmax(np.abs(left_out)))
    method = "bootstrap over repetitions"
    return RivalFit(
        rival,
        float(found.constant[0]) if rival == CONSTANT else None,
        float(found.floor[0]) if has_floor else None,
        of_draws(again.floor, method) if again is not None and has_floor else None,
        float(found.slope[0]) if has_slope else None,
        of_draws(again.slope, method) if again is not None and has_slope else None,
        float(np.sqrt(np.mean(errors**2))),
        float(np.sqrt(np.mean(left_out**2))),
        (int(target.batch[worst]), int(target.context[worst])),
        share,
    )
