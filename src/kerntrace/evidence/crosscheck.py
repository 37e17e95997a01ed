"""Three figures for one step, and whether they agree: subtraction, the trace's wall, and the ledger's sum. Room: evidence.

    subtraction   (wall(g) - wall(1)) / (g - 1), untraced
    traced wall   the window of a steady decode step on the device's clock, mean
    ledger        busy + host_exposed + device_gap of those steps: the wall less the profiler's own and unattributed time

The traced process is one more session: where the study's sessions differ, by that much may it, and the intervals say so. The
trace's figures are means over steady steps, as a subtraction is one over the steps of a call: on a host that stumbles, medians
would be below it. They hold the recorder's cost, the subtraction does not. Dilation, the subtraction of traced calls over that
of untraced ones, tells how much. So agreement is looked for twice: of the trace with the subtraction as it stands, and with the
subtraction of the same traced calls, where dilation is on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kerntrace.evidence.effects import ArmFigures, CellFigures
from kerntrace.evidence.traced import METHOD, TracedFigures, mean_draws, sum_of
from kerntrace.stats.bootstrap import median_steps, stream
from kerntrace.stats.interval import Floats, Interval, of_draws

AGREE, DISAGREE, INCONCLUSIVE = "agree", "disagree", "inconclusive"
TOLERANCE = 0.02  # of the step: closer than this is agreement
LEAK = 0.05  # of decoding steps: more that do not decode the whole batch spoil a subtraction


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure less another, ns a step.

    Attributes:
        tolerance: differences within it are agreement.
        verdict: `agree` where the interval lies within the tolerance, `disagree` where it lies outside, else `inconclusive`.
    """

    estimate: float
    interval: Interval | None
    tolerance: float
    verdict: str


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """One mode of one traced cell; ns a step, None where a figure cannot be had.

    Attributes:
        subtraction: untraced, of `subtraction_of`: the study's own walls, or those timed beside the trace.
        traced_subtraction: the same of the traced calls.
        dilation: traced_subtraction / subtraction.
        against_untraced: ledger less subtraction. against_traced: ledger less traced_subtraction.
        leak: share of the decoding steps that were mixed with prefill or decoded fewer sequences.
        verdict: of the three figures together.
        causes: of a disagreement, in words with their size.
        draws: (resamples,) ns of the ledger, as another session would have it.
    """

    traced: TracedFigures
    subtraction: float | None
    subtraction_interval: Interval | None
    subtraction_of: str
    traced_wall: float
    ledger: float
    ledger_interval: Interval | None
    traced_subtraction: float | None
    dilation: float | None
    dilation_interval: Interval | None
    against_untraced: Difference | None
    against_traced: Difference | None
    leak: float | None
    verdict: str
    causes: tuple[str, ...]
    draws: Floats


def cross_check(traced: TracedFigures, cell: CellFigures | None, seed: int, resamples: int) -> CrossCheck:
    """Put the three figures of one traced cell side by side.

    Args:
        cell: the study's own figures of that place, if it has them.
    """
    place, divisor = traced.place, traced.tokens - 1
    names = (place.host, place.batch, place.context, traced.mode)
    untraced, draws, of = _untraced(traced, cell, divisor, seed, resamples)
    values = sum_of(traced.values[name] for name in ("busy", "host_exposed", "device_gap"))
    ledger, ledger_draws = float(values.mean()), mean_draws(values, resamples, seed, "ledger", *names)
    called, called_draws = _subtracted(traced.pairs, divisor, seed, resamples, "traced calls", *names)
    session = _of_a_session(traced, cell, seed, resamples)
    elsewhere = called_draws + session if called_draws is not None else None
    ratio = elsewhere / draws if elsewhere is not None and draws is not None and draws.min() > 0 else None
    with_untraced = _difference(ledger, ledger_draws + session, untraced, draws)
    with_traced = _difference(ledger, ledger_draws, called, called_draws)
    leak = leaked(traced)
    verdict = with_untraced.verdict if with_untraced else INCONCLUSIVE
    dilation = called / untraced if called and untraced else None
    causes = _causes(traced, with_untraced, with_traced, dilation, leak) if verdict == DISAGREE else ()
    return CrossCheck(
        traced,
        untraced,
        of_draws(draws, "percentile bootstrap") if draws is not None else None,
        of,
        traced.means["wall"],
        ledger,
        of_draws(ledger_draws, METHOD),
        called,
        dilation,
        of_draws(ratio, "percentile bootstrap") if ratio is not None else None,
        with_untraced,
        with_traced,
        leak,
        verdict,
        causes,
        ledger_draws + session,
    )


