"""Three figures for one step: when they agree, when they do not, and what a disagreement is put down to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.studies import Truth, make_study, without

from kerntrace.evidence.crosscheck import AGREE, DISAGREE, INCONCLUSIVE, CrossCheck
from kerntrace.evidence.effects import GAP, GRAPHS
from kerntrace.evidence.study_evidence import Evidence, gather
from kerntrace.study.records import Study, TracedCell, Wall

QUIET = Truth(
    batches=(1, 16),
    contexts=(512,),
    traced=((1, 512), (16, 512)),
    resamples=400,
    eager_noise=0.002,
    graph_noise=0.002,
    eager_drift=0.001,
    graph_drift=0.001,
    dilation=1.0,
)


def _traced(study: Study, **changes: object) -> Study:
    """The study with its traced cells changed."""
    return replace(
        study,
        records=tuple(replace(one, **changes) if isinstance(one, TracedCell) else one for one in study.records),  # type: ignore[arg-type]
    )


def _checks(study: Study) -> dict[tuple[str, int], CrossCheck]:
    return {(one.traced.mode, one.traced.place.batch): one for one in gather(study).checks}


def test_an_undisturbed_trace_agrees() -> None:
    evidence = gather(make_study(QUIET))
    assert {one.verdict for one in evidence.checks} == {AGREE}
    assert {one.verdict for one in evidence.gap_checks} == {AGREE}
    for one in evidence.checks:
        assert one.dilation == pytest.approx(1, abs=0.02)
        assert one.leak == 0
        assert one.causes == ()


def test_the_ledger_is_busy_exposed_and_device_gap() -> None:
    for one in gather(make_study(QUIET)).checks:
        terms = one.traced.means
        assert terms["wall"] == pytest.approx(one.ledger)
        assert one.ledger == pytest.approx(terms["busy"] + terms["host_exposed"] + terms["device_gap"])
        assert terms["host_exposed"] == pytest.approx(terms["within"] + terms["between"])


def test_a_few_long_steps_are_in_the_ledger_as_they_are_in_a_subtraction() -> None:
    """A host that stumbles in one step of eight makes a call's mean longer and leaves the median step as it was."""

    def stumbling(one: TracedCell) -> TracedCell:
        longer = tuple(value + 80_000_000 * (i % 8 == 0) for i, value in enumerate(one.terms["wall"]))
        waits = tuple(value + 80_000_000 * (i % 8 == 0) for i, value in enumerate(one.terms["host_wait"]))
        inside = tuple(value + 80_000_000 * (i % 8 == 0) for i, value in enumerate(one.within["host_wait"]))
        added = 80_000_000 * sum(i % 8 == 0 for i in range(len(longer))) / len(longer)
        return replace(
            one,
            terms=one.terms | {"wall": longer, "host_wait": waits},
            within=one.within | {"host_wait": inside},
            traced=tuple((int(g + 32 * added), f) for g, f in one.traced),
        )

    study = make_study(QUIET)
    records = tuple(stumbling(one) if isinstance(one, TracedCell) and one.mode == "eager" else one for one in study.records)
    plain, found = _checks(study)["eager", 1], _checks(replace(study, records=records))["eager", 1]
    assert found.traced.medians["wall"] == pytest.approx(plain.traced.medians["wall"], rel=0.02)
    assert found.ledger > plain.ledger + 8e6
    assert found.against_traced is not None
    assert abs(found.against_traced.estimate) < found.against_traced.tolerance
    assert not any(cause.startswith("async tail") for cause in found.causes)


def test_one_kernel_more_in_a_step_explains_no_disagreement() -> None:
    study = make_study(replace(QUIET, dilation=1.3))
    kernels = next(one.kernels for one in study.records if isinstance(one, TracedCell))
    more = _checks(_traced(study, kernels=(kernels[0] + 1, *kernels[1:])))["eager", 1]
    assert more.verdict == DISAGREE
    assert not any(cause.startswith("different kernels") for cause in more.causes)
    many = _checks(_traced(study, kernels=(2 * kernels[0], *kernels[1:])))["eager", 1]
    assert any(cause.startswith("different kernels") for cause in many.causes)


def test_dilation_is_named_and_is_all_of_it() -> None:
    found = _checks(make_study(replace(QUIET, dilation=1.3)))
    eager = found["eager", 1]
    assert eager.verdict == DISAGREE
    assert eager.dilation == pytest.approx(1.3, abs=0.03)
    assert eager.causes[0].startswith("dilation: traced calls take +")
    assert eager.causes[0].endswith("all of it")
    assert eager.against_traced is not None
    assert eager.against_traced.verdict == AGREE
    assert found["graph", 1].verdict == AGREE


