"""Intervals on lanes in which they nest properly, and the order in which a lane's begins and ends are told. Room: export."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kerntrace.export.stretches import Index
from kerntrace.trace.table import Ints, Mask


def lanes_of(start: Ints, end: Ints) -> Index:
    """The lane of each interval, from 0: the first in which every other one is disjoint from it, around it or inside it.

    Time is linear in intervals where they are disjoint already, as kernels of one stream mostly are.
    """
    lane = np.zeros(len(start), np.intp)
    order = np.lexsort([-end, start])
    starts, ends = start[order], end[order]
    if not np.any(starts[1:] < ends[:-1]):
        return lane
    stacks: list[list[int]] = []  # ends of what is open in each lane, the innermost last
    found = []
    for begin, finish in zip(starts.tolist(), ends.tolist()):
        for number, stack in enumerate(stacks):
            while stack and stack[-1] <= begin:
                stack.pop()
            if not stack or finish <= stack[-1]:
                stack.append(finish)
                found.append(number)
                break
        else:
            found.append(len(stacks))
            stacks.append([finish])
    lane[order] = found
    return lane


def told(start: Ints, end: Ints) -> tuple[Index, Mask]:
    """The order in which begins and ends of properly nested intervals are told: for each, the interval and whether it begins.

    At equal times what ends goes before what begins, outer ones begin before and end after inner ones, and an interval of no
    length begins and ends in between.
    """
    rows = np.arange(len(start))
    interval = np.concatenate([rows, rows])
    begins = np.repeat(np.array([True, False]), len(start))
    point = (start == end)[interval]
    time = np.concatenate([start, end])
    place = np.where(point, 1, np.where(begins, 2, 0))
    other = np.where(point, interval, np.where(begins, -end[interval], -start[interval]))
    tie: npt.NDArray[np.intp] = np.where(point, ~begins, np.where(begins, interval, -interval))
    order = np.lexsort([tie, other, place, time])
    return interval[order], begins[order]
