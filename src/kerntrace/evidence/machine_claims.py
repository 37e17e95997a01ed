"""Claims across machines and against the model: benefit by bandwidth, and the model's level. Room: evidence."""

from __future__ import annotations

from collections import defaultdict
from math import factorial

import numpy as np

from kerntrace.errors import KerntraceError
from kerntrace.evidence.effects import EFFECTS, GAP, CellFigures
from kerntrace.evidence.finding import ALPHA, Finding, Verdict, by_interval, not_testable
from kerntrace.evidence.gap_claims import combined
from kerntrace.evidence.published import Reference
from kerntrace.evidence.study_accuracy import AccuracyFigures
from kerntrace.evidence.study_evidence import Evidence
from kerntrace.stats.bootstrap import stream
from kerntrace.stats.interval import Floats, of_draws, two_sided_p
from kerntrace.stats.trend import page_trend, rising_residual, share_in_order
from kerntrace.study.records import Hypothesis

LEVEL_MAPE = 0.10  # a model whose mean error is within 10 % of the measured step has the level right


def benefit_rises(hypothesis: Hypothesis, evidence: Evidence) -> Finding:
    """The benefit over the common cells rises with memory bandwidth, GPU by GPU; needs two GPUs that were measured.

    A published row is named beside it and counts for nothing.
    """
    effect = str(hypothesis.settings.get("effect", GAP))
    beside = _reference_told(evidence.references)
    by_gpu: dict[str, list[dict[tuple[int, int], CellFigures]]] = defaultdict(list)
    for machine in evidence.machines:
        cells = {(cell.place.batch, cell.place.context): cell for cell in machine.cells if effect in cell.effects}
        if cells:
            by_gpu[_table_name(machine.host.gpu)].append(cells)
    known = {gpu: found for gpu in by_gpu if (found := _bandwidth(gpu)) is not None}
    if len(known) < 2:
        have = ", ".join(by_gpu) or "none with this effect"
        return not_testable(hypothesis, f"needs two GPUs of known bandwidth, measured: {have}", beside)
    common = sorted(set.intersection(*(set(cells) for gpu in known for cells in by_gpu[gpu])))
    if not common:
        return not_testable(hypothesis, "the GPUs have no cell in common", beside)
    order = sorted(known, key=known.__getitem__)
    tables = [_benefits(by_gpu[gpu], common, effect) for gpu in order]
    points = np.stack([point for point, _ in tables], axis=1)
    drawn = stream(evidence.how.seed, "bandwidth").integers(0, len(common), (evidence.how.resamples, len(common)))
    medians = np.stack([np.median(np.take_along_axis(draws, drawn, 1), axis=1) for _, draws in tables], axis=1)
    return _risen(hypothesis, order, points, medians, beside)


def _risen(hypothesis: Hypothesis, order: list[str], points: Floats, medians: Floats, beside: tuple[str, ...]) -> Finding:
    in_order, at = share_in_order(medians), np.median(points, axis=0)
    page = page_trend(points)
    supports = in_order >= 1 - ALPHA / 2 and (page is None or page < ALPHA)
    contradicts = in_order <= ALPHA / 2
    p = page if page is not None else two_sided_p(medians[:, -1] - medians[:, 0])
    if contradicts:
        p = 2 * (in_order * len(medians) + 1) / (len(medians) + 1)
    told = ", ".join(f"{gpu} {100 * value:.1f} %" for gpu, value in zip(order, at))
    chance = f"by chance this order comes 1 time in {factorial(len(order))}"
    details = (
        f"share of resamples in order: {in_order:.3f}; {chance}",
        f"Page's L over {len(points)} cells: p = {page:.3g}" if page is not None else "Page's L needs three GPUs",
        f"distance from the closest rising sequence: {100 * rising_residual(at):.2f} percentage points",
        "this speaks of these machines: the host's CPU differs with the GPU, and it may be what differs",
        *beside,
    )
    interval = of_draws(medians[:, -1] - medians[:, 0], "bootstrap over cells, then repetitions")
    verdict = by_interval(supports, contradicts)
    estimate = float(at[-1] - at[0])
    return Finding(hypothesis, verdict, estimate, "fraction", "derived", interval, told, p, details=details)


