"""NVTX events of one process, paired into ranges. Room: trace.

The recorder writes pushes, pops, starts and ends as they come, so that a killed process leaves its open ranges too. Pairing
is a sort: in one thread and domain, a push at depth d and the next pop back from depth d are one range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.void]
Ints = npt.NDArray[np.int64]

PUSH, POP, START, END = 1, 2, 3, 4
OPEN = np.int64(0)  # end of a range that was still open


def paired(events: Rows) -> tuple[Rows, Ints]:
    """The events that began a range, and when each range ended; OPEN if it did not.

    Args:
        events: `range_event` records of one process, each thread's in the order they happened.
    """
    kind = events["event"]
    stacked, loose = events[(kind == PUSH) | (kind == POP)], events[(kind == START) | (kind == END)]
    found = [_paired_by_depth(stacked), _paired_by_id(loose)]
    return np.concatenate([begins for begins, _ in found]), np.concatenate([ends for _, ends in found])


def _paired_by_depth(events: Rows) -> tuple[Rows, Ints]:
    if not len(events):
        return events, np.zeros(0, np.int64)
    thread = (events["tid"].astype(np.uint64) << np.uint64(32)) | events["domain"]
    order = np.argsort(thread, kind="stable")
    step = np.where(events["event"][order] == PUSH, 1, -1)
    depth = np.cumsum(step)
    first = np.flatnonzero(np.concatenate([[True], thread[order][1:] != thread[order][:-1]]))
    group = np.zeros(len(order), np.int64)
    group[first[1:]] = 1
    group = np.cumsum(group)
    depth -= (depth - step)[first][group]  # count from 0 in each thread and domain
    level = np.where(step > 0, depth, depth + 1)
    by_level = np.lexsort((np.arange(len(order)), level, group))
    opens = step[by_level] > 0
    same = np.zeros(len(order), bool)
    same[:-1] = (group[by_level][:-1] == group[by_level][1:]) & (level[by_level][:-1] == level[by_level][1:])
    closed = opens & same & ~np.concatenate([opens[1:], [True]])
    sorted_events = events[order][by_level]
    following: Any = np.concatenate([sorted_events["time_ns"][1:], [0]])
    ends = np.where(closed, following.astype(np.int64), OPEN)
    return sorted_events[opens], ends[opens]


def _paired_by_id(events: Rows) -> tuple[Rows, Ints]:
    begins, ends = events[events["event"] == START], events[events["event"] == END]
    when = np.full(len(begins), OPEN, np.int64)
    if len(begins) and len(ends):
        ends = ends[np.argsort(ends["range_id"], kind="stable")]
        place = np.minimum(np.searchsorted(ends["range_id"], begins["range_id"]), len(ends) - 1)
        found = ends["range_id"][place] == begins["range_id"]
        when[found] = ends["time_ns"][place][found].astype(np.int64)
    return begins, when
