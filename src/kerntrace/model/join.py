"""A step's recorded work beside the inventory: which recorded kernel carried which operation. Room: accounting | model.

By name, order and kind: a rule says which of the inventory's families a kernel's name may stand for (`model.carriers`), and of
all ways to lay the two sequences beside each other in order, the one with most in common is taken. Work that another stream did
out of order (a copy back to the host) is paired afterwards, where its family leaves no doubt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerntrace.model.align import Alignment, Places, Weights, align
from kerntrace.model.carriers import carrier_of
from kerntrace.model.kernels import Kernel
from kerntrace.model.operations import Kind

_LIKELIEST, _POSSIBLE, _SAME_KIND = 8, 7, 3
# Kernels of one of these kinds do the same work whoever wrote them; a copy or a bookkeeping kernel is not like another.
_INTERCHANGEABLE = frozenset(
    {Kind.GEMM, Kind.GEMM_REDUCE, Kind.ATTENTION, Kind.ATTENTION_COMBINE, Kind.KV_WRITE, Kind.NORM, Kind.ROPE, Kind.ACTIVATION}
)
_ROTATIONS = 24


@dataclass(frozen=True, slots=True)
class Join:
    """Recorded work and operations, pair by pair.

    Attributes:
        of: for each recorded member the inventory's kernel, -1 where it matches none.
        missing: the inventory's kernels that were not recorded, in order.
        turn: members by which a step of unknown beginning was turned, so that its first is member `turn` of the recording.
    """

    of: Places
    missing: tuple[int, ...]
    turn: int = 0


def join(recorded: Sequence[str], kernels: Sequence[Kernel], *, may_turn: bool = False) -> Join:
    """Pair a step's recorded work with the inventory of a step.

    Args:
        recorded: family of each kernel and copy, in launch order (`model.carriers.carrier_of` says how copies are written).
        kernels: the inventory's.
        may_turn: the step was cut at an unknown place, so its beginning may stand anywhere in the sequence.
    """
    weight = _weights(recorded, kernels)
    turn, found = _best_turn(weight, len(kernels)) if may_turn else (0, align(weight))
    of = np.full(len(recorded), -1, np.intp)
    of[(found.first + turn) % max(len(recorded), 1)] = found.second
    _pair_out_of_order(of, recorded, kernels)
    missing = sorted(set(range(len(kernels))) - set(of.tolist()))
    return Join(of, tuple(missing), turn)


def _weights(recorded: Sequence[str], kernels: Sequence[Kernel]) -> Weights:
    """How well each recorded member goes with each kernel. Distinct ones are few, so each pair of those is judged once."""
    families = list(dict.fromkeys(recorded))
    kinds = list(dict.fromkeys((kernel.family, kernel.kind) for kernel in kernels))
    table = np.array([[_weight(family, *kind) for kind in kinds] for family in families], np.int64)
    table = table.reshape(len(families), len(kinds))
    rows = [families.index(family) for family in recorded]
    columns = [kinds.index((kernel.family, kernel.kind)) for kernel in kernels]
    return table[np.ix_(rows, columns)]


def _weight(recorded: str, family: str, kind: Kind) -> int:
    carrier = carrier_of(recorded)
    if carrier is None:
        return 0
    if family in carrier.carries:
        return _LIKELIEST if carrier.carries[0] == family else _POSSIBLE
    return _SAME_KIND if carrier.kind is kind and kind in _INTERCHANGEABLE else 0


def _best_turn(weight: Weights, expected: int) -> tuple[int, Alignment]:
    """The turn of the recorded sequence that leaves most in common, tried where the inventory's first members stand."""
    best = 0, align(weight)
    first = np.flatnonzero((weight[:, : min(3, expected)] > 0).any(axis=1))
    for turn in first[:_ROTATIONS].tolist():
        turned = align(np.roll(weight, -turn, axis=0))
        if turned.score > best[1].score:
            best = turn, turned
    return best


def _pair_out_of_order(of: Places, recorded: Sequence[str], kernels: Sequence[Kernel]) -> None:
    """Pair what is left outside the layers by family alone, first with first."""
    taken = set(of.tolist())
    left: dict[str, list[int]] = defaultdict(list)
    for place, kernel in enumerate(kernels):
        if place not in taken and kernel.layer is None:
            left[kernel.family].append(place)
    for row in np.flatnonzero(of < 0).tolist():
        carrier = carrier_of(recorded[row])
        for family in carrier.carries if carrier else ():
            if left[family]:
                of[row] = left[family].pop(0)
                break
