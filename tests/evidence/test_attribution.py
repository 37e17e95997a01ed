"""What the gap follows, on studies whose gap has a known shape."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.support.studies import BOTH, CONSTANT, FLOOR, H100, H200, RESIDUAL, Truth, make_study

from kerntrace.evidence.attribution import Regression
from kerntrace.evidence.effects import GAP, GRAPHS
from kerntrace.evidence.phase_trend import part_of
from kerntrace.evidence.prediction_table import Predicted
from kerntrace.evidence.study_evidence import Evidence, Question, gather
from kerntrace.model.scheduler import SForm, scheduler_ms
from kerntrace.study.records import TracedCell

UNPREDICTED = Question(predictions=(Predicted("", "", 1, 1, "", 1.0),))  # the model is not asked, which saves time
TRUTH = {
    RESIDUAL: Truth(rival=RESIDUAL, resamples=400, contexts=(512, 8192)),
    CONSTANT: Truth(rival=CONSTANT, resamples=400, contexts=(512, 8192)),
    FLOOR: Truth(rival=FLOOR, resamples=400, contexts=(512, 8192)),
    BOTH: Truth(rival=BOTH, floor_ms=9.5, resamples=400, contexts=(512, 8192)),
}


@pytest.fixture(scope="module")
def found() -> dict[str, Evidence]:
    return {rival: gather(make_study(truth), UNPREDICTED) for rival, truth in TRUTH.items()}


def _line(evidence: Evidence, target: str, predictor: str = "S linear", host: str = "host0") -> Regression:
    return next(
        one for one in evidence.regressions if (one.target.name, one.predictor, one.target.host) == (target, predictor, host)
    )


def test_every_form_of_s_is_a_line_by_scipys_linregress(found: dict[str, Evidence]) -> None:
    evidence = found[FLOOR]
    gaps = np.array([cell.effects[GAP].estimate / 1e6 for cell in evidence.cells])
    batches = [cell.place.batch for cell in evidence.cells]
    for form in (SForm.LINEAR, SForm.LOG2, SForm.SQRT, SForm.POWER):
        theirs = stats.linregress([scheduler_ms(n, form) for n in batches], gaps)
        ours = _line(evidence, GAP, f"S {form.value}").line
        assert (ours.slope, ours.intercept, ours.r2) == pytest.approx((theirs.slope, theirs.intercept, theirs.rvalue**2))
    assert _line(evidence, GAP, "N").line.slope == pytest.approx(stats.linregress(batches, gaps).slope)


def test_a_table_is_a_form_of_s_where_it_reaches_every_batch() -> None:
    study = make_study(replace(TRUTH[FLOOR], traced=()))
    with_table = gather(study, replace(UNPREDICTED, s_form="table", s_table={1: 1.0, 32: 9.0}))
    assert _line(with_table, GAP, "S table").distinct == 6
    short = gather(study, replace(UNPREDICTED, s_table={1: 1.0, 16: 4.0}))
    assert not [one for one in short.regressions if one.predictor == "S table"]


def test_a_residual_has_slope_one_and_a_constant_slope_zero(found: dict[str, Evidence]) -> None:
    residual, constant = _line(found[RESIDUAL], GAP), _line(found[CONSTANT], GAP)
    assert residual.claim is not None
    assert constant.claim is not None
    assert not residual.claim.slope.misses(0.9, 1.1)
    assert residual.claim.slope.excludes(0)
    assert constant.claim.slope.excludes(1)
    assert constant.line.intercept == pytest.approx(4.4, abs=0.4)


def test_a_floor_has_a_negative_slope_that_goes_once_the_gpus_time_is_held_fixed(found: dict[str, Evidence]) -> None:
    one = _line(found[FLOOR], GAP)
    assert one.line.slope < -0.3
    assert one.with_time is not None
    assert one.with_time.first == pytest.approx(0, abs=0.1)
    assert one.with_time.second == pytest.approx(-1, abs=0.15)
    assert one.by_groups.r is not None
    assert one.by_groups.r.high < 0


@pytest.mark.parametrize("effect", [GAP, GRAPHS])
@pytest.mark.parametrize("rival", [RESIDUAL, CONSTANT, FLOOR, BOTH])
def test_the_rival_that_made_the_study_is_chosen(found: dict[str, Evidence], rival: str, effect: str) -> None:
    contest = next(one for one in found[rival].contests if one.target.name == effect and one.form == "linear")
    assert contest.chosen == rival
    chosen = next(one for one in contest.fits if one.rival == rival)
    assert chosen.chosen_share is not None
    assert chosen.chosen_share > 0.8
    if chosen.floor is not None:
        assert chosen.floor == pytest.approx(TRUTH[rival].floor_ms, abs=0.5)
    if chosen.slope is not None:
        assert chosen.slope == pytest.approx(1, abs=0.15)


def test_exposure_between_and_within_steps_is_drawn_on_s(found: dict[str, Evidence]) -> None:
    lump = _line(found[RESIDUAL], "between exposure, eager")
    assert lump.target.kind == "measured"
    assert lump.line.slope == pytest.approx(1, abs=0.1)
    assert _line(found[FLOOR], "between exposure, eager").line.slope == pytest.approx(0, abs=0.1)
    assert _line(found[FLOOR], "within exposure, eager").line.slope < -0.2


def test_machines_are_pooled_as_they_are_and_within_each() -> None:
    truth = Truth(gpus=(H200, H100), traced=(), contexts=(512, 8192), resamples=200)
    evidence = gather(make_study(truth), UNPREDICTED)
    plain, within = _line(evidence, GAP, host="pooled"), _line(evidence, f"{GAP} less the machine's mean", host="pooled")
    assert len(plain.target.values) == 24
    assert within.line.slope == pytest.approx(plain.line.slope)  # the grids are the same
    assert within.line.r2 > plain.line.r2
    assert {one.target.host for one in evidence.contests} == {"host0", "host1"}


@pytest.mark.parametrize(
    ("phase", "part"),
    [
        ("schedule: allocate_slots", "schedule"),
        ("gpu_model_runner: preprocess", "prepare inputs"),
        ("gpu_model_runner: forward", "forward"),
        ("execute step", "forward"),
        ("gpu_model_runner: sample", "sample"),
        ("llm_engine step: process_outputs", "output"),
        ("cudaEventSynchronize", "synchronise"),
        ("(no range)", "no range"),
        ("what is this", "other"),
    ],
)
def test_phases_are_put_into_parts_of_an_iteration(phase: str, part: str) -> None:
    assert part_of(phase) == part


def test_phases_are_drawn_against_the_batch(found: dict[str, Evidence]) -> None:
    evidence = found[RESIDUAL]
    eager = {one.part: one for one in evidence.trends if one.mode == "eager"}
    total = {
        (one.batch, one.context): sum(one.phases.values())
        for one in evidence.study.records
        if isinstance(one, TracedCell) and one.mode == "eager"
    }
    for cell, ns in total.items():
        assert sum(one.ns[cell] for name, one in eager.items() if name != "residual parts") == pytest.approx(ns)
        assert eager["residual parts"].ns[cell] == pytest.approx(eager["schedule"].ns[cell] + eager["output"].ns[cell])
    slope = eager["residual parts"].us_a_sequence
    assert slope is not None
    assert slope == pytest.approx(200, rel=0.1)  # S grows by 0.2 ms a sequence
