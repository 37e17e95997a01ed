from __future__ import annotations

from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.stats.accuracy import accuracy, ape_of_measured, ape_of_predicted, log_ratio, signed_error

times = st.floats(1e-3, 1e6)


def test_a_third_off_is_two_different_things() -> None:
    # A measurement 33 % below the prediction: the prediction is 49 % above the measurement.
    assert ape_of_predicted(100, 67) == pytest.approx(0.33)
    assert ape_of_measured(100, 67) == pytest.approx(33 / 67)
    assert signed_error(67, 100) == pytest.approx(-0.33)


def test_twice_and_half_are_equally_wrong_by_the_log_ratio() -> None:
    assert log_ratio(2, 1) == pytest.approx(log(2))
    assert log_ratio(2, 1) == -log_ratio(1, 2)


def test_metrics_of_three_cells_by_hand() -> None:
    found = accuracy([110, 80, 300], [100, 100, 200])
    assert found.count == 3
    assert found.mape_of_measured == pytest.approx((0.1 + 0.2 + 0.5) / 3)
    assert found.mape_of_predicted == pytest.approx((10 / 110 + 20 / 80 + 100 / 300) / 3)
    assert found.bias == pytest.approx((0.1 - 0.2 + 0.5) / 3)
    assert found.median_log_ratio == pytest.approx(log(1.1))
    assert found.median_factor == pytest.approx(1.1)
    assert found.median_absolute_log_ratio == pytest.approx(log(1.25))
    assert found.weighted_mape == pytest.approx((10 + 20 + 100) / 400)
    assert found.worst == 2


@given(st.lists(st.tuples(times, times), min_size=1, max_size=20))
def test_swapping_the_two_sides_swaps_the_denominators(pairs: list[tuple[float, float]]) -> None:
    predicted, measured = [p for p, _ in pairs], [m for _, m in pairs]
    one, other = accuracy(predicted, measured), accuracy(measured, predicted)
    assert one.mape_of_measured == pytest.approx(other.mape_of_predicted)
    assert one.median_log_ratio == pytest.approx(-other.median_log_ratio)
    assert one.median_absolute_log_ratio == pytest.approx(other.median_absolute_log_ratio)
    assert abs(one.bias) <= one.mape_of_measured + 1e-12


@given(times, st.floats(0.1, 10))
def test_a_common_factor_shows_in_every_metric(measured: float, factor: float) -> None:
    found = accuracy([factor * measured] * 3, [measured] * 3)
    assert found.bias == pytest.approx(factor - 1, abs=1e-9)
    assert found.median_factor == pytest.approx(exp(log(factor)))
    assert found.weighted_mape == pytest.approx(abs(factor - 1), abs=1e-9)


@pytest.mark.parametrize(
    ("predicted", "measured"), [([], []), ([1.0], []), ([1.0], [0.0]), ([-1.0], [1.0]), ([float("nan")], [1.0])]
)
def test_what_has_no_error_is_refused(predicted: list[float], measured: list[float]) -> None:
    with pytest.raises(ValueError, match=r"predictions for|above zero"):
        accuracy(predicted, measured)
