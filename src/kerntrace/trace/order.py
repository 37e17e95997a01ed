"""The one order of a table's rows, found cheaply when they nearly are in it already. Room: trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def in_order(keys: Sequence[npt.NDArray[np.int64]]) -> bool:
    """Whether rows ascend by the first key, then the second, and so on. Keys are arrays of one length."""
    tied = np.ones(max(len(keys[0]) - 1, 0), dtype=bool)
    for key in keys:
        before, after = key[:-1], key[1:]
        if bool(np.any(tied & (before > after))):
            return False
        tied &= before == after
        if not tied.any():
            break
    return True


def order_of(keys: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.intp]:
    """Row numbers in ascending order by the first key, then the second, and so on; rows equal in all keys keep their order.

    A full lexicographic sort costs a pass a key; here only the rows that tie in the first key pay for the others.
    """
    first = keys[0]
    order = np.argsort(first, kind="stable")
    if len(order) < 2 or len(keys) == 1:
        return order
    ranked = first[order]
    same = ranked[1:] == ranked[:-1]
    tied = np.concatenate([[False], same]) | np.concatenate([same, [False]])
    places = np.flatnonzero(tied)
    if len(places):
        rows = order[places]
        order[places] = rows[np.lexsort([key[rows] for key in reversed(keys)])]
    return order
