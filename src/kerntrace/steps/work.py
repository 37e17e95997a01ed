"""The kernels of a cell's steps: how often and how long each runs, and whether two cells did the same work. Room: steps."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.steps.families import family_of
from kerntrace.steps.ownership import Steps
from kerntrace.trace.model import Trace
from kerntrace.trace.operations import Operations

Index = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class KernelUse:
    """One kernel name over the steps of a cell.

    Attributes:
        name, family: its demangled name, and what it does.
        count, count_min, count_max: executions a step: median, least and greatest.
        total_ns: duration summed over a step, mean over steps.
        median_ns: median duration of an execution.
        shapes: distinct launch shapes, the commonest first, each "grid x, y, z block x, y, z"; empty where not recorded.
        graph_share: share of executions that were replayed from a graph.
    """

    name: str
    family: str
    count: float
    count_min: int
    count_max: int
    total_ns: float
    median_ns: float
    shapes: tuple[str, ...]
    graph_share: float


@dataclass(frozen=True, slots=True)
class FamilyUse:
    """One family over the steps of a cell: executions a step (median over steps) and duration summed over a step (mean)."""

    family: str
    count: float
    total_ns: float
    names: frozenset[str]


def kernels_in(trace: Trace, ops: Operations, steps: Steps, chosen: Index) -> list[KernelUse]:
    """Every kernel name that the chosen steps ran, the one with most time first."""
    rows, step = owned_kernels(ops, steps, chosen)
    names = trace.kernels.names("name")
    code = names.codes[rows]
    length = trace.kernels.ints("end_ns")[rows] - trace.kernels.ints("start_ns")[rows]
    replayed = trace.kernels.valid("graph_node_id")[rows]
    shape = _shape_keys(trace, rows)
    order = _by_code(code)
    edges = np.flatnonzero(np.diff(code[order], prepend=-2))
    uses = []
    for low, high in zip(edges, np.append(edges[1:], len(order))):
        mine = order[low:high]
        middle, least, most = _spread(step[mine], len(chosen))
        name = names.values[code[mine[0]]] if code[mine[0]] >= 0 else ""
        uses.append(
            KernelUse(
                name,
                family_of(name),
                _whole(middle),
                least,
                most,
                float(length[mine].sum() / len(chosen)),
                _whole(float(np.median(length[mine]))),
                () if shape is None else _shapes(trace, rows[mine], shape[mine]),
                float(replayed[mine].mean()),
            )
        )
    return sorted(uses, key=lambda use: (-use.total_ns, use.name))


def families_in(trace: Trace, ops: Operations, steps: Steps, chosen: Index) -> list[FamilyUse]:
    """Every family that the chosen steps ran, the one with most time first."""
    rows, step = owned_kernels(ops, steps, chosen)
    names = trace.kernels.names("name")
    numbers: dict[str, int] = {}
    families = np.array([numbers.setdefault(family_of(v), len(numbers)) for v in (*names.values, "")])
    code = families[names.codes[rows]]
    length = trace.kernels.ints("end_ns")[rows] - trace.kernels.ints("start_ns")[rows]
    members: dict[int, set[str]] = defaultdict(set)
    for used in np.unique(names.codes[rows]):
        members[int(families[used])].add(names.values[used] if used >= 0 else "")
    labels = list(numbers)
    order = _by_code(code)
    edges = np.flatnonzero(np.diff(code[order], prepend=-1))
    found = []
    for low, high in zip(edges, np.append(edges[1:], len(order))):
        mine = order[low:high]
        number = int(code[mine[0]])
        middle, _, _ = _spread(step[mine], len(chosen))
        total = float(length[mine].sum() / len(chosen))
        found.append(FamilyUse(labels[number], _whole(middle), total, frozenset(members[number])))
    return sorted(found, key=lambda use: (-use.total_ns, use.family))


def owned_kernels(ops: Operations, steps: Steps, chosen: Index) -> tuple[Index, Index]:
    """Rows of the kernels that the chosen steps own, in order of start, and for each which of the chosen steps owns it."""
    place = np.full(len(steps) + 1, -1, np.intp)
    place[chosen] = np.arange(len(chosen))
    step = place[steps.owner]
    mine = np.flatnonzero((step >= 0) & ops.is_kernel)
    return ops.row[mine].astype(np.intp), step[mine]


def sequence_of(trace: Trace, ops: Operations, steps: Steps, step: int) -> Index:
    """Rows of one step's kernels in launch order: by launch call, and within a call by start."""
    mine = np.flatnonzero((steps.owner == step) & ops.is_kernel)
    in_order = np.lexsort((ops.start[mine], ops.launch[mine].astype(np.int64)))
    return ops.row[mine[in_order]].astype(np.intp)


