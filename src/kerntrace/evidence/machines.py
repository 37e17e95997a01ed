"""Figures of a machine over a grid of cells: medians over cells, each kind of ratio named. Room: evidence.

Four intervals, which answer different questions. `percentile` and `session` hold for exactly these cells (another repetition,
another start of the engine); `cells` draws cells as well and speaks of cells like these; `hierarchical` redraws sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerntrace.evidence.effects import EFFECTS, HIERARCHICAL, PERCENTILE, ArmFigures, CellFigures
from kerntrace.stats.bootstrap import stream
from kerntrace.stats.interval import Floats, Interval, of_draws
from kerntrace.stats.sessions import SessionEstimate, session_estimate

ALL, COMMON, PUBLISHED = "all", "common", "published 5x3"
OVER_CELLS = "bootstrap over cells, then repetitions"
PUBLISHED_GRID = frozenset((batch, context) for batch in (1, 2, 4, 8, 16) for context in (512, 2048, 8192))

Grid = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class MachineFigures:
    """One effect over a grid on one machine; times in ns a step.

    Attributes:
        store: which study's store the machine is of; empty for the study reported.
        grid: `all` its cells, those `common` to all machines, or the `published 5x3`.
        median_a, median_b: medians over cells of the two modes' steps.
        gap: median over cells of a - b.
        benefit_median_of_ratios: median over cells of (a - b) / a.
        benefit_ratio_of_medians: gap / median_a.
        least, greatest: the cells (batch, context) with the smallest and the largest gap.
        draws: (resamples,) of the gap, sessions redrawn where there are several.
    """

    store: str
    host: str
    gpu: str
    grid: str
    effect: str
    cells: int
    median_a: float
    median_b: float
    gap: float
    percentile: Interval | None
    hierarchical: Interval | None
    session: SessionEstimate | None
    over_cells: Interval | None
    benefit_median_of_ratios: float
    benefit_median_of_ratios_interval: Interval | None
    benefit_ratio_of_medians: float
    benefit_ratio_of_medians_interval: Interval | None
    least: tuple[int, int]
    greatest: tuple[int, int]
    draws: Floats


def machine_figures(
    cells: Sequence[CellFigures], gpu: str, grids: dict[str, Grid | None], seed: int, store: str = ""
) -> tuple[MachineFigures, ...]:
    """A machine's figures for every grid that it has cells of, and every effect.

    Args:
        cells: of one host.
        grids: cells by the grid's name; None for all cells.
    """
    found = []
    for grid, chosen in grids.items():
        for effect in EFFECTS:
            mine = [
                cell
                for cell in cells
                if effect in cell.effects and (chosen is None or (cell.place.batch, cell.place.context) in chosen)
            ]
            if mine:
                found.append(_over(mine, gpu, grid, effect, seed, store))
    return tuple(found)


def _over(cells: list[CellFigures], gpu: str, grid: str, effect: str, seed: int, store: str) -> MachineFigures:
    host = cells[0].place.host
    a, b = ([cell.arms[mode] for cell in cells] for mode in EFFECTS[effect])
    of_a, of_b = (np.array([arm.median for arm in arms]) for arms in (a, b))
    draws_a, draws_b = (np.stack([arm.draws for arm in arms], axis=1) for arms in (a, b))
    gaps, by_cell = of_a - of_b, draws_a - draws_b
    gap = float(np.median(gaps))
    several, enough = all(arm.sessions > 1 for arm in (*a, *b)), all(arm.repetitions > 1 for arm in (*a, *b))
    session_draws = np.stack([x.session_draws - y.session_draws for x, y in zip(a, b)], axis=1)
    places = [(cell.place.batch, cell.place.context) for cell in cells]
    ratio_draws = np.median(by_cell, axis=1) / np.median(draws_a, axis=1)
    return MachineFigures(
        store,
        host,
        gpu,
        grid,
        effect,
        len(cells),
        float(np.median(of_a)),
        float(np.median(of_b)),
        gap,
        of_draws(np.median(by_cell, axis=1), PERCENTILE) if enough else None,
        of_draws(np.median(session_draws, axis=1), HIERARCHICAL) if several else None,
        sessions_of_gap(a, b),
        of_draws(_over_cells(by_cell, seed, store, host, grid, effect), OVER_CELLS) if len(cells) > 2 else None,
        float(np.median(gaps / of_a)),
        of_draws(np.median(by_cell / draws_a, axis=1), PERCENTILE) if enough else None,
        gap / float(np.median(of_a)),
        of_draws(ratio_draws, PERCENTILE) if enough else None,
        places[int(np.argmin(gaps))],
        places[int(np.argmax(gaps))],
        np.median(session_draws if several else by_cell, axis=1),
    )


def sessions_of_gap(a: Sequence[ArmFigures], b: Sequence[ArmFigures]) -> SessionEstimate | None:
    """The jackknife over sessions of the median over cells of a - b; only sessions that have all cells count."""
    arms = [_whole_sessions(arms) for arms in (a, b)]
    if any(len(arm) < 2 for arm in arms):
        return None
    return session_estimate(arms, lambda means: float(np.median(means[0] - means[1])))


def _whole_sessions(arms: Sequence[ArmFigures]) -> Floats:
    """(sessions, cells) medians of the sessions that every cell has."""
    shared = set.intersection(*(set(arm.session_medians) for arm in arms))
    return np.array([[arm.session_medians[s] for arm in arms] for s in sorted(shared)]).reshape(len(shared), len(arms))


def _over_cells(by_cell: Floats, *names: object) -> Floats:
    """(resamples,) medians over drawn cells, each cell with the resample's own gap."""
    seed, *rest = names
    resamples, count = by_cell.shape
    drawn = stream(int(str(seed)), "cells", *rest).integers(0, count, (resamples, count))
    medians: Floats = np.median(np.take_along_axis(by_cell, drawn, 1), axis=1)
    return medians
