"""The kernels of chosen steps brought together by name or family, a block of rows at a time. Room: steps.

A trace of many steps has tens of millions of kernels of a few dozen names. Each block is sorted by group while it is in the
cache; then every group's values are put in one stretch, so that what follows reads memory in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.steps.ownership import Steps
from kerntrace.trace.blocks import in_parallel, rows_in_blocks
from kerntrace.trace.model import Trace
from kerntrace.trace.operations import Operations
from kerntrace.trace.table import Ints

Index = npt.NDArray[np.intp]
Groups = npt.NDArray[np.integer]
Columns = dict[str, Callable[[npt.NDArray[np.integer]], npt.NDArray[np.integer]]]


@dataclass(frozen=True, slots=True)
class Group:
    """The executions of one group, in order of start.

    Attributes:
        number: the group's.
        row: of one of them, in `trace.kernels`.
        step: for each, which of the chosen steps owns it.
        length: for each, its duration in ns.
        more: what else was asked for, a value for each.
    """

    number: int
    row: int
    step: npt.NDArray[np.int32]
    length: Ints
    more: dict[str, npt.NDArray[np.integer]]


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows of a block in order of group, and where the groups begin among them."""

    row: npt.NDArray[np.integer]
    step: npt.NDArray[np.int32]
    group: Groups
    edges: Index


def grouped(trace: Trace, ops: Operations, steps: Steps, chosen: Index, group_of: Groups, more: Columns) -> Iterator[Group]:
    """The kernels that the chosen steps own, group by group in ascending order.

    Args:
        group_of: for each distinct kernel name its group, and last that of kernels without a name; not negative.
        more: by name what else is wanted of each kernel, given rows of `trace.kernels`.
    """
    place = np.full(len(steps) + 1, -1, np.int32)  # the last entry is for operations that no step owns
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    names = trace.kernels.names("name")
    narrow = group_of.astype(np.int16) if len(group_of) and int(group_of.max()) <= np.iinfo(np.int16).max else group_of

    def sorted_block(run: slice) -> _Block:
        step = place[steps.owner[run]]
        mine = np.flatnonzero((step >= 0) & ops.is_kernel[run])
        row = ops.row[run][mine]
        group = narrow[names.codes[row]]
        order = np.argsort(group, kind="stable")  # numbers of 16 bits are sorted in linear time
        group = group[order]
        return _Block(row[order], step[mine[order]], group, np.flatnonzero(np.diff(group, prepend=-1)))

    blocks = in_parallel(sorted_block, rows_in_blocks(len(ops)))
    sizes = np.zeros(int(group_of.max(initial=-1)) + 1, np.int64)
    for block in blocks:
        np.add.at(sizes, block.group[block.edges], np.diff(block.edges, append=len(block.group)))
    begins = np.concatenate([[0], np.cumsum(sizes)])
    yield from _gathered(trace, blocks, begins, more)


def _gathered(trace: Trace, blocks: list[_Block], begins: Ints, more: Columns) -> Iterator[Group]:
    start, end = trace.kernels.ints("start_ns"), trace.kernels.ints("end_ns")
    total = int(begins[-1])
    step, length = np.empty(total, np.int32), np.empty(total, np.int64)
    rest = {name: np.empty(total, of(np.zeros(0, np.int32)).dtype) for name, of in more.items()}
    first = np.full(len(begins) - 1, -1, np.int64)

    def fill(work: tuple[_Block, Ints]) -> None:
        block, free = work
        if not len(block.row):
            return
        to = np.repeat(free - block.edges, np.diff(block.edges, append=len(block.row))) + np.arange(len(block.row))
        step[to] = block.step
        length[to] = end[block.row] - start[block.row]
        for name, of in more.items():
            rest[name][to] = of(block.row)

    free, works = begins[:-1].copy(), []
    for block in blocks:
        groups = block.group[block.edges]
        works.append((block, free[groups]))
        free[groups] += np.diff(block.edges, append=len(block.row))
        first[groups] = block.row[block.edges]
    in_parallel(fill, works)
    for number in np.flatnonzero(np.diff(begins)).tolist():
        at = slice(int(begins[number]), int(begins[number + 1]))
        yield Group(number, int(first[number]), step[at], length[at], {name: column[at] for name, column in rest.items()})
