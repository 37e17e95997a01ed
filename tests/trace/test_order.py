"""The order of rows against Python's own sort."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.trace.order import in_order, order_of

rows = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.sampled_from([-(2**63), -1, 0, 1, 2, 2**63 - 1])] * width), min_size=1, max_size=12)
)


def keys_of(table: list[tuple[int, ...]]) -> list[npt.NDArray[np.int64]]:
    return [np.array(column, np.int64) for column in zip(*table)]


@given(rows)
def test_order_is_that_of_sorted_and_stable(table: list[tuple[int, ...]]) -> None:
    expected = sorted(range(len(table)), key=table.__getitem__)
    assert order_of(keys_of(table)).tolist() == expected


@given(rows)
def test_in_order_says_whether_sorting_would_change_anything(table: list[tuple[int, ...]]) -> None:
    assert in_order(keys_of(table)) == (table == sorted(table))
    assert in_order(keys_of(sorted(table)))


def test_no_rows() -> None:
    nothing = [np.zeros(0, np.int64)] * 2
    assert in_order(nothing)
    assert order_of(nothing).tolist() == []
