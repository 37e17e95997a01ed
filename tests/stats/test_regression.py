"""Lines through grouped cells, robust slopes, two predictors at once, and corrections: against scipy and slow oracles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kerntrace.stats.bootstrap import stream
from kerntrace.stats.multiplicity import holm
from kerntrace.stats.regression import line, lines, partial, redrawn_values, resampled_groups, robust, through_means
from kerntrace.stats.trend import page_trend, rising_residual, share_in_order

N = np.tile([1.0, 2, 4, 8, 16, 32], 3)
GROUP = np.tile(np.arange(6), 3)


def test_a_line_is_linregress() -> None:
    rng = np.random.default_rng(1)
    y = 3 - 0.2 * N + rng.normal(0, 1, 18)
    found, theirs = line(N, y), stats.linregress(N, y)
    assert found is not None
    assert (found.slope, found.intercept, found.r, found.r2) == pytest.approx(
        (theirs.slope, theirs.intercept, theirs.rvalue, theirs.rvalue**2)
    )


def test_one_value_of_x_has_no_line() -> None:
    assert line(np.ones(5), np.arange(5.0)) is None
    assert line(np.array([1.0]), np.array([1.0])) is None


@given(st.lists(st.integers(0, 4), min_size=6, max_size=6).filter(lambda w: sum(v > 0 for v in w) > 1))
def test_weights_count_as_repeated_cells(weights: list[int]) -> None:
    x, y = np.array([1.0, 2, 4, 8, 16, 32]), np.array([3.0, 1, 4, 1, 5, 9])
    slope, intercept, r = lines(x, y[None, :], np.array([weights], np.float64))
    theirs = stats.linregress(np.repeat(x, weights), np.repeat(y, weights))
    assert (slope[0], intercept[0]) == pytest.approx((theirs.slope, theirs.intercept))
    assert r[0] == pytest.approx(theirs.rvalue) or np.isnan(r[0])


def test_robust_slopes_are_scipys_where_all_x_differ() -> None:
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0, 10, 15))
    y = 2 * x + rng.normal(0, 1, 15)
    found, theil = robust(x, y), stats.theilslopes(y, x)
    assert found is not None
    assert found.theil_sen_interval is not None
    assert found.theil_sen == pytest.approx(theil.slope)
    assert (found.theil_sen_interval.low, found.theil_sen_interval.high) == pytest.approx((theil.low_slope, theil.high_slope))
    assert found.siegel == pytest.approx(stats.siegelslopes(y, x).slope)


def test_one_wild_cell_does_not_move_the_robust_slopes() -> None:
    y = 2 * N
    y[17] = -1000
    found, plain = robust(N, y), line(N, y)
    assert found is not None
    assert plain is not None
    assert found.theil_sen == pytest.approx(2)
    assert found.siegel == pytest.approx(2)
    assert plain.slope < 0


def test_a_line_through_means_knows_how_few_batch_sizes_there_are() -> None:
    rng = np.random.default_rng(3)
    y = 1 + 0.5 * N + rng.normal(0, 1, 6)[GROUP]  # all contexts of one batch size err together
    means = np.array([y[group == GROUP].mean() for group in range(6)])
    theirs = stats.linregress(N[:6], means)
    reach = stats.t.ppf(0.975, 4) * theirs.stderr
    found = through_means(N, y, GROUP, (0.5, 1.0))
    assert found is not None
    assert (found.slope.low, found.slope.high) == pytest.approx((theirs.slope - reach, theirs.slope + reach))
    assert found.p_slope(0.0) == pytest.approx(theirs.pvalue)


def test_the_claimed_line_is_rejected_in_one_of_twenty_true_cases_and_always_when_far_off() -> None:
    rng = np.random.default_rng(4)
    rejected = wrong = 0
    for _ in range(400):
        y = 1.0 * N + rng.normal(0, 1, 6)[GROUP] + rng.normal(0, 0.3, 18)
        true, false = through_means(N, y, GROUP, (1.0, 0.0)), through_means(N, y, GROUP, (0.0, 10.0))
        assert true is not None
        assert false is not None
        assert true.p is not None
        assert false.p is not None
        rejected += true.p < 0.05
        wrong += false.p < 0.05
    assert 8 <= rejected <= 34
    assert wrong == 400


def test_two_batch_sizes_are_too_few_for_a_claim_or_groups() -> None:
    x, y = np.array([1.0, 1, 2, 2]), np.array([1.0, 2, 3, 4])
    group = np.array([0, 0, 1, 1])
    assert through_means(x, y, group, (1.0, 0.0)) is None
    assert resampled_groups(x, y, group, stream(1), 100).slope is None


def test_resampled_groups_are_wider_than_cells_when_groups_err_together() -> None:
    rng = np.random.default_rng(5)
    y = 1 + 0.5 * N + rng.normal(0, 2, 6)[GROUP]
    grouped = resampled_groups(N, y, GROUP, stream(1), 2000).slope
    alone = resampled_groups(N, y, np.arange(18), stream(1), 2000).slope
    assert grouped is not None
    assert alone is not None
    assert grouped.high - grouped.low > 1.2 * (alone.high - alone.low)


def test_redrawn_values_give_the_slopes_of_each_draw() -> None:
    draws = np.array([2 * N, 4 * N + 1])
    found = redrawn_values(N, draws).slope
    assert found is not None
    assert (found.low, found.high) == pytest.approx((2.05, 3.95))


def test_two_predictors_at_once_find_which_one_it_is() -> None:
    rng = np.random.default_rng(6)
    time = 5 + 0.05 * N + np.repeat([0.0, 1, 4], 6)
    y = 13 - time + rng.normal(0, 0.05, 18)
    found = partial(N, time, y, GROUP, stream(1), 500)
    assert found is not None
    design = np.stack([np.ones(18), N, time], axis=1)
    expected = np.linalg.lstsq(design, y, rcond=None)[0]
    assert (found.first, found.second) == pytest.approx(tuple(expected[1:]))
    assert found.second_interval is not None
    assert found.second_interval.low < -1 < found.second_interval.high
    assert partial(N, 2 * N, y, GROUP, stream(1), 100) is None


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_a_rising_table_has_a_small_p_and_two_gpus_none() -> None:
    rng = np.random.default_rng(7)
    table = np.array([0.26, 0.34, 0.46]) + rng.normal(0, 0.02, (15, 3))
    rising, falling = page_trend(table), page_trend(table[:, ::-1])
    assert rising == pytest.approx(stats.page_trend_test(table).pvalue)
    assert rising is not None
    assert rising < 1e-4
    assert falling is not None
    assert falling > 0.9
    assert page_trend(table[:, :2]) is None


def test_order_over_draws_and_distance_from_rising() -> None:
    assert share_in_order(np.array([[1.0, 2, 3], [1, 3, 2], [3, 2, 1], [1, 2, 4]])) == 0.5
    assert rising_residual(np.array([1.0, 2, 3])) == pytest.approx(0)
    assert rising_residual(np.array([1.0, 3, 2])) == pytest.approx((2 * 0.25 / 3) ** 0.5)
