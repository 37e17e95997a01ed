"""The kernels of a cell's steps: how often and how long each runs, and whether two cells did the same work. Room: steps."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.steps.families import family_of
from kerntrace.steps.grouped import Columns, grouped
from kerntrace.steps.ownership import Steps
from kerntrace.steps.shapes import Shapes, shapes_of
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
    return _uses(trace, ops, steps, chosen, shapes_of(trace))


def brief_kernels_in(trace: Trace, ops: Operations, steps: Steps, chosen: Index) -> list[KernelUse]:
    """As `kernels_in`, without launch shapes, for which six more columns are read."""
    return _uses(trace, ops, steps, chosen, None)


def _uses(trace: Trace, ops: Operations, steps: Steps, chosen: Index, shapes: Shapes | None) -> list[KernelUse]:
    names = (*trace.kernels.names("name").values, "")
    replayed = trace.kernels.valid("graph_node_id")
    alike = bool(replayed.all()) or not replayed.any()
    more: Columns = {}
    if shapes is not None:
        more["shape"] = shapes.numbers
    if not alike:
        more["replayed"] = replayed.view(np.uint8).__getitem__
    uses = []
    for found in grouped(trace, ops, steps, chosen, np.arange(len(names)), more):
        middle, least, most = _spread(found.step, len(chosen))
        uses.append(
            KernelUse(
                names[found.number],
                family_of(names[found.number]),
                _whole(middle),
                least,
                most,
                float(found.length.sum() / len(chosen)),
                _whole(float(np.median(found.length))),
                () if shapes is None else shapes.ranked(found.more["shape"]),
                float(replayed[0]) if alike else float(found.more["replayed"].mean()),
            )
        )
    return sorted(uses, key=lambda use: (-use.total_ns, use.name))


def families_in(trace: Trace, ops: Operations, steps: Steps, chosen: Index) -> list[FamilyUse]:
    """Every family that the chosen steps ran, the one with most time first."""
    codes, values = trace.kernels.names("name").codes, trace.kernels.names("name").values
    numbers: dict[str, int] = {}
    families = np.array([numbers.setdefault(family_of(name), len(numbers)) for name in (*values, "")])
    labels, ran = list(numbers), np.zeros(len(families), bool)
    uses = []
    for found in grouped(trace, ops, steps, chosen, families, {"code": codes.__getitem__}):
        middle, _, _ = _spread(found.step, len(chosen))
        uses.append((found.number, _whole(middle), float(found.length.sum() / len(chosen))))
        ran[found.more["code"]] = True
    members: dict[int, set[str]] = defaultdict(set)
    for code in np.flatnonzero(ran).tolist():
        members[int(families[code])].add(values[code] if code < len(values) else "")
    families_used = [FamilyUse(labels[n], count, total, frozenset(members[n])) for n, count, total in uses]
    return sorted(families_used, key=lambda use: (-use.total_ns, use.family))


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

    def count_changes(self) -> list[tuple[str, float, float]]:
        """Families that run more or less often a step: name, count in a, count in b; by name."""
        found = [(use.family, use.count, 0.0) for use in self.only_a] + [(use.family, 0.0, use.count) for use in self.only_b]
        found += [(one.family, one.a.count, one.b.count) for one in self.changed if one.what == "count"]
        return sorted(one for one in found if one[1] != one[2])


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


def _spread(step: npt.NDArray[np.integer], steps: int) -> tuple[float, int, int]:
    """Median, least and greatest number of executions a step, given the step of each; most names run in few steps or in all."""
    if 4 * len(step) >= steps:
        counts = np.bincount(step, minlength=steps)
        return float(np.median(counts)), int(counts.min()), int(counts.max())
    _, ran = np.unique(step, return_counts=True)  # fewer executions than half the steps: the median is 0
    return 0.0, 0, int(ran.max())
