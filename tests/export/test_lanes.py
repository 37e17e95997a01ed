"""Lanes in which intervals nest, and the order in which they are told."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.export.lanes import lanes_of, told

intervals = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)), max_size=12).map(
    lambda rows: [(start, start + length) for start, length in rows]
)


@given(intervals)
def test_each_lane_nests_and_is_told_as_a_stack(rows: list[tuple[int, int]]) -> None:
    start = np.array([a for a, _ in rows], np.int64)
    end = np.array([b for _, b in rows], np.int64)
    lane = lanes_of(start, end)
    for number in set(lane.tolist()):
        mine = np.flatnonzero(lane == number)
        order, begins = told(start[mine], end[mine])
        stack: list[int] = []
        last = 0
        for interval, opens in zip(order.tolist(), begins.tolist()):
            at = int(start[mine][interval] if opens else end[mine][interval])
            assert at >= last
            last = at
            if opens:
                stack.append(interval)
            else:
                assert stack.pop() == interval
        assert not stack


def test_disjoint_intervals_stay_on_one_lane() -> None:
    assert lanes_of(np.array([0, 5, 9]), np.array([5, 9, 9])).tolist() == [0, 0, 0]


def test_overlapping_ones_go_to_a_second_lane_and_nested_ones_do_not() -> None:
    assert lanes_of(np.array([0, 2, 5]), np.array([10, 4, 12])).tolist() == [0, 0, 1]
