"""A gap between two traced modes by subtraction, by the traces' walls and by the ledgers' terms. Room: evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kerntrace.evidence.crosscheck import DISAGREE, INCONCLUSIVE, TOLERANCE, CrossCheck, Difference, cross_check, judged
from kerntrace.evidence.effects import EFFECTS, CellFigures
from kerntrace.evidence.same_kernels import WorkCheck
from kerntrace.evidence.traced import TracedFigures
from kerntrace.stats.interval import of_draws


@dataclass(frozen=True, slots=True)
class GapCheck:
    """A gap by all three ways, ns a step.

    Attributes:
        subtraction: untraced; None where the cell has no untraced gap.
        terms: mode a less mode b of busy, within, between (both host-exposed) and device_gap.
        difference: the ledgers' gap less the subtraction's; its tolerance is of mode a's step.
        causes: of a disagreement, in words.
    """

    effect: str
    a: CrossCheck
    b: CrossCheck
    subtraction: float | None
    traced_wall: float
    ledger: float
    terms: dict[str, float]
    difference: Difference | None
    verdict: str
    causes: tuple[str, ...]


def gap_checks(checks: Sequence[CrossCheck], works: Sequence[WorkCheck], cells: Sequence[CellFigures]) -> tuple[GapCheck, ...]:
    """All gaps between two traced modes of one place."""
    by_place = {cell.place: cell for cell in cells}
    by_work = {(work.place, work.effect): work for work in works}
    at = {(check.traced.place, check.traced.mode): check for check in checks}
    return tuple(
        _check(effect, at[place, a], at[place, b], by_place.get(place), by_work.get((place, effect)))
        for place in sorted({place for place, _ in at})
        for effect, (a, b) in EFFECTS.items()
        if (place, a) in at and (place, b) in at
    )


def all_cross_checks(
    traced: Sequence[TracedFigures], cells: Sequence[CellFigures], seed: int, resamples: int
) -> tuple[CrossCheck, ...]:
    """Every traced cell beside the study's own figures of it."""
    by_place = {cell.place: cell for cell in cells}
    return tuple(cross_check(one, by_place.get(one.place), seed, resamples) for one in traced)


def _check(effect: str, a: CrossCheck, b: CrossCheck, cell: CellFigures | None, work: WorkCheck | None) -> GapCheck:
    found = cell.effects.get(effect) if cell else None
    terms = {name: a.traced.means[name] - b.traced.means[name] for name in ("busy", "within", "between", "device_gap")}
    difference = None
    if cell is not None and found is not None:
        arms = [cell.arms[mode] for mode in (found.a, found.b)]
        walls = arms[0].session_draws - arms[1].session_draws
        interval = of_draws(a.draws - b.draws - walls, "percentile bootstrap")
        difference = judged(a.ledger - b.ledger - found.estimate, interval, TOLERANCE * arms[0].median)
    verdict = difference.verdict if difference else INCONCLUSIVE
    return GapCheck(
        effect,
        a,
        b,
        found.estimate if found else None,
        a.traced_wall - b.traced_wall,
        a.ledger - b.ledger,
        terms,
        difference,
        verdict,
        _causes(a, b, terms["busy"], work) if verdict == DISAGREE else (),
    )


def _causes(a: CrossCheck, b: CrossCheck, busy: float, work: WorkCheck | None) -> tuple[str, ...]:
    causes = [f"{one.traced.mode}: {cause}" for one in (a, b) for cause in one.causes]
    if work is not None and not work.same:
        causes.append(
            f"different kernels: {work.moved:g} executions a step are in one mode only, GPU busy {busy / 1e6:+.3f} ms"
        )
    elif abs(busy) > TOLERANCE * a.traced.means["busy"]:
        causes.append(f"GPU busy differs by {busy / 1e6:+.3f} ms a step for the same kernels: clocks, or a warmer cache")
    return tuple(causes) or ("none of the known causes: another state of the host in the traced processes",)


def kernel_count(one: TracedFigures) -> str:
    """Kernels a steady step, with their range where it is one."""
    median, least, most = one.kernels
    return f"{median:g}" if least == most else f"{median:g} ({least:g} to {most:g})"