def test_prefill_leak_is_the_share_of_decoding_steps_that_are_not_whole() -> None:
    study = make_study(replace(QUIET, dilation=1.3))
    leaky = _checks(_traced(study, step_kinds={"decode 16": 20, "decode 9": 4, "mixed 12": 8, "prefill 16": 50}))["eager", 16]
    assert leaky.leak == pytest.approx(12 / 32)
    assert any(cause.startswith("prefill leak: 37.5 %") for cause in leaky.causes)


def test_time_outside_every_steps_window_is_an_async_tail() -> None:
    study = make_study(QUIET)
    longer = tuple(
        replace(one, traced=tuple((int(g + 32 * 3e6), f) for g, f in one.traced)) if isinstance(one, TracedCell) else one
        for one in study.records
    )
    slower = tuple(
        replace(one, wall_ns=one.wall_ns + int(32 * 3e6)) if isinstance(one, Wall) and one.tokens == 33 else one
        for one in longer
    )
    found = _checks(replace(study, records=slower))["graph", 1]
    assert found.verdict == DISAGREE
    assert found.dilation == pytest.approx(1, abs=0.02)
    assert any(cause.startswith("async tail: traced calls hold 3.0") for cause in found.causes)


def test_without_untraced_walls_there_is_no_verdict() -> None:
    study = without(make_study(QUIET), keep=lambda one: isinstance(one, TracedCell))
    for one in gather(study).checks:
        assert one.verdict == INCONCLUSIVE
        assert one.subtraction is None
        assert one.subtraction_of == "no untraced walls of this cell"


def test_walls_timed_beside_the_trace_come_before_the_studys_own() -> None:
    study = make_study(QUIET)
    beside = _traced(study, untraced=((10**9 + 32 * 10**7, 10**9),) * 3)
    one = _checks(beside)["graph", 1]
    assert one.subtraction == pytest.approx(1e7)
    assert one.subtraction_of == "calls timed beside the trace"


def test_few_noisy_walls_leave_it_open() -> None:
    study = make_study(replace(QUIET, graph_noise=0.05, eager_noise=0.05))
    assert INCONCLUSIVE in {one.verdict for one in gather(study).checks}


def test_a_trace_is_one_more_session_and_may_differ_as_sessions_do() -> None:
    longer = tuple(
        replace(one, terms=one.terms | {"busy": tuple(int(1.06 * v) for v in one.terms["busy"])})
        if isinstance(one, TracedCell)
        else one
        for one in make_study(QUIET).records
    )
    steady = replace(make_study(QUIET), records=longer)
    found = [one.verdict for one in gather(steady).checks if one.traced.mode == "graph"]
    assert found == [DISAGREE, DISAGREE]
    restless = tuple(
        replace(one, wall_ns=int(one.wall_ns * (0.94, 1.0, 1.06)[one.session])) if isinstance(one, Wall) else one
        for one in longer
    )
    found = [one.verdict for one in gather(replace(steady, records=restless)).checks if one.traced.mode == "graph"]
    assert found == [INCONCLUSIVE, INCONCLUSIVE]


def test_a_refused_trace_is_not_looked_at() -> None:
    assert gather(_traced(make_study(QUIET), rules={"no kernels": "0"})).checks == ()


def _works(evidence: Evidence, effect: str) -> list[bool]:
    return [one.same for one in evidence.works if one.effect == effect]


def test_the_same_kernels_are_told_from_others() -> None:
    compiled, alike = gather(make_study(QUIET)), gather(make_study(replace(QUIET, same_kernels=True)))
    assert _works(compiled, GAP) == [False, False]
    assert _works(compiled, GRAPHS) == [True, True]
    assert _works(alike, GAP) == [True, True]
    work = next(one for one in compiled.works if one.effect == GAP)
    assert work.moved == 65 + 64 + 32
    assert {one.family for one in work.changes} == {"triton red", "fused_add_rms_norm", "act_and_mul"}


def test_a_gap_that_disagrees_names_the_kernels() -> None:
    found = gather(make_study(replace(QUIET, dilation=1.3))).gap_checks
    gap = next(one for one in found if one.effect == GAP)
    assert gap.verdict == DISAGREE
    assert any("different kernels: 161 executions" in cause for cause in gap.causes)
    graphs = next(one for one in found if one.effect == GRAPHS)
    assert not any("different kernels" in cause for cause in graphs.causes)
    assert sum(gap.terms.values()) == pytest.approx(gap.ledger, rel=0.02)
