"""Verdicts on claims, from studies whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.studies import A100, CONSTANT, FLOOR, H100, H200, HYPOTHESES, NONE, RESIDUAL, Truth, make_study, without

from kerntrace.evidence.finding import Finding, Verdict
from kerntrace.evidence.hypotheses import TESTS, weigh
from kerntrace.evidence.prediction_table import Predicted
from kerntrace.evidence.study_evidence import Question, gather
from kerntrace.study.plan import default_hypotheses
from kerntrace.study.records import Hypothesis, Record, Study, TracedCell

FAST = Truth(contexts=(512, 8192), resamples=400)
UNPREDICTED = Question(predictions=(Predicted("", "", 1, 1, "", 1.0),))  # the model is not asked, which saves time
SUPPORTS, CONTRADICTS = Verdict.SUPPORTS, Verdict.CONTRADICTS
INCONCLUSIVE, NOT_TESTABLE = Verdict.INCONCLUSIVE, Verdict.NOT_TESTABLE


def _weighed(study: Study, question: Question = UNPREDICTED, others: tuple[tuple[str, Study], ...] = ()) -> dict[str, Finding]:
    return {one.hypothesis.id: one for one in weigh(gather(study, question, others))}


@pytest.fixture(scope="module")
def findings() -> dict[str, dict[str, Finding]]:
    truths = {rival: replace(FAST, rival=rival) for rival in (FLOOR, CONSTANT)}
    truths[RESIDUAL] = replace(FAST, rival=RESIDUAL, contexts=(512, 2048, 8192))
    truths[NONE] = replace(FAST, rival=NONE, margin_ns=500_000, same_kernels=True)
    return {
        rival: _weighed(make_study(truth), Question() if rival in (FLOOR, RESIDUAL) else UNPREDICTED)
        for rival, truth in truths.items()
    }


@pytest.mark.parametrize(
    ("truth", "claim", "verdict"),
    [
        (FLOOR, "H1", SUPPORTS), (CONSTANT, "H1", SUPPORTS), (RESIDUAL, "H1", SUPPORTS), (NONE, "H1", INCONCLUSIVE),
        (FLOOR, "H2", CONTRADICTS), (CONSTANT, "H2", CONTRADICTS), (RESIDUAL, "H2", SUPPORTS), (NONE, "H2", CONTRADICTS),
        (FLOOR, "H3", NOT_TESTABLE), (RESIDUAL, "H3", NOT_TESTABLE),
        (FLOOR, "H4", CONTRADICTS), (RESIDUAL, "H4", SUPPORTS),
        (FLOOR, "H5", CONTRADICTS), (NONE, "H5", SUPPORTS),
        (FLOOR, "H6", SUPPORTS), (CONSTANT, "H6", CONTRADICTS), (RESIDUAL, "H6", CONTRADICTS),
        (FLOOR, "KS", CONTRADICTS), (RESIDUAL, "KS", CONTRADICTS), (NONE, "KS", SUPPORTS),
    ],
)  # fmt: skip
def test_verdicts(findings: dict[str, dict[str, Finding]], truth: str, claim: str, verdict: Verdict) -> None:
    assert findings[truth][claim].verdict is verdict, findings[truth][claim]


def test_a_finding_holds_its_figure_its_interval_and_its_reason(findings: dict[str, dict[str, Finding]]) -> None:
    for one in findings[FLOOR].values():
        assert one.reason
        if one.verdict in (SUPPORTS, CONTRADICTS):
            assert one.estimate is not None
            assert one.unit
        if one.interval is not None and one.estimate is not None:
            assert one.interval.low <= one.estimate <= one.interval.high
    assert findings[FLOOR]["H1"].unit == "ms"


def test_p_values_are_adjusted_together(findings: dict[str, dict[str, Finding]]) -> None:
    found = [one for one in findings[FLOOR].values() if one.p is not None]
    assert len(found) >= 4
    smallest = min(found, key=lambda one: one.p or 0)
    assert smallest.p_holm == pytest.approx(len(found) * (smallest.p or 0))
    assert all((one.p_holm or 0) >= (one.p or 0) for one in found)


def test_a_decision_that_does_not_outlast_the_adjustment_is_inconclusive() -> None:
    weak = replace(FAST, rival=CONSTANT, constant_ms=0.45, batches=(1,), contexts=(512,), traced=(), resamples=600)
    alone = _weighed(make_study(replace(weak, hypotheses=HYPOTHESES[:1]), seed=3))["H1"]
    assert alone.verdict is SUPPORTS
    assert alone.p is not None
    assert 0.0005 < alone.p < 0.05
    many = tuple(Hypothesis(f"C{i}", "there is a gap", "gap-positive") for i in range(100))
    among = _weighed(make_study(replace(weak, hypotheses=many), seed=3))["C0"]
    assert among.verdict is INCONCLUSIVE
    assert "not beside the other claims" in among.reason


def test_bandwidth_needs_two_gpus_that_were_measured() -> None:
    study = make_study(replace(FAST, traced=(), contexts=(512, 2048)))
    alone = _weighed(study, replace(UNPREDICTED, published=True))["H3"]
    assert alone.verdict is NOT_TESTABLE
    assert "needs two GPUs" in alone.reason
    assert any("reference, published, in no figure" in detail for detail in alone.details)
    same = _weighed(study, UNPREDICTED, (("twin", study),))["H3"]
    assert same.verdict is NOT_TESTABLE


def test_the_benefit_rises_over_stores_of_three_gpus() -> None:
    truth = replace(FAST, traced=(), contexts=(512, 2048))
    mine, *others = (make_study(replace(truth, gpus=(gpu,)), seed=i) for i, gpu in enumerate((H200, H100, A100)))
    named = tuple(zip(("h100", "a100"), others))
    rising = _weighed(mine, UNPREDICTED, named)["H3"]
    assert rising.verdict is SUPPORTS
    assert "H100-SXM" in rising.reason
    assert any("Page's L over 12 cells" in detail for detail in rising.details)
    # A host that is slow for the slow GPU only turns the order around.
    slow = make_study(replace(truth, gpus=(A100,), floor_ms=60.0))
    assert _weighed(mine, UNPREDICTED, (named[0], ("slow host", slow)))["H3"].verdict is CONTRADICTS


def test_other_stores_enter_no_claim_but_the_one_about_machines() -> None:
    mine, other = make_study(FAST), make_study(replace(FAST, gpus=(A100,), rival=NONE))
    alone, beside = _weighed(mine), _weighed(mine, UNPREDICTED, (("other", other),))
    for claim in ("H1", "H2", "H4", "H5", "H6", "KS"):
        assert (alone[claim].verdict, alone[claim].estimate, alone[claim].interval) == (
            beside[claim].verdict,
            beside[claim].estimate,
            beside[claim].interval,
        )


def test_a_claim_must_hold_on_every_machine() -> None:
    truth = replace(FAST, traced=(), gpus=(H200, A100), floor_ms=12.0)  # the A100's steps are longer than the floor
    found = _weighed(make_study(truth))["H1"]
    assert found.verdict is INCONCLUSIVE


def test_the_margin_of_the_claim_comes_before_the_plans() -> None:
    wide = Hypothesis("KS", "none", "kill-switch", {"margin_ms": 20.0})
    found = _weighed(make_study(replace(FAST, traced=(), hypotheses=(wide,))))["KS"]
    assert found.verdict is SUPPORTS
    assert "margin 20 ms" in found.reason


def test_walls_or_traces_alone_do_not_support_a_dispatch_floor() -> None:
    study = make_study(FAST)
    assert _weighed(without(study, traces=False))["H6"].verdict is INCONCLUSIVE
    assert _weighed(without(study, modes=["eager"]))["H6"].verdict is INCONCLUSIVE


def test_time_that_tracing_adds_within_the_step_does_not_support_a_dispatch_floor() -> None:
    """Untraced the GPU waits between steps; tracing adds twice the step within it."""
    truth = replace(FAST, dilation=3.0)
    extra = int(2 * truth.floor_ms * 1e6)

    def moved(one: Record) -> Record:
        if not isinstance(one, TracedCell) or one.mode != "eager":
            return one
        waited = [w + b for w, b in zip(one.within["host_wait"], one.between["host_wait"])]
        within = {"host_wait": tuple(min(extra, ns) for ns in waited), "device_gap": one.within["device_gap"]}
        return replace(one, within=within, between={"host_wait": tuple(max(0, ns - extra) for ns in waited)})

    study = make_study(truth)
    found = _weighed(replace(study, records=tuple(moved(one) for one in study.records)))["H6"]
    assert found.verdict is INCONCLUSIVE
    assert found.interval is not None
    assert found.interval.high < 0.5
    assert "within the step as traced" in found.reason


def test_every_claim_that_a_study_has_by_default_has_a_test() -> None:
    assert {one.test for one in default_hypotheses()} <= set(TESTS)


def test_an_unknown_test_is_said() -> None:
    odd = (Hypothesis("X", "pigs fly", "flying-pigs"), Hypothesis("H2", "follows", "gap-follows-residual", {"form": "cubic"}))
    found = _weighed(make_study(replace(FAST, traced=(), hypotheses=odd)))
    assert found["X"].verdict is NOT_TESTABLE
    assert "flying-pigs" in found["X"].reason
    assert found["H2"].verdict is NOT_TESTABLE


def test_false_support_of_a_gap_is_rare_over_whole_studies() -> None:
    small = replace(FAST, rival=NONE, traced=(), batches=(1, 4, 16), contexts=(512,), modes=("eager", "graph"), resamples=200)
    small = replace(small, hypotheses=HYPOTHESES[:1], eager_drift=0.03)
    verdicts = [_weighed(make_study(small, seed=seed))["H1"].verdict for seed in range(40)]
    assert verdicts.count(SUPPORTS) <= 2
