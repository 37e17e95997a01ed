"""Laying two sequences beside each other: never worse than a slow search over all ways, and in order."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.model.align import Weights, align


def best_by_search(weight: Weights) -> int:
    """The largest sum of weights by trying everything."""
    rows, columns = weight.shape

    @cache
    def best(row: int, column: int) -> int:
        if row == rows or column == columns:
            return 0
        paired = int(weight[row, column])
        options = [best(row + 1, column), best(row, column + 1)]
        return max(*options, paired + best(row + 1, column + 1)) if paired else max(options)

    return best(0, 0)


weights = st.tuples(st.integers(0, 6), st.integers(0, 6)).flatmap(
    lambda shape: st.lists(st.integers(0, 3), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]).map(
        lambda values: np.array(values, np.int64).reshape(shape)
    )
)


@given(weights)
def test_no_way_to_pair_them_is_better(weight: Weights) -> None:
    found = align(weight)
    assert found.score == best_by_search(weight)
    assert found.score == weight[found.first, found.second].sum()
    assert (weight[found.first, found.second] > 0).all()


@given(weights)
def test_pairs_keep_the_order_of_both(weight: Weights) -> None:
    found = align(weight)
    assert (np.diff(found.first) > 0).all()
    assert (np.diff(found.second) > 0).all()
