"""A line through points of very different size, some of which are wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.model.line import fit_line

SIZES = [8e6, 16e6, 33e6, 50e6, 117e6, 235e6, 500e6, 1050e6]


@given(st.floats(10, 1e5), st.floats(1e-5, 1e-2))
def test_a_line_is_found_again(intercept: float, slope: float) -> None:
    line = fit_line(SIZES, [intercept + slope * size for size in SIZES])
    assert line.intercept == pytest.approx(intercept, rel=1e-4, abs=1e-6 * slope * SIZES[0])
    assert line.slope == pytest.approx(slope, rel=1e-4)
    assert line.outliers == ()


@given(st.integers(0, 7), st.floats(1.6, 50))
def test_one_slow_point_does_not_move_it(which: int, factor: float) -> None:
    values = [4_500 + size / 4_300 for size in SIZES]
    values[which] *= factor
    line = fit_line(SIZES, values)
    assert line.outliers == (which,)
    assert line.intercept == pytest.approx(4_500, rel=0.01)
    assert 1 / line.slope == pytest.approx(4_300, rel=0.01)


def test_never_more_than_a_quarter_is_left_out() -> None:
    values = [4_500 + size / 4_300 * (3 if position % 2 else 1) for position, size in enumerate(SIZES)]
    assert len(fit_line(SIZES, values).outliers) <= 2


def test_neither_constant_is_below_zero() -> None:
    assert fit_line([1, 2, 3], [1, 2.5, 4]).intercept == 0
    assert fit_line([1, 2, 3], [4, 3.9, 3.8]).slope == 0


@pytest.mark.parametrize(("x", "y"), [([], []), ([1], [1]), ([2, 2], [1, 2]), ([1, 2], [0, 1]), ([1, 2], [-1, 1])])
def test_no_line_where_there_is_none(x: list[float], y: list[float]) -> None:
    with pytest.raises(ValueError, match="no line"):
        fit_line(x, y)
