"""A study's walls by cell and mode, what is missing, and figures over cells; against plain recomputation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.studies import A100, H200, Truth, gap_ms, left_out, make_study, without

from kerntrace.evidence.cells import Place, cells_of, hosts_of, missing_of
from kerntrace.evidence.effects import COMPILATION, GAP, GRAPHS, Resampling, cell_figures
from kerntrace.evidence.machines import ALL, COMMON, PUBLISHED
from kerntrace.evidence.study_evidence import gather
from kerntrace.study.records import Study, TracedCell, Wall

SMALL = Truth(batches=(1, 16), contexts=(512, 8192), traced=(), resamples=400)


@pytest.fixture(scope="module")
def study() -> Study:
    return make_study(SMALL)


def test_a_step_is_the_difference_of_a_repetitions_two_walls(study: Study) -> None:
    cell = next(cell for cell in cells_of(study) if cell.place == Place("host0", 8192, 16))
    walls = {
        (one.session, one.repetition, one.tokens): one.wall_ns
        for one in study.records
        if isinstance(one, Wall) and (one.mode, one.batch, one.context) == ("eager", 16, 8192)
    }
    expected = [(walls[s, r, 33] - walls[s, r, 1]) / 32 for s in range(3) for r in range(5)]
    assert cell.arms["eager"].steps.tolist() == pytest.approx(expected)
    assert list(cell.arms) == ["eager", "graph", "graph-nocompile"]


def test_the_order_of_records_does_not_matter(study: Study) -> None:
    records = list(study.records)
    np.random.default_rng(1).shuffle(records)
    ours, theirs = (
        cell_figures(cells_of(one), Resampling(1, 200, 0)) for one in (study, replace(study, records=tuple(records)))
    )
    for a, b in zip(ours, theirs):
        assert a.place == b.place
        for mode in a.arms:
            assert a.arms[mode].draws.tobytes() == b.arms[mode].draws.tobytes()
            assert a.arms[mode].session_draws.tobytes() == b.arms[mode].session_draws.tobytes()


def test_half_a_repetition_and_walls_of_other_lengths_are_not_counted(study: Study) -> None:
    torn = without(
        study, keep=lambda one: not (one.mode == "graph" and one.tokens == 1 and one.session == 0 and one.repetition == 2)
    )
    odd = replace(torn, records=(*torn.records, Wall("host0", "graph", 1, 512, 17, 0, 2, 10**9, 0)))
    cell = cells_of(odd)[0]
    assert len(cell.arms["graph"].steps) == 14
    assert len(cell.arms["eager"].steps) == 15


def test_effects_are_differences_of_medians_and_add_up(study: Study) -> None:
    for cell in cell_figures(cells_of(study), Resampling(1, 400, 0)):
        arms, effects = cell.arms, cell.effects
        assert effects[GAP].estimate == arms["eager"].median - arms["graph"].median
        assert effects[GRAPHS].estimate + effects[COMPILATION].estimate == pytest.approx(effects[GAP].estimate)
        assert effects[GAP].benefit == pytest.approx(effects[GAP].estimate / arms["eager"].median)
        truth = gap_ms(SMALL, H200, cell.place.batch, cell.place.context) * 1e6
        session = effects[GAP].session
        assert session is not None
        assert session.interval().low - 3e5 < truth < session.interval().high + 3e5


def test_a_mode_draws_the_same_sessions_in_all_its_cells() -> None:
    restless = make_study(replace(SMALL, eager_drift=0.1, eager_noise=0.001, modes=("eager", "graph")))
    one, other, *_ = (cell.arms["eager"] for cell in cell_figures(cells_of(restless), Resampling(1, 400, 0)))
    assert np.corrcoef(one.session_draws, other.session_draws)[0, 1] > 0.9
    assert abs(np.corrcoef(one.draws, other.draws)[0, 1]) < 0.2


def test_figures_over_cells_name_both_ratios(study: Study) -> None:
    evidence = gather(study)
    one = next(one for one in evidence.figures if one.effect == GAP and one.grid == ALL)
    eager = np.array([cell.arms["eager"].median for cell in evidence.cells])
    graph = np.array([cell.arms["graph"].median for cell in evidence.cells])
    assert one.gap == pytest.approx(np.median(eager - graph))
    assert one.benefit_median_of_ratios == pytest.approx(np.median((eager - graph) / eager))
    assert one.benefit_ratio_of_medians == pytest.approx(np.median(eager - graph) / np.median(eager))
    assert one.least == (16, 8192)
    assert one.percentile is not None
    assert one.over_cells is not None
    assert one.over_cells.high - one.over_cells.low > one.percentile.high - one.percentile.low


def test_machines_are_compared_over_the_cells_that_all_have() -> None:
    two = make_study(replace(SMALL, gpus=(H200, A100)))
    two = without(two, keep=lambda one: not (one.host == "host1" and (one.batch, one.context) == (16, 8192)))
    figures = [one for one in gather(two).figures if one.effect == GAP]
    cells = {(one.gpu, one.grid): one.cells for one in figures}
    assert cells[H200, ALL] == 4
    assert cells[A100, ALL] == 3
    assert cells[H200, COMMON] == cells[A100, COMMON] == 3
    assert cells[H200, PUBLISHED] == 4


def test_modes_of_different_hosts_make_no_gap(study: Study) -> None:
    split = replace(
        study,
        records=tuple(
            replace(one, host="other") if isinstance(one, Wall) and one.mode == "graph" else one for one in study.records
        ),
    )
    assert all(GAP not in cell.effects for cell in gather(split).cells)
    assert list(hosts_of(split)) == ["host0", "other"]


def test_what_is_missing_is_named_with_its_reason() -> None:
    study = make_study(replace(SMALL, traced=((1, 512),)))
    short = without(study, keep=lambda one: not (one.mode == "eager" and one.batch == 1 and getattr(one, "session", 0) == 2))
    short = left_out(short, "host0", 16, 8192, "does not fit: 50 GB on 40 GB")
    refused = replace(
        short,
        records=tuple(
            replace(one, rules={"dropped records": "5"}) if isinstance(one, TracedCell) and one.mode == "graph" else one
            for one in short.records
        ),
    )
    missing = missing_of(refused, cells_of(refused))
    walls = {(one.mode, one.batch, one.context): one for one in missing if one.what == "walls"}
    assert set(walls) == {("eager", 1, 512), ("eager", 1, 8192)} | {(mode, 16, 8192) for mode in SMALL.modes}
    assert (walls["eager", 1, 512].have, walls["eager", 1, 512].asked) == (10, 15)
    assert walls["graph", 16, 8192].reason == "does not fit: 50 GB on 40 GB"
    assert [(one.mode, one.reason) for one in missing if one.what == "trace"] == [("graph", "dropped records: 5")]


def test_a_whole_study_misses_nothing(study: Study) -> None:
    assert missing_of(study, cells_of(study)) == ()
