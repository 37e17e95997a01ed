"""The work a cell's steps have in common, in launch order, with each member's median duration. Room: evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.accounting.analysis import Analysis
from kerntrace.steps.families import family_of
from kerntrace.trace.table import Ints

Index = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Member:
    """A kernel, copy or memset of a step.

    Attributes:
        name: as recorded; of a copy its kind.
        family: as `model.carriers` reads it.
        is_kernel: recorded as a kernel.
        replayed: run by a graph.
        measured_ns: median duration over the steps.
    """

    name: str
    family: str
    is_kernel: bool
    replayed: bool
    measured_ns: float


@dataclass(frozen=True, slots=True)
class TypicalStep:
    """The commonest sequence of work among some steps.

    Attributes:
        members: in launch order.
        steps: those that ran this sequence; medians are over them.
        of: how many steps there were.
    """

    members: tuple[Member, ...]
    steps: Index
    of: int


def typical_step(analysis: Analysis, chosen: Index) -> TypicalStep:
    """The commonest sequence among the chosen steps.

    Args:
        chosen: steps of an analysis that has steps; each owns some work.
    """
    assert analysis.steps is not None  # the caller chose from them
    ops = analysis.ops
    place = np.full(len(analysis.steps) + 1, -1, np.intp)
    place[chosen] = np.arange(len(chosen))
    step = place[analysis.steps.owner]
    mine = np.flatnonzero(step >= 0)
    key = step[mine] * (len(analysis.trace.api_calls) + 1) + ops.launch[mine]
    if len(key) and np.any(key[1:] < key[:-1]):
        mine = mine[np.argsort(key, kind="stable")]
    step = step[mine]
    count = np.bincount(step, minlength=len(chosen))
    begin = np.cumsum(count) - count
    token = _tokens(analysis, mine)
    alike = _commonest(token, step, begin, count)
    rows = mine[begin[alike][:, None] + np.arange(count[alike[0]])]
    duration: Ints = ops.end[rows] - ops.start[rows]
    medians = np.median(duration, axis=0)
    members = [_member(analysis, int(op), float(ns)) for op, ns in zip(rows[0], medians)]
    return TypicalStep(tuple(members), chosen[alike], len(chosen))


def _tokens(analysis: Analysis, mine: Index) -> npt.NDArray[np.intp]:
    """A number for each operation, equal for equal names."""
    names, kinds = analysis.trace.kernels.names("name"), analysis.trace.memops.names("kind")
    row, is_kernel = analysis.ops.row[mine], analysis.ops.is_kernel[mine]
    token = np.zeros(len(mine), np.intp)
    token[is_kernel] = names.codes[row[is_kernel]] + 1
    token[~is_kernel] = kinds.codes[row[~is_kernel]] + len(names.values) + 2
    return token


def _commonest(token: Index, step: Index, begin: Index, count: Index) -> Index:
    """The steps whose sequence of tokens is the commonest; the earliest such sequence of several."""
    number = np.random.default_rng(2).integers(1, 2**63, int(token.max()) + 1, dtype=np.uint64)
    # The sum of a number for the name times an odd number for its place, modulo 2**64: equal sequences have equal sums.
    within = (np.arange(len(token)) - begin[step]).astype(np.uint64)
    mixed = number[token] * (2 * within + np.uint64(1))
    sums = np.add.reduceat(mixed, begin)
    _, first, which, copies = np.unique(sums, return_index=True, return_inverse=True, return_counts=True)
    most = np.flatnonzero(copies == copies.max())
    chosen = most[np.argmin(first[most])]
    alike = np.flatnonzero(which.reshape(-1) == chosen)
    same: Index = alike[count[alike] == count[alike[0]]]
    return same


def _member(analysis: Analysis, op: int, measured_ns: float) -> Member:
    trace, row = analysis.trace, int(analysis.ops.row[op])
    if analysis.ops.is_kernel[op]:
        name = trace.kernels.names("name").text(row) or ""
        return Member(name, family_of(name), True, bool(trace.kernels.valid("graph_node_id")[row]), measured_ns)
    kind = trace.memops.names("kind").text(row) or "unknown"
    replayed = bool(trace.memops.valid("graph_node_id")[row])
    return Member(kind, f"copy {kind}{' in a graph' if replayed else ''}", False, replayed, measured_ns)
