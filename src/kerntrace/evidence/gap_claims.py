"""Claims about the gap: that there is one, that there is none, and that it follows S(N). Room: evidence."""

from __future__ import annotations

from collections import Counter

from kerntrace.evidence.attribution import Regression
from kerntrace.evidence.effects import GAP, PERCENTILE
from kerntrace.evidence.finding import ALPHA, Finding, Verdict, by_interval, not_testable
from kerntrace.evidence.machines import ALL, MachineFigures
from kerntrace.evidence.study_evidence import Evidence
from kerntrace.model.scheduler import SForm
from kerntrace.stats.equivalence import equivalence_of_draws
from kerntrace.stats.interval import Interval, of_draws, two_sided_p
from kerntrace.study.records import Hypothesis
from kerntrace.units import NS_PER_MS

SLOPE_TOLERANCE = 0.1  # a session that ran 1 % slower tilts a line by as much; a slope this close to 1 is 1


def own_figures(evidence: Evidence, hypothesis: Hypothesis) -> list[MachineFigures]:
    """The study's own machines with the effect that a claim is about (its setting `effect`), over all cells."""
    effect = str(hypothesis.settings.get("effect", GAP))
    return [one for one in evidence.figures if not one.store and one.grid == ALL and one.effect == effect]


def _interval(one: MachineFigures, level: float = 0.95) -> Interval | None:
    """Over sessions where there are several, else over repetitions; None for a single repetition."""
    if one.percentile is None:
        return None
    return one.session.interval(level) if one.session else of_draws(one.draws, PERCENTILE, level)


def combined(verdicts: list[Verdict]) -> Verdict:
    """Of several machines: what all of them say; one that contradicts is enough to contradict."""
    if Verdict.CONTRADICTS in verdicts:
        return Verdict.CONTRADICTS
    return Verdict.SUPPORTS if all(one is Verdict.SUPPORTS for one in verdicts) else Verdict.INCONCLUSIVE


