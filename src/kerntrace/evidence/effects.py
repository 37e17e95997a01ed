"""What each mode costs a step in a cell, and what one mode takes off another. Room: evidence.

Three intervals stand side by side. `percentile`: all repetitions as one sample, which holds for these processes.
`hierarchical`: sessions redrawn, then repetitions. `session`: Welch's t over the sessions' medians, which holds for another
start of the engine and decides the outcome wherever both modes have two sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerntrace.evidence.cells import Arm, Cell, Place
from kerntrace.stats.bootstrap import Index, median_steps, median_steps_by_session, pick_sessions, stream
from kerntrace.stats.equivalence import decided
from kerntrace.stats.interval import Floats, Interval, of_draws
from kerntrace.stats.location import hodges_lehmann
from kerntrace.stats.sessions import SessionEstimate, Spread, session_estimate, spread

PERCENTILE, HIERARCHICAL = "percentile bootstrap", "bootstrap over sessions, then repetitions"
GAP, GRAPHS, COMPILATION = "gap", "graphs alone", "compilation"
EFFECTS = {
    GAP: ("eager", "graph"),
    GRAPHS: ("eager", "graph-nocompile"),
    COMPILATION: ("graph-nocompile", "graph"),
    "compilation, graphs off": ("eager", "compile"),
}


@dataclass(frozen=True, slots=True)
class Resampling:
    """How figures are resampled.

    Attributes:
        margin_ns: differences within it count as none.
    """

    seed: int
    resamples: int
    margin_ns: float


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """One mode in one cell; times in ns a step, derived from measured walls.

    Attributes:
        draws, session_draws: (resamples,) medians, redrawn by repetition and by session.
        session_medians: (sessions,).
    """

    mode: str
    sessions: int
    repetitions: int
    median: float
    percentile: Interval | None
    hierarchical: Interval | None
    spread: Spread
    draws: Floats
    session_draws: Floats
    session_medians: dict[int, float]


@dataclass(frozen=True, slots=True)
class EffectFigures:
    """Mode `a` less mode `b` in one cell, ns a step.

    Attributes:
        estimate: difference of the medians.
        hodges_lehmann: median of all pairwise differences.
        benefit: estimate over the median of `a`, a fraction; benefit_of_pairs: median of all pairwise (a - b) / a.
        outcome: as `stats.equivalence.decided` says, by the interval `decided_by`.
    """

    name: str
    a: str
    b: str
    estimate: float
    percentile: Interval | None
    hierarchical: Interval | None
    session: SessionEstimate | None
    hodges_lehmann: float
    hodges_lehmann_interval: Interval | None
    benefit: float | None
    benefit_interval: Interval | None
    benefit_of_pairs: float | None
    outcome: str
    decided_by: str


@dataclass(frozen=True, slots=True)
class CellFigures:
    """All modes and effects of a cell."""

    place: Place
    arms: dict[str, ArmFigures]
    effects: dict[str, EffectFigures]


def cell_figures(cells: Sequence[Cell], how: Resampling) -> tuple[CellFigures, ...]:
    """Every cell's figures."""
    sessions: dict[tuple[str, str], set[int]] = {}
    for cell in cells:
        for mode, arm in cell.arms.items():
            sessions.setdefault((cell.place.host, mode), set()).update(arm.session.tolist())
    picked = {
        key: pick_sessions(stream(how.seed, "sessions", *key), len(found), how.resamples) for key, found in sessions.items()
    }
    return tuple(_figures(cell, how, picked) for cell in cells)


def _figures(cell: Cell, how: Resampling, picked: dict[tuple[str, str], Index]) -> CellFigures:
    arms = {mode: _arm(cell.place, arm, how, picked[cell.place.host, mode]) for mode, arm in cell.arms.items()}
    effects = {
        name: _effect(name, cell.arms[a], cell.arms[b], arms[a], arms[b], how.margin_ns)
        for name, (a, b) in EFFECTS.items()
        if a in arms and b in arms
    }
    return CellFigures(cell.place, arms, effects)


def _arm(place: Place, arm: Arm, how: Resampling, picked: Index) -> ArmFigures:
    name = (place.host, place.batch, place.context, arm.mode)
    draws = median_steps(stream(how.seed, "repetitions", *name), arm.longer, arm.shorter, arm.divisor, how.resamples)
    walls, rng = arm.by_session(), stream(how.seed, "hierarchy", *name)
    # All cells of a mode share its processes, so they share which sessions are drawn, unless this cell lacks one.
    mine = picked if picked.shape[1] == len(walls) else pick_sessions(rng, len(walls), how.resamples)
    session_draws = median_steps_by_session(rng, list(walls.values()), arm.divisor, mine)
    medians = {s: float(np.median((longer - shorter) / arm.divisor)) for s, (longer, shorter) in walls.items()}
    return ArmFigures(
        arm.mode,
        len(walls),
        len(arm.longer),
        float(np.median(arm.steps)),
        of_draws(draws, PERCENTILE) if len(arm.longer) > 1 else None,
        of_draws(session_draws, HIERARCHICAL) if len(walls) > 1 else None,
        spread(arm.steps, arm.session),
        draws,
        session_draws,
        medians,
    )


def _effect(name: str, arm_a: Arm, arm_b: Arm, a: ArmFigures, b: ArmFigures, margin: float) -> EffectFigures:
    draws = a.draws - b.draws
    shift, shift_interval = hodges_lehmann(arm_a.steps, arm_b.steps)
    both = len(a.session_medians) > 1 and len(b.session_medians) > 1
    session = over_sessions(a, b) if both else None
    main95, main90 = (session.interval(lv) if session else of_draws(draws, PERCENTILE, lv) for lv in (0.95, 0.9))
    estimate, enough = a.median - b.median, min(a.repetitions, b.repetitions) > 1
    pairs = (arm_a.steps[:, None] - arm_b.steps[None, :]) / arm_a.steps[:, None] if arm_a.steps.min() > 0 else None
    return EffectFigures(
        name,
        a.mode,
        b.mode,
        estimate,
        of_draws(draws, PERCENTILE) if enough else None,
        of_draws(a.session_draws - b.session_draws, HIERARCHICAL) if both else None,
        session,
        shift,
        shift_interval,
        estimate / a.median if a.median > 0 else None,
        of_draws(draws / a.draws, PERCENTILE) if enough and a.draws.min() > 0 else None,
        float(np.median(pairs)) if pairs is not None else None,
        decided(main95, main90, margin) if enough and main95 and main90 else "inconclusive",
        main95.method if enough and main95 else "",
    )


def over_sessions(a: ArmFigures, b: ArmFigures) -> SessionEstimate | None:
    """Welch's t of the difference, over the sessions' medians."""
    arms = [np.array(list(one.session_medians.values()))[:, None] for one in (a, b)]
    return session_estimate(arms, lambda means: float(means[0][0] - means[1][0]))