@dataclass(frozen=True, slots=True)
class FamilyChange:
    """A family that both cells ran, differently.

    Attributes:
        what: `count`, `time` (more than a twentieth and a microsecond a step), or `kernels` (other names of one family).
    """

    family: str
    what: str
    a: FamilyUse
    b: FamilyUse


@dataclass(frozen=True, slots=True)
class SameWork:
    """Whether two cells ran the same kernels, by family. The verdict is on counts; time never decides it."""

    same: bool
    only_a: tuple[FamilyUse, ...]
    only_b: tuple[FamilyUse, ...]
    changed: tuple[FamilyChange, ...]


def same_work(a: list[FamilyUse], b: list[FamilyUse]) -> SameWork:
    """Compare two cells' families."""
    in_a, in_b = ({use.family: use for use in uses} for uses in (a, b))
    changed = []
    for family in in_a.keys() & in_b.keys():
        what = _difference(in_a[family], in_b[family])
        if what:
            changed.append(FamilyChange(family, what, in_a[family], in_b[family]))
    only_a = tuple(use for use in a if use.family not in in_b)
    only_b = tuple(use for use in b if use.family not in in_a)
    changed.sort(key=lambda c: (-abs(c.a.total_ns - c.b.total_ns), c.family))
    same = not only_a and not only_b and all(c.what != "count" for c in changed)
    return SameWork(same, only_a, only_b, tuple(changed))


def _difference(a: FamilyUse, b: FamilyUse) -> str:
    if a.count != b.count:
        return "count"
    apart = abs(a.total_ns - b.total_ns)
    if apart > 1_000 and apart > 0.05 * max(a.total_ns, b.total_ns):
        return "time"
    return "kernels" if a.names != b.names else ""


def _whole(value: float) -> float:
    return int(value) if value.is_integer() else value


_SHAPE = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")


def _by_code(code: npt.NDArray[np.integer]) -> Index:
    """Places of the codes in ascending order, equal ones as they come. Numbers of 16 bits are sorted in linear time."""
    narrow = not len(code) or int(code.max()) <= np.iinfo(np.int16).max
    return np.argsort(code.astype(np.int16) if narrow else code, kind="stable")


def _spread(step: Index, steps: int) -> tuple[float, int, int]:
    """Median, least and greatest number of executions a step, given the step of each; most names run in few steps or in all."""
    if 4 * len(step) >= steps:
        counts = np.bincount(step, minlength=steps)
        return float(np.median(counts)), int(counts.min()), int(counts.max())
    _, ran = np.unique(step, return_counts=True)  # fewer executions than half the steps: the median is 0
    return 0.0, 0, int(ran.max())


def _shape_keys(trace: Trace, rows: Index) -> npt.NDArray[np.int64] | None:
    """A number for each kernel's launch shape, equal for equal shapes; None where shapes are not recorded."""
    if not all(trace.kernels.has(name) for name in _SHAPE):
        return None
    key, span = np.zeros(len(rows), np.int64), 1
    for name in _SHAPE if len(rows) else ():
        column = trace.kernels.ints(name)
        if column.min() == column.max():
            continue
        value = column[rows]
        low, high = int(value.min()), int(value.max())
        if span * (high - low + 1) >= 2**62:  # number the shapes so far anew
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            span = int(key.max()) + 1
        key = key * (high - low + 1) + (value - low)
        span *= high - low + 1
    return key


def _shapes(trace: Trace, rows: Index, key: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """The distinct shapes of some kernels, the commonest first, of equally common ones the least first."""
    if key.min() == key.max():
        first, count = np.zeros(1, np.intp), np.ones(1, np.intp)
    else:
        _, first, count = np.unique(key, return_index=True, return_counts=True)
    columns = [trace.kernels.ints(name)[rows[first]] for name in _SHAPE]
    ranked = np.lexsort([*columns[::-1], -count])
    return tuple("grid {},{},{} block {},{},{}".format(*(int(column[i]) for column in columns)) for i in ranked)