def _in_ms(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    return Interval(interval.low / NS_PER_MS, interval.high / NS_PER_MS, interval.level, interval.method)


def _centre(one: MachineFigures) -> float:
    """The estimate that `_interval` is around, ns: of sessions' medians, averaged, the median over cells; else of all walls."""
    return one.session.centre if one.session else one.gap


def _told(one: MachineFigures, interval: Interval | None) -> str:
    beside = f" [{interval.low / NS_PER_MS:.3f}, {interval.high / NS_PER_MS:.3f}]" if interval else ""
    pooled = f", {one.gap / NS_PER_MS:.3f} ms with all sessions as one sample" if one.session else ""
    return f"{one.gpu}: {_centre(one) / NS_PER_MS:.3f} ms{beside} over {one.cells} cells{pooled}"


def _one_session(figures: list[MachineFigures]) -> str:
    alone = ", ".join(one.gpu for one in figures if one.session is None)
    return f"; {alone}: fewer than two sessions a mode, so it holds for these processes only" if alone else ""


def _outcomes(evidence: Evidence, effect: str) -> str:
    counts = Counter(cell.effects[effect].outcome for cell in evidence.cells if effect in cell.effects)
    return "cells by outcome: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))


def gap_positive(hypothesis: Hypothesis, evidence: Evidence) -> Finding:
    """The median gap over cells is above zero on every machine; the machine with the least gap is reported."""
    figures = own_figures(evidence, hypothesis)
    usable = [one for one in figures if _interval(one) is not None]
    if not usable:
        return not_testable(hypothesis, "needs cells with two repetitions in both modes")
    verdicts, p_values = [], []
    for one in usable:
        interval = _interval(one)
        assert interval is not None  # chosen above
        verdicts.append(by_interval(interval.low > 0, interval.high < 0))
        p_values.append(one.session.p() if one.session else two_sided_p(one.draws) or 1.0)
    weakest = min(usable, key=_centre)
    interval = _interval(weakest)
    assert interval is not None
    reason = "; ".join(_told(one, _interval(one)) for one in usable) + f" ({interval.method})" + _one_session(usable)
    return Finding(
        hypothesis,
        combined(verdicts),
        _centre(weakest) / NS_PER_MS,
        "ms",
        "derived",
        _in_ms(interval),
        reason,
        max(p_values),
        details=(_outcomes(evidence, weakest.effect),),
    )


def kill_switch(hypothesis: Hypothesis, evidence: Evidence) -> Finding:
    """The median gap lies within the margin of zero: two one-sided tests at 5 %, the 90 % interval within the margin."""
    figures = [one for one in own_figures(evidence, hypothesis) if _interval(one, 0.9) is not None]
    if not figures:
        return not_testable(hypothesis, "needs cells with two repetitions in both modes")
    margin = NS_PER_MS * float(hypothesis.settings.get("margin_ms", evidence.how.margin_ns / NS_PER_MS))
    verdicts, p_values = [], []
    for one in figures:
        alike = equivalence_of_draws(one.draws, margin)
        p_within, p_beyond = alike.p, alike.p_beyond
        if one.session:
            p_within, p_beyond = one.session.p_within(margin), one.session.p_beyond(margin)
        verdicts.append(by_interval(p_within < ALPHA, p_beyond < ALPHA))
        p_values.append(p_beyond if verdicts[-1] is Verdict.CONTRADICTS else p_within)
    verdict = combined(verdicts)
    widest = max(figures, key=lambda one: abs(_centre(one)))
    interval = _interval(widest, 0.9)
    reason = f"margin {margin / NS_PER_MS:g} ms; " + "; ".join(_told(one, _interval(one, 0.9)) for one in figures)
    decisive = min(p_values) if verdict is Verdict.CONTRADICTS else max(p_values)
    return Finding(
        hypothesis,
        verdict,
        _centre(widest) / NS_PER_MS,
        "ms",
        "derived",
        _in_ms(interval),
        f"{reason} (90 % intervals, two one-sided tests){_one_session(figures)}",
        decisive,
        details=(_outcomes(evidence, widest.effect),),
    )


def gap_follows_residual(hypothesis: Hypothesis, evidence: Evidence) -> Finding:
    """The slope of the gap on S(N) is 1, on every machine, within `tolerance` (0.1).

    Contradicted where both intervals of the slope (resampled batch sizes; t through their means) miss 1 by more than the
    tolerance for every form of S. Supported where for the chosen form both reach it, neither holds 0, and the t interval of the
    intercept reaches 0 within the study's margin.
    """
    effect = str(hypothesis.settings.get("effect", GAP))
    form = str(hypothesis.settings.get("form", evidence.question.s_form))
    of_s = [one for one in evidence.regressions if one.target.name == effect and one.predictor.startswith("S ")]
    hosts = [machine.host.key for machine in evidence.own if any(one.target.host == machine.host.key for one in of_s)]
    verdicts, p_values, told, shown = [], [], [], None
    for host in hosts:
        usable = [one for one in of_s if one.target.host == host and one.claim and one.by_groups.slope]
        chosen = next((one for one in usable if one.predictor == f"S {form}"), None)
        if chosen is None:
            continue
        verdict, p = _follows(usable, chosen, hypothesis, evidence)
        verdicts.append(verdict)
        p_values.append(p)
        told.append(f"{evidence.gpu_of(host)}, S {form}: {_line_told(chosen)}{_undecided(verdict, usable, hypothesis)}")
        shown = shown or chosen
    if shown is None:
        known = form in [one.value for one in SForm]
        return not_testable(hypothesis, "a slope on S(N) needs the gap at three batch sizes" if known else f"no form {form!r}")
    verdict = combined(verdicts)
    against = [p for p, said in zip(p_values, verdicts) if said is Verdict.CONTRADICTS]
    others = [f"{one.predictor}: {_line_told(one)}" for one in of_s if one.target.host == shown.target.host]
    others += [  # a scheduler's time shows in the trace between steps, where no forward runs
        f"by trace: {one.target.name}, {one.predictor}: {_line_told(one)}"
        for one in evidence.regressions
        if one.target.name.startswith("between exposure") and one.predictor == shown.predictor
    ]
    return Finding(
        hypothesis,
        verdict,
        shown.line.slope,
        "ms/ms",
        "derived",
        shown.by_groups.slope,
        "; ".join(told),
        min(against) if against else max(p_values),
        details=tuple(others),
    )


def _follows(usable: list[Regression], chosen: Regression, hypothesis: Hypothesis, evidence: Evidence) -> tuple[Verdict, float]:
    """The verdict on one machine, and its p value: of a slope beyond the tolerance, or of one that is not 0."""
    tolerance = float(hypothesis.settings.get("tolerance", SLOPE_TOLERANCE))
    low, high = 1 - tolerance, 1 + tolerance
    if all(_misses(one, low, high) for one in usable):
        return Verdict.CONTRADICTS, max(min(claim.p_slope(low), claim.p_slope(high)) for one in usable if (claim := one.claim))
    claim, slope, margin = chosen.claim, chosen.by_groups.slope, evidence.how.margin_ns / NS_PER_MS
    assert claim is not None  # the caller chose such
    assert slope is not None
    reaches = not claim.slope.misses(low, high) and not slope.misses(low, high)
    rises = claim.slope.excludes(0) and slope.excludes(0)
    if reaches and rises and not claim.intercept.misses(-margin, margin):
        return Verdict.SUPPORTS, claim.p_slope(0.0)
    return Verdict.INCONCLUSIVE, 1.0


def _undecided(verdict: Verdict, usable: list[Regression], hypothesis: Hypothesis) -> str:
    """Why a slope that looks decided is not: which forms of S still reach 1."""
    if verdict is not Verdict.INCONCLUSIVE:
        return ""
    tolerance = float(hypothesis.settings.get("tolerance", SLOPE_TOLERANCE))
    reach = [one.predictor for one in usable if not _misses(one, 1 - tolerance, 1 + tolerance)]
    rule = f"; contradicted only if both intervals miss 1 by more than {tolerance:g} for every form of S"
    return f"{rule}, not so for {', '.join(reach)}" if reach else ""


def _misses(one: Regression, low: float, high: float) -> bool:
    claim, slope = one.claim, one.by_groups.slope
    return claim is not None and slope is not None and claim.slope.misses(low, high) and slope.misses(low, high)


def _line_told(one: Regression) -> str:
    interval = one.by_groups.slope
    beside = f" [{interval.low:.2f}, {interval.high:.2f}]" if interval else ""
    return (
        f"slope {one.line.slope:.2f}{beside}, intercept {one.line.intercept:.2f} ms, R2 {one.line.r2:.2f}, r {one.line.r:.2f}"
    )