def _of_a_session(traced: TracedFigures, cell: CellFigures | None, seed: int, resamples: int) -> Floats:
    """(resamples,) ns by which one session may differ from another; zero where calls were timed beside the trace."""
    arm = cell.arms.get(traced.mode) if cell and not len(traced.beside) else None
    sigma = arm.spread.between_sessions or 0.0 if arm else 0.0
    place = traced.place
    rng = stream(seed, "the trace's session", place.host, place.batch, place.context, traced.mode)
    return sigma * rng.standard_normal(resamples)


def _untraced(
    traced: TracedFigures, cell: CellFigures | None, divisor: int, seed: int, resamples: int
) -> tuple[float | None, Floats | None, str]:
    if len(traced.beside):
        names = (traced.place.host, traced.place.batch, traced.place.context, traced.mode)
        estimate, draws = _subtracted(traced.beside, divisor, seed, resamples, "beside", *names)
        return estimate, draws, "calls timed beside the trace"
    arm: ArmFigures | None = cell.arms.get(traced.mode) if cell else None
    if arm is None:
        return None, None, "no untraced walls of this cell"
    return arm.median, arm.session_draws if arm.sessions > 1 else arm.draws, "the study's walls"


def _subtracted(pairs: Floats, divisor: int, seed: int, resamples: int, *names: object) -> tuple[float | None, Floats | None]:
    if not len(pairs):
        return None, None
    estimate = float(np.median(pairs[:, 0] - pairs[:, 1])) / divisor
    return estimate, median_steps(stream(seed, *names), pairs[:, 0], pairs[:, 1], divisor, resamples)


def _difference(a: float, a_draws: Floats, b: float | None, b_draws: Floats | None) -> Difference | None:
    if b is None or b_draws is None:
        return None
    return judged(a - b, of_draws(a_draws - b_draws, "percentile bootstrap"), TOLERANCE * abs(b))


def judged(estimate: float, interval: Interval | None, tolerance: float) -> Difference:
    """A difference with its verdict."""
    if interval is None:
        return Difference(estimate, None, tolerance, INCONCLUSIVE)
    outside = interval.low > tolerance or interval.high < -tolerance
    verdict = DISAGREE if outside else AGREE if interval.inside(-tolerance, tolerance) else INCONCLUSIVE
    return Difference(estimate, interval, tolerance, verdict)


def leaked(traced: TracedFigures) -> float | None:
    """The share of the window's decoding steps that are not decodes of the whole batch; None where there are none.

    Steps that only prefill are in both walls and cancel, so they do not count.
    """
    kinds = traced.step_kinds
    decoding = sum(count for kind, count in kinds.items() if kind.split()[0] in ("decode", "mixed"))
    return 1 - kinds.get(f"decode {traced.place.batch}", 0) / decoding if decoding else None


def _causes(
    traced: TracedFigures,
    with_untraced: Difference | None,
    with_traced: Difference | None,
    dilation: float | None,
    leak: float | None,
) -> tuple[str, ...]:
    """What can make the trace and the subtraction differ, the sizes that are known first."""
    assert with_untraced is not None  # there is a disagreement
    causes = []
    if dilation is not None and abs(dilation - 1) > TOLERANCE:
        share = 100 * (dilation - 1)
        whole = "all of it" if with_traced and with_traced.verdict == AGREE else "part of it"
        causes.append(f"dilation: traced calls take {share:+.1f} % a step, {whole}")
    if leak is not None and leak > LEAK:
        causes.append(f"prefill leak: {100 * leak:.1f} % of the window's decoding steps are no {traced.place.batch}-decodes")
    if with_traced is not None and with_traced.verdict == DISAGREE and with_traced.estimate < 0:
        causes.append(f"async tail: traced calls hold {-with_traced.estimate / 1e6:.3f} ms a step that no step's window does")
    median, least, most = traced.kernels
    if most - least > TOLERANCE * median:  # a kernel more where a block of the cache fills explains no such difference
        causes.append(f"different kernels: steady steps ran {least:g} to {most:g}")
    unknown = traced.means["wall"] - sum(traced.means[name] for name in ("busy", "host_exposed", "device_gap"))
    if unknown > TOLERANCE * traced.means["wall"]:
        causes.append(f"profiler's own and unattributed time: {unknown / 1e6:.3f} ms of the wall are in no term of the ledger")
    return tuple(causes) or ("none of the known causes: another state of the host in the traced process",)