def _benefits(
    machines: list[dict[tuple[int, int], CellFigures]], common: list[tuple[int, int]], effect: str
) -> tuple[Floats, Floats]:
    """(cells,) and (resamples, cells) benefits of a GPU; the mean over its machines where there are several."""
    a, b = EFFECTS[effect]
    points, draws = [], []
    for cells in machines:
        arms = [(cells[at].arms[a], cells[at].arms[b]) for at in common]
        points.append([(one.median - other.median) / one.median for one, other in arms])
        draws.append(np.stack([(one.draws - other.draws) / one.draws for one, other in arms], axis=1))
    return np.mean(points, axis=0), np.mean(draws, axis=0)


def _table_name(gpu: str) -> str:
    from kerntrace.hardware import find_gpu

    try:
        return find_gpu(gpu).name
    except KerntraceError:
        return gpu


def _bandwidth(gpu: str) -> float | None:
    from kerntrace.hardware import find_gpu

    try:
        return find_gpu(gpu).bandwidth_gb_s.nominal
    except KerntraceError:
        return None


def _reference_told(references: tuple[Reference, ...]) -> tuple[str, ...]:
    rows = [f"{' / '.join(one.gpus)} {100 * one.gap_share:.1f} %" for one in references]
    return (f"reference, published, in no figure here: {', '.join(rows)}",) if rows else ()


def model_level(hypothesis: Hypothesis, evidence: Evidence) -> Finding:
    """The mean of |predicted - measured| / measured is at most `mape` (10 %) in both modes, by the reading `reading`."""
    reading = str(hypothesis.settings.get("reading", "published"))
    limit = float(hypothesis.settings.get("mape", LEVEL_MAPE))
    own = {machine.host.gpu for machine in evidence.own}
    rows = [one for one in evidence.accuracy if one.of in ("eager", "graph") and one.gpu in own]
    rows = [one for one in rows if one.source.startswith(reading) or evidence.question.predictions]
    if {one.of for one in rows} != {"eager", "graph"} or any(one.mape_interval is None for one in rows):
        why = "; ".join(evidence.notes) or "needs measured and predicted steps of both modes in two cells"
        return not_testable(hypothesis, why)
    verdicts = [_level(one, limit) for one in rows]
    verdict = combined(verdicts)
    worst = max(rows, key=lambda one: one.accuracy.mape_of_measured)
    p_values = [two_sided_p(one.draws, limit) or 1.0 for one in rows]
    against = [p for p, said in zip(p_values, verdicts) if said is Verdict.CONTRADICTS]
    told = "; ".join(f"{one.gpu} {one.of}: MAPE {_percent(one)}, bias {100 * one.accuracy.bias:+.1f} %" for one in rows)
    return Finding(
        hypothesis,
        verdict,
        worst.accuracy.mape_of_measured,
        "fraction of measured",
        "derived",
        worst.mape_interval,
        f"limit {100 * limit:g} % of measured, {worst.source}: {told}",
        min(against) if against else max(p_values),
        details=tuple(f"{one.gpu} {one.of}: worst cell {one.worst[1]} x {one.worst[2]}" for one in rows),
    )


def _level(one: AccuracyFigures, limit: float) -> Verdict:
    assert one.mape_interval is not None  # the caller has seen to that
    return by_interval(one.mape_interval.high <= limit, one.mape_interval.low > limit)


def _percent(one: AccuracyFigures) -> str:
    interval = one.mape_interval
    beside = f" [{100 * interval.low:.1f}, {100 * interval.high:.1f}]" if interval else ""
    return f"{100 * one.accuracy.mape_of_measured:.1f} %{beside}"
