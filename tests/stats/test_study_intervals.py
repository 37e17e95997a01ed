"""Intervals of step costs: reproducible, alike with scipy where it has them, and right as often as they say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from tests.support.studies import skewed

from kerntrace.evidence.cells import Arm, Cell, Place
from kerntrace.evidence.effects import GAP, EffectFigures, Resampling, cell_figures
from kerntrace.stats.bootstrap import median_steps, median_steps_by_session, pick_sessions, stream
from kerntrace.stats.equivalence import decided, equivalence_of_draws
from kerntrace.stats.interval import Floats, Interval, of_draws, two_sided_p
from kerntrace.stats.location import hodges_lehmann, mann_whitney_counts, median_interval
from kerntrace.stats.sessions import session_estimate, spread

EAGER_NS, GRAPH_NS, DIVISOR = 13.8e6, 5.0e6, 32
FIRST_NS = 40e6
STUDIES = 1_000


def _arms(rng: np.random.Generator, studies: int, step: float, noise: float, drift: float, sessions: int) -> list[Arm]:
    """Arms of 15 repetitions, whose true step is `step` ns."""
    each = 15 // sessions
    walls = np.array([FIRST_NS, FIRST_NS + DIVISOR * step])
    factor = 1 + rng.normal(0, drift, (studies, sessions, 1, 1))
    made = walls * factor + walls[1] * skewed(rng, (studies, sessions, each, 2), noise)
    made = made.reshape(studies, 15, 2)
    session = np.repeat(np.arange(sessions), each)
    return [Arm("", one[:, 1].copy(), one[:, 0].copy(), session, DIVISOR) for one in made]


def _true_median(step: float, noise: float) -> float:
    """The median that repetitions of this noise have, by a very large sample."""
    rng = np.random.default_rng(99)
    walls = FIRST_NS + DIVISOR * step
    return step + float(np.median(walls * (skewed(rng, (2_000_000,), noise) - skewed(rng, (2_000_000,), noise)))) / DIVISOR


def _effects(eager: list[Arm], graph: list[Arm], resamples: int = 400) -> list[EffectFigures]:
    cells = [Cell(Place("host", 512, i), {"eager": a, "graph": b}) for i, (a, b) in enumerate(zip(eager, graph))]
    return [one.effects[GAP] for one in cell_figures(cells, Resampling(3, resamples, 50_000))]


def _share(intervals: list[Interval | None], truth: float) -> float:
    held = [not one.excludes(truth) for one in intervals if one is not None]
    assert len(held) == len(intervals)
    return sum(held) / len(held)


def test_both_intervals_hold_the_truth_as_often_as_they_say_without_a_session_effect() -> None:
    rng = np.random.default_rng(5)
    eager = _arms(rng, STUDIES, EAGER_NS, 0.02, 0, 3)
    graph = _arms(rng, STUDIES, GRAPH_NS, 0.005, 0, 3)
    found = _effects(eager, graph)
    truth = _true_median(EAGER_NS, 0.02) - _true_median(GRAPH_NS, 0.005)
    assert 0.93 <= _share([one.percentile for one in found], truth) <= 0.975
    assert 0.93 <= _share([one.session.interval() if one.session else None for one in found], truth) <= 0.975


def test_only_the_interval_over_sessions_holds_the_truth_when_sessions_differ() -> None:
    rng = np.random.default_rng(6)
    eager = _arms(rng, STUDIES, EAGER_NS, 0.02, 0.05, 3)
    graph = _arms(rng, STUDIES, GRAPH_NS, 0.005, 0.005, 3)
    found = _effects(eager, graph)
    truth = _true_median(EAGER_NS, 0.02) - _true_median(GRAPH_NS, 0.005)
    assert 0.93 <= _share([one.session.interval() if one.session else None for one in found], truth) <= 0.975
    assert _share([one.percentile for one in found], truth) < 0.85  # why it does not decide


@pytest.mark.parametrize(("drift", "sessions"), [(0.0, 1), (0.0, 3), (0.03, 3)])
def test_a_gap_is_found_where_there_is_none_in_at_most_one_study_of_twenty(drift: float, sessions: int) -> None:
    rng = np.random.default_rng(7)
    studies = 600
    eager = _arms(rng, studies, GRAPH_NS, 0.02, drift, sessions)
    graph = _arms(rng, studies, GRAPH_NS, 0.02, drift / 10, sessions)
    outcomes = [one.outcome for one in _effects(eager, graph, resamples=200)]
    assert (outcomes.count("gap") + outcomes.count("negative gap")) / studies <= 0.05
    assert outcomes.count("inconclusive") > 0.5 * studies


def test_a_true_gap_is_found() -> None:
    rng = np.random.default_rng(8)
    eager, graph = _arms(rng, 50, EAGER_NS, 0.02, 0.02, 3), _arms(rng, 50, GRAPH_NS, 0.005, 0.002, 3)
    outcomes = [one.outcome for one in _effects(eager, graph)]
    assert outcomes.count("gap") >= 48


def test_the_bootstrap_agrees_with_scipys() -> None:
    rng = np.random.default_rng(1)
    longer, shorter = rng.gamma(3.0, 2.0, 15) + 100, rng.gamma(3.0, 0.5, 15) + 10
    ours = of_draws(median_steps(stream(1, "arm"), longer, shorter, 1, 20_000), "percentile bootstrap")
    theirs = stats.bootstrap(
        (longer, shorter),
        # paired by position after each is resampled on its own, as the step cost is
        lambda a, b, axis: np.median(a - b, axis=axis),
        n_resamples=20_000,
        paired=False,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert ours is not None
    width = theirs.high - theirs.low
    assert abs(ours.low - theirs.low) < 0.05 * width
    assert abs(ours.high - theirs.high) < 0.05 * width


def test_draws_are_the_same_to_the_byte_and_belong_to_the_arm_alone() -> None:
    values = np.arange(15.0)
    once = [median_steps(stream(7, "host", mode), values, values / 2, 3, 100) for mode in ("eager", "graph")]
    alone = median_steps(stream(7, "host", "graph"), values, values / 2, 3, 100)
    assert once[1].tobytes() == alone.tobytes()
    assert once[0].tobytes() != alone.tobytes()
    assert median_steps(stream(8, "host", "graph"), values, values / 2, 3, 100).tobytes() != alone.tobytes()


def test_walls_with_one_token_are_redrawn_apart_from_those_with_many() -> None:
    longer, shorter = np.array([100.0, 200.0]), np.array([10.0, 20.0])
    draws = median_steps(stream(1), longer, shorter, 10, 4000)
    steps = {(a - b) / 10 for a in longer for b in shorter}
    reachable = {(a + b) / 2 for a, b in itertools.product(steps, repeat=2)}
    assert set(np.round(draws, 9)) <= {round(value, 9) for value in reachable}
    assert (100 - 20) / 10 in draws  # a pair that was never measured together


def test_sessions_are_drawn_whole() -> None:
    walls = [(np.full(4, 100.0), np.full(4, 10.0)), (np.full(4, 300.0), np.full(4, 10.0))]
    draws = median_steps_by_session(stream(1), walls, 1, pick_sessions(stream(2), 2, 2000))
    assert set(draws) == {90.0, 190.0, 290.0}
    assert np.mean(draws == 90.0) == pytest.approx(0.25, abs=0.05)


def test_the_jackknife_of_two_arms_is_welchs_t() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(10, 1, 4), rng.normal(8, 3, 3)
    found = session_estimate([a[:, None], b[:, None]], lambda means: float(means[0][0] - means[1][0]))
    theirs = stats.ttest_ind(a, b, equal_var=False)
    low, high = theirs.confidence_interval(0.95)
    assert found is not None
    assert (found.interval().low, found.interval().high) == pytest.approx((low, high))
    assert found.p() == pytest.approx(theirs.pvalue)
    one_sided = [
        stats.ttest_ind(a + 4, b, equal_var=False, alternative="greater").pvalue,
        stats.ttest_ind(a - 4, b, equal_var=False, alternative="less").pvalue,
    ]
    assert found.p_within(4) == pytest.approx(max(one_sided))


def test_one_session_has_no_interval_over_sessions() -> None:
    one, two = np.ones((1, 1)), np.ones((2, 1))
    assert session_estimate([one, two], lambda means: 0.0) is None


def _p(a: Floats, b: Floats, shift: float) -> float:
    return float(stats.mannwhitneyu(a - shift, b, method="exact").pvalue)


def test_hodges_lehmann_holds_what_the_exact_rank_test_does_not_reject() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(5, 1, 9), rng.normal(3, 2, 7)
    estimate, interval = hodges_lehmann(a, b)
    assert interval is not None
    assert estimate == pytest.approx(float(np.median(a[:, None] - b[None, :])))
    assert _p(a, b, interval.low + 1e-9) > 0.05
    assert _p(a, b, interval.low - 1e-9) <= 0.05
    assert _p(a, b, interval.high - 1e-9) > 0.05
    assert _p(a, b, interval.high + 1e-9) <= 0.05


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 3), (4, 3), (5, 5)])
def test_rank_sums_are_counted_as_by_listing_all_arrangements(m: int, n: int) -> None:
    listed = np.zeros(m * n + 1)
    for places in itertools.combinations(range(m + n), m):
        listed[sum(places) - m * (m - 1) // 2] += 1
    np.testing.assert_array_equal(mann_whitney_counts(m, n), listed)


def test_small_samples_have_no_rank_interval() -> None:
    assert hodges_lehmann(np.array([1.0, 2.0]), np.array([3.0, 4.0]))[1] is None


@pytest.mark.parametrize("count", [1, 5, 6, 9, 15, 16, 50])
def test_a_medians_interval_is_the_sign_tests(count: int) -> None:
    values = np.random.default_rng(count).permutation(np.arange(1.0, count + 1))
    found = median_interval(values)
    # Below the interval's low end lies the median with the probability of at most low - 1 heads in `count` throws.
    outside = [float(stats.binom.cdf(k - 1, count, 0.5)) for k in range(1, count + 1)]
    if found is None:
        assert outside[0] > 0.025
        return
    low, high = int(found.low), int(found.high)
    assert high == count + 1 - low
    assert outside[low - 1] <= 0.025
    assert low == count or outside[low] > 0.025


def test_no_values_have_no_interval() -> None:
    assert median_interval(np.array([])) is None


def test_variance_parts_are_recovered() -> None:
    rng = np.random.default_rng(9)
    session = np.repeat(np.arange(400), 5)
    values = 100 + rng.normal(0, 3, 400)[session] + rng.normal(0, 1.5, 2000)
    found = spread(values, session)
    assert found.between_sessions == pytest.approx(3, rel=0.1)
    assert found.between_repetitions == pytest.approx(1.5, rel=0.1)


def test_outliers_are_counted_and_kept() -> None:
    values = np.array([10.0, 10.1, 9.9, 10.05, 9.95, 20.0])
    found = spread(values, np.zeros(6, np.int64))
    assert found.outliers == 1
    assert found.between_sessions is None
    assert found.between_repetitions == pytest.approx(float(values.std(ddof=1)))


@pytest.mark.parametrize(
    ("i95", "i90", "said"),
    [((1, 2), (1.1, 1.9), "gap"), ((-2, -1), (-1.9, -1.1), "negative gap"), ((-1, 3), (-0.5, 2.5), "inconclusive"),
     ((-0.2, 0.3), (-0.1, 0.2), "none"), ((0.1, 0.3), (0.12, 0.28), "negligible")],
)  # fmt: skip
def test_outcomes(i95: tuple[float, float], i90: tuple[float, float], said: str) -> None:
    assert decided(Interval(*i95, 0.95, ""), Interval(*i90, 0.9, ""), 0.5) == said


def test_equivalence_of_draws_is_the_90_percent_interval_within_the_margin() -> None:
    rng = np.random.default_rng(2)
    for centre in (0.0, 0.3, 0.42, 0.5, 2.0):
        draws = rng.normal(centre, 0.1, 4999)
        interval = of_draws(draws, "", 0.9)
        found = equivalence_of_draws(draws, 0.5)
        assert interval is not None
        assert (found.p < 0.05) == interval.inside(-0.5, 0.5)
    assert equivalence_of_draws(rng.normal(2, 0.1, 999), 0.5).p_beyond < 0.05
    assert equivalence_of_draws(rng.normal(0, 0.1, 999), 0.5).p_beyond > 0.5


def test_the_bootstraps_p_is_small_where_zero_is_far_out() -> None:
    assert two_sided_p(np.arange(1.0, 1000.0)) == pytest.approx(2 / 1000)
    assert two_sided_p(np.arange(-500.0, 501.0)) == pytest.approx(1.0, abs=0.01)
    assert two_sided_p(np.array([np.nan])) is None
