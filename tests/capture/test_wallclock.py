from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.capture.wallclock import CellTimes, Pair, dilation, step_times, walls_table

WALL = st.integers(10**6, 10**9)


@st.composite
def cells(draw: st.DrawFn) -> tuple[CellTimes, list[float], list[float]]:
    """A cell whose steps take known times."""
    tokens = draw(st.integers(2, 65))
    count = draw(st.integers(1, 7))
    sides = []
    known = []
    for _ in range(2):
        singles = draw(st.lists(WALL, min_size=count, max_size=count))
        steps = draw(st.lists(st.integers(1, 10**7), min_size=count, max_size=count))
        sides.append(tuple(Pair(single + step * (tokens - 1), single) for single, step in zip(singles, steps)))
        known.append([float(step) for step in steps])
    return CellTimes(1, 8, tokens, sides[0], sides[1]), known[0], known[1]


@given(cells())
def test_a_step_is_what_the_extra_tokens_cost(given_: tuple[CellTimes, list[float], list[float]]) -> None:
    cell, traced, untraced = given_
    assert step_times(cell.traced, cell.tokens) == traced
    found = dilation(cell)
    assert found is not None
    assert found.ratio == pytest.approx(statistics.median(traced) / statistics.median(untraced))
    assert (found.low, found.high) == (min(map(_ratio, traced, untraced)), max(map(_ratio, traced, untraced)))
    assert found.paired == pytest.approx(statistics.median(map(_ratio, traced, untraced)))
    assert (found.paired_interval is None) == (len(traced) < 6)
    assert found.paired_interval is None or found.low <= found.paired_interval.low <= found.paired <= found.paired_interval.high
    assert found.repetitions == len(traced)


def _ratio(traced: float, untraced: float) -> float:
    return traced / untraced


def test_a_side_that_was_not_timed_has_no_dilation() -> None:
    pair = (Pair(20, 10),)
    assert dilation(CellTimes(1, 8, 2, pair, ())) is None
    assert dilation(CellTimes(1, 8, 2, (), pair)) is None


def test_a_step_of_no_time_has_no_dilation() -> None:
    assert dilation(CellTimes(1, 8, 2, (Pair(20, 10),), (Pair(10, 10),))) is None


def test_walls_are_the_untraced_calls() -> None:
    cell = CellTimes(2, 8, 5, (Pair(999, 99),), (Pair(50, 10), Pair(60, 11)))
    table = walls_table("graph", [cell])
    rows = list(zip(*(table.ints(name).tolist() for name in ("batch", "context", "tokens", "repetition", "wall_ns"))))
    assert rows == [(2, 8, 1, 0, 10), (2, 8, 1, 1, 11), (2, 8, 5, 0, 50), (2, 8, 5, 1, 60)]
    assert set(table.names("mode").values) == {"graph"}
