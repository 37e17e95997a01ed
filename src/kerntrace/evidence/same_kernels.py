"""Whether two modes of a traced cell ran the same kernels, from the multisets of their typical steps. Room: evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kerntrace.evidence.cells import Place
from kerntrace.evidence.effects import EFFECTS
from kerntrace.evidence.traced import TracedFigures
from kerntrace.study.records import KernelShare


@dataclass(frozen=True, slots=True)
class FamilyChange:
    """A family that the two modes ran a different number of times a step, with its time in ns a step."""

    family: str
    count_a: float
    count_b: float
    time_a: float
    time_b: float


@dataclass(frozen=True, slots=True)
class WorkCheck:
    """Two modes of one place.

    Attributes:
        same: the same families, each the same number of times a step.
        same_names: also the same kernel names, each the same number of times.
        kernels_a, kernels_b: kernels a step.
        moved: executions a step that are in one mode's multiset of families and not in the other's, both ways added.
        changes: families that differ, those with most time first.
    """

    place: Place
    effect: str
    a: str
    b: str
    same: bool
    same_names: bool
    kernels_a: float
    kernels_b: float
    moved: float
    changes: tuple[FamilyChange, ...]


def work_checks(traced: Sequence[TracedFigures]) -> tuple[WorkCheck, ...]:
    """Every pair of modes that an effect is about, where both were traced and say what ran."""
    at = {(one.place, one.mode): one for one in traced if one.work}
    return tuple(
        _check(effect, at[place, a], at[place, b])
        for place in sorted({place for place, _ in at})
        for effect, (a, b) in EFFECTS.items()
        if (place, a) in at and (place, b) in at
    )


def _check(effect: str, a: TracedFigures, b: TracedFigures) -> WorkCheck:
    in_a, in_b = _families(a.work), _families(b.work)
    changes = []
    for family in in_a.keys() | in_b.keys():
        (count_a, time_a), (count_b, time_b) = in_a.get(family, (0.0, 0.0)), in_b.get(family, (0.0, 0.0))
        if count_a != count_b:
            changes.append(FamilyChange(family, count_a, count_b, time_a, time_b))
    changes.sort(key=lambda one: (-max(one.time_a, one.time_b), one.family))
    names = [{use.name: use.count for use in one.work} for one in (a, b)]
    return WorkCheck(
        a.place,
        effect,
        a.mode,
        b.mode,
        not changes,
        names[0] == names[1],
        a.kernels[0],
        b.kernels[0],
        sum(abs(one.count_a - one.count_b) for one in changes),
        tuple(changes),
    )


def _families(work: Sequence[KernelShare]) -> dict[str, tuple[float, float]]:
    found: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for use in work:
        count, time = found[use.family]
        found[use.family] = (count + use.count, time + use.time_ns)
    return dict(found)
