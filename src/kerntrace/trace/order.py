"""The one order of a table's rows, found cheaply when they nearly are in it already. Room: trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def in_order(keys: Sequence[npt.NDArray[np.int64]]) -> bool:
    """Whether rows ascend by the first key, then the second, and so on. Keys are arrays of one length."""
    first = keys[0]
    if bool(np.any(first[:-1] > first[1:])):
        return False
    tied = np.flatnonzero(first[:-1] == first[1:])  # the other keys are looked at only where rows tie
    for key in keys[1:]:
        before, after = key[tied], key[tied + 1]
        if bool(np.any(before > after)):
            return False
        tied = tied[before == after]
        if not len(tied):
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
