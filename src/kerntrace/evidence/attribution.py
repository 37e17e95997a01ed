"""What the gap follows: lines on S(N) and on N, with the GPU's time held fixed, and rival shapes compared. Room: evidence.

S(N) is given at two batch sizes only, so every line on it is drawn for every form of S. Times are in ms here: a slope on S is a
pure number, a slope on N is ms a sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.evidence.effects import CellFigures
from kerntrace.evidence.traced import TracedFigures
from kerntrace.model.scheduler import SForm, scheduler_ms
from kerntrace.stats.bootstrap import stream
from kerntrace.stats.interval import Floats
from kerntrace.stats.regression import (
    Claim,
    Line,
    LineIntervals,
    Partial,
    Robust,
    line,
    partial,
    redrawn_values,
    resampled_groups,
    robust,
    through_means,
)
from kerntrace.units import NS_PER_MS

BATCH = "N"
Index = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Target:
    """A figure over the cells of one machine, to be explained.

    Attributes:
        name: `gap`, `graphs alone`, `between exposure`, ...; kind says whether it is derived from walls or measured by trace.
        group: (n,), cells that a predictor of the batch size cannot tell apart: one batch size on one machine.
        values: (n,) ms. draws: (resamples, n) ms, or None where only the point values are known.
        time: (n,) ms, the GPU's time; None where it is not known for every cell.
    """

    name: str
    kind: str
    host: str
    batch: Index
    context: Index
    group: Index
    values: Floats
    draws: Floats | None
    time: Floats | None
    time_of: str


@dataclass(frozen=True, slots=True)
class Regression:
    """A target on one predictor.

    Attributes:
        predictor: `S linear`, `S log2`, ..., or `N`.
        by_groups: intervals by resampling batch sizes. by_repetitions: by redrawing walls, the cells given.
        claim: t intervals through the batch sizes' means and the test of slope 1 and intercept 0.
        with_time: the target on the predictor and the GPU's time at once.
        by_context: the line at each context alone.
    """

    target: Target
    predictor: str
    distinct: int
    line: Line
    by_groups: LineIntervals
    by_repetitions: LineIntervals | None
    claim: Claim | None
    robust: Robust | None
    with_time: Partial | None
    by_context: dict[int, Line]


def gap_target(cells: Sequence[CellFigures], effect: str, time: str = "") -> Target | None:
    """An effect over the cells of one host that have it.

    Args:
        time: the mode whose step stands for the GPU's time; the effect's own mode b if empty.
    """
    mine = [cell for cell in cells if effect in cell.effects]
    if not mine:
        return None
    found = [cell.effects[effect] for cell in mine]
    base = time or found[0].b
    gpu = [cell.arms[base].median for cell in mine if base in cell.arms]
    draws = [cell.arms[one.a].draws - cell.arms[one.b].draws for cell, one in zip(mine, found)]
    redrawn = all(one.percentile is not None for one in found)  # a single repetition has nothing to redraw from
    return Target(
        effect,
        "derived",
        mine[0].place.host,
        np.array([cell.place.batch for cell in mine]),
        np.array([cell.place.context for cell in mine]),
        np.array([cell.place.batch for cell in mine]),
        np.array([one.estimate for one in found]) / NS_PER_MS,
        np.stack(draws, axis=1) / NS_PER_MS if redrawn else None,
        np.array(gpu) / NS_PER_MS if len(gpu) == len(mine) else None,
        f"{base} step",
    )


def pooled_targets(targets: Sequence[Target]) -> list[Target]:
    """One effect over the cells of several machines: as it is, and less each machine's mean, which leaves slopes within."""
    if len(targets) < 2:
        return []
    group = np.concatenate([one.group + 1_000_000 * i for i, one in enumerate(targets)])
    draws = [one.draws for one in targets if one.draws is not None]
    times = [one.time for one in targets if one.time is not None]

    def joined(name: str, less_mean: bool) -> Target:
        shift = [one.values.mean() if less_mean else 0.0 for one in targets]
        return Target(
            f"{targets[0].name}{name}",
            targets[0].kind,
            "pooled",
            np.concatenate([one.batch for one in targets]),
            np.concatenate([one.context for one in targets]),
            group,
            np.concatenate([one.values - by for one, by in zip(targets, shift)]),
            np.concatenate([part - by for part, by in zip(draws, shift)], axis=1) if len(draws) == len(targets) else None,
            np.concatenate(times) if len(times) == len(targets) else None,
            targets[0].time_of,
        )

    return [joined("", False), joined(" less the machine's mean", True)]


def exposure_targets(traced: Sequence[TracedFigures], mode: str = "eager") -> list[Target]:
    """Host-exposed time between steps and within steps over the traced cells of one host and mode."""
    mine = [one for one in traced if one.mode == mode]
    if not mine:
        return []
    batch, context = (np.array([getattr(one.place, name) for one in mine]) for name in ("batch", "context"))
    time = np.array([one.medians["busy"] for one in mine]) / NS_PER_MS
    return [
        Target(
            f"{name} exposure, {mode}",
            "measured",
            mine[0].place.host,
            batch,
            context,
            batch,
            np.array([one.medians[name] for one in mine]) / NS_PER_MS,
            None,
            time,
            f"{mode} busy",
        )
        for name in ("between", "within")
    ]


def predictor_values(name: str, batch: Index, table: dict[int, float]) -> Floats | None:
    """A predictor at each cell; None for the form `table` where the table does not reach every batch."""
    if name == BATCH:
        return batch.astype(np.float64)
    form = SForm(name.removeprefix("S "))
    if form is SForm.TABLE and (not table or batch.min() < min(table) or batch.max() > max(table)):
        return None
    return np.array([scheduler_ms(int(n), form, table) for n in batch])


PREDICTORS = (*(f"S {form.value}" for form in SForm), BATCH)


def regress(target: Target, table: dict[int, float], seed: int, resamples: int) -> list[Regression]:
    """The target on every predictor that varies over its cells."""
    found = []
    for name in PREDICTORS:
        x = predictor_values(name, target.batch, table)
        fitted = line(x, target.values) if x is not None else None
        if x is None or fitted is None:
            continue
        names = ("regression", target.host, target.name, name)
        by_context = {
            int(c): line(x[target.context == c], target.values[target.context == c]) for c in np.unique(target.context)
        }
        found.append(
            Regression(
                target,
                name,
                len(np.unique(x)),
                fitted,
                resampled_groups(x, target.values, target.group, stream(seed, *names), resamples),
                redrawn_values(x, target.draws) if target.draws is not None else None,
                through_means(x, target.values, target.group, (1.0, 0.0)),
                robust(x, target.values),
                partial(x, target.time, target.values, target.group, stream(seed, "partial", *names), resamples)
                if target.time is not None
                else None,
                {c: one for c, one in by_context.items() if one is not None},
            )
        )
    return found
