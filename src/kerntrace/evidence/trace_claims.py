"""Claims that a trace decides: the same kernels in both modes, and a dispatch floor within the step. Room: evidence."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from kerntrace.evidence.crosscheck import CrossCheck
from kerntrace.evidence.effects import GAP, GRAPHS
from kerntrace.evidence.finding import Finding, Verdict, by_interval, not_testable
from kerntrace.evidence.rivals import LABELS, Contest
from kerntrace.evidence.study_evidence import Evidence
from kerntrace.stats.bootstrap import stream
from kerntrace.stats.interval import Floats, Interval, of_draws
from kerntrace.stats.rivals import BOTH, FLOOR
from kerntrace.study.records import Hypothesis

_SURE = 0.95
_HALF = 0.5


def same_kernels(hypothesis: Hypothesis, evidence: Evidence) -> Finding:
    """Every traced cell ran the same families the same number of times a step in both modes of the effect."""
    effect = str(hypothesis.settings.get("effect", GAP))
    works = [one for one in evidence.works if one.effect == effect]
    if not works:
        return not_testable(hypothesis, "no cell was traced in both modes")
    differ = [one for one in works if not one.same]
    worst = max(works, key=lambda one: one.moved)
    told = f"{len(works) - len(differ)} of {len(works)} traced cells ran the same families the same number of times"
    if differ:
        names = ", ".join(f"{one.family} {one.count_a:g} -> {one.count_b:g}" for one in worst.changes[:4])
        at = f"batch {worst.place.batch} context {worst.place.context}"
        told += f"; at {at} {worst.kernels_a:g} kernels in {worst.a}, {worst.kernels_b:g} in {worst.b}: {names}"
    beside = [one for one in evidence.works if one.effect == GRAPHS and effect != GRAPHS]
    same = sum(one.same for one in beside)
    details = (f"eager and graph-nocompile: the same in {same} of {len(beside)} traced cells",) if beside else ()
    verdict = Verdict.CONTRADICTS if differ else Verdict.SUPPORTS
    return Finding(hypothesis, verdict, worst.moved, "kernels a step", "measured", None, told, details=details)


def dispatch_floor(hypothesis: Hypothesis, evidence: Evidence) -> Finding:
    """The gap has a floor's shape, max(0, D - T_gpu), and the host-exposed time lies within the step.

    Supported where a rival with a floor is chosen in 95 % of redrawn studies and more than half of the exposed time of eager
    steps is within the step even when all that tracing adds is taken off it; contradicted where another rival is so sure, or
    less than half is within as traced. Walls alone or traces alone can contradict, not support.
    """
    effect = str(hypothesis.settings.get("effect", GAP))
    form = str(hypothesis.settings.get("form", evidence.question.s_form))
    contests = [one for one in evidence.contests if one.target.name == effect and one.form == form]
    eager = [one for one in evidence.checks if one.traced.mode == "eager" and one.traced.within_share is not None]
    if not contests and not eager:
        return not_testable(hypothesis, "needs the gap in four cells, or a traced eager cell")
    shares = [_floor_share(one) for one in contests]
    least, least_interval = _within(eager, evidence, less_dilation=True)
    traced, traced_interval = _within(eager, evidence, less_dilation=False)
    known = [share for share in shares if share is not None]
    yes = bool(known) and min(known) >= _SURE and least_interval is not None and least_interval.low > _HALF
    no = any(share <= 1 - _SURE for share in known) or (traced_interval is not None and traced_interval.high < _HALF)
    told = [_contest_told(evidence, one, share) for one, share in zip(contests, shares)]
    told += [_within_told(traced, least)]
    floor = next((fit for one in contests for fit in one.fits if fit.rival == FLOOR), None)
    figure = (least, "fraction", least_interval)
    if least is None and floor is not None:
        figure = (floor.floor, "ms", floor.floor_interval)
    estimate, unit, interval = figure
    return Finding(
        hypothesis, by_interval(yes, no), estimate, unit, "derived", interval, "; ".join(told), details=_choices(evidence)
    )


def _choices(evidence: Evidence) -> tuple[str, ...]:
    """For each machine and effect, which rival was chosen under which forms of S."""
    forms: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for one in evidence.contests:
        forms[one.target.host, one.target.name, one.chosen].append(one.form)
    return tuple(
        f"{evidence.gpu_of(host)}, {effect}: {LABELS[chosen]} chosen with S {', '.join(found)}"
        for (host, effect, chosen), found in forms.items()
    )


def _within_told(traced: float | None, least: float | None) -> str:
    if traced is None or least is None:
        return "no eager trace"
    told = f"{100 * traced:.1f} % of eager host-exposed time is within the step as traced"
    return f"{told}, {100 * least:.1f} % if all that tracing adds lies there"


def _floor_share(contest: Contest) -> float | None:
    """In what share of redrawn studies a rival with a floor was chosen; None where they could not be redrawn."""
    shares = [fit.chosen_share for fit in contest.fits if fit.rival in (FLOOR, BOTH)]
    return None if None in shares else sum(share for share in shares if share is not None)


def _contest_told(evidence: Evidence, one: Contest, share: float | None) -> str:
    errors = ", ".join(f"{LABELS[fit.rival]} {fit.left_out_rmse:.3f}" for fit in one.fits)
    gpu = evidence.gpu_of(one.target.host)
    often = f", a floor in {100 * share:.0f} % of redraws" if share is not None else ""
    return f"{gpu}: {LABELS[one.chosen]} chosen{often} (left-out error, ms: {errors})"


def _within(eager: list[CrossCheck], evidence: Evidence, *, less_dilation: bool) -> tuple[float | None, Interval | None]:
    """The median over traced eager cells of the share within the step, and its interval by resampling cells and steps.

    Args:
        less_dilation: the ledger's excess over the untraced step is taken off the time within: the least the share can be.

    Returns:
        None, None where no eager cell was traced.
    """
    if not eager:
        return None, None
    rng, resamples = stream(evidence.how.seed, "within share"), evidence.how.resamples
    points, drawn = [], []
    for one in eager:
        traced = one.traced
        excess = one.against_untraced.estimate if less_dilation and one.against_untraced else 0.0
        picked = rng.integers(0, traced.steps, (resamples, traced.steps))
        within, between = (traced.values[part][picked].mean(axis=1) for part in ("within", "between"))
        drawn.append(_share(within - max(0.0, excess), between))
        means = [traced.values[part].mean(keepdims=True) for part in ("within", "between")]
        points.append(float(_share(means[0] - max(0.0, excess), means[1])[0]))
    table = np.stack(drawn, axis=1)
    cells = rng.integers(0, len(eager), table.shape)
    drawn_medians = np.median(np.take_along_axis(table, cells, 1), axis=1)
    return float(np.median(points)), of_draws(drawn_medians, "bootstrap over cells, then steps")


def _share(within: Floats, between: Floats) -> Floats:
    within = np.maximum(within, 0.0)
    share: Floats = within / np.maximum(within + between, 1e-9)
    return share
