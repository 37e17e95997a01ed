"""Integrity rules that need steps: kernels lost inside steps, and a recording cut at its ends. Room: steps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kerntrace.steps.ownership import Steps
from kerntrace.trace.integrity import Rule
from kerntrace.trace.table import Ints, Mask

_KEPT = 0.95  # steps that keep less than this share of their like's kernels have lost some
_FEW = 10_000  # launches of which one may lack its kernel
_ENOUGH = 6  # steps whose counts only ever fall: in fewer that may be chance
_RECAPTURE = "Record fewer steps or with larger buffers."


def check_steps(steps: Steps, steady: Mask, missing: Ints, *, nodes_known: bool = False) -> list[Rule]:
    """The rules over steps.

    Args:
        missing: for each step, kernel-launch calls begun in it whose kernel is not on record.
        nodes_known: whether replayed kernels say their node, so that the coverage of replays has told already what is missing.
    """
    return [_count(steps, steady, missing, not nodes_known), _cut(steps)]


def tolerable(steps: Steps, steady: Mask, missing: Ints) -> bool:
    """Whether the launches without a kernel are so few that they may have failed or been captured, not lost: their steps are
    then left out instead of the trace refused."""
    return int(missing[steady].sum()) * _FEW <= int(steps.launches[steady].sum())


def _count(steps: Steps, steady: Mask, missing: Ints, compare_replays: bool) -> Rule:
    name = "kernel-count"
    lost = np.flatnonzero(steady & (missing > 0))
    if len(lost) and not tolerable(steps, steady, missing):
        return Rule(
            name,
            False,
            f"the kernel count drifts: {int(missing[lost].sum())} launches in {len(lost)} of {int(steady.sum())} steady steps"
            f" have no kernel on record (steps {_some(lost)}), so records were dropped",
            _RECAPTURE,
        )
    for said, rows in _cells(steps, steady):
        loss = _loss(steps, rows, compare_replays)
        if loss:
            return Rule(name, False, f"the kernel count drifts: of {said}, {loss}", _RECAPTURE)
    told = [f"{_span(steps.kernels[rows])} in {len(rows)} steps of {said}" for said, rows in _cells(steps, steady)]
    return Rule(name, True, "kernels a steady step: " + "; ".join(told[:6]) if told else "no steady step to compare")


def _cells(steps: Steps, steady: Mask) -> list[tuple[str, npt.NDArray[np.intp]]]:
    batch = steps.boundaries.batch
    return [
        (f"batch {b}" if b >= 0 else "unknown batch", np.flatnonzero(steady & (batch == b))) for b in np.unique(batch[steady])
    ]


def _loss(steps: Steps, rows: npt.NDArray[np.intp], compare_replays: bool) -> str:
    """What tells that records were lost though none is reported, in words; empty where nothing does.

    A count that changes is no loss by itself: other kernels may be needed for a longer context. But steps that made the same
    launch calls run as many kernels, and a count that falls from level to level does so because records are dropped.
    """
    kernels = steps.kernels[rows]
    calls = steps.launches[rows] * (int(steps.graph_launches.max()) + 1) + steps.graph_launches[rows]
    for made in np.unique(calls) if compare_replays else ():
        mine = np.flatnonzero(calls == made)
        usual = float(np.median(kernels[mine]))
        few = mine[kernels[mine] < _KEPT * usual]
        if 0 < len(few) * 3 <= len(mine):
            return (
                f"steps {_some(rows[few])} have {_span(kernels[few])} kernels; the same launch calls make {usual:g} elsewhere"
            )
        if fall := _fall(kernels[mine]):
            return f"steps go from {fall[0]} to {fall[1]} kernels while their launch calls stay the same"
    if (
        len(rows) >= _ENOUGH
        and len(np.unique(kernels)) > 2
        and bool(np.all(np.diff(kernels) <= 0))
        and (fall := _fall(kernels))
    ):
        return f"steps go from {fall[0]} to {fall[1]} kernels, from level to level"
    return ""


def _fall(kernels: Ints) -> tuple[int, int] | None:
    """From and to, where the later third of some steps has lost a share of the earlier third's kernels."""
    third = max(len(kernels) // 3, 1)
    if len(kernels) < 2:
        return None
    early, late = float(np.median(kernels[:third])), float(np.median(kernels[-third:]))
    return (int(early), int(late)) if late < _KEPT * early else None


def _cut(steps: Steps) -> Rule:
    """A cut head or tail touches only the steps it cuts, which have no window or no neighbour and so are not counted."""
    name = "cut-head-and-tail"
    open_ = np.flatnonzero(~steps.complete & (steps.operations > 0))
    bare = np.flatnonzero((steps.operations == 0) & (steps.launches > 0))
    told = []
    if len(open_):
        told.append(f"window not closed for step {_some(open_)}")
    if len(bare):
        told.append(f"launches but no kernel on record for step {_some(bare)}")
    return Rule(name, True, "; ".join(told) + ": left out of headline figures" if told else "no step is cut")


def _span(values: Ints) -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"


def _some(rows: npt.NDArray[np.intp]) -> str:
    return ", ".join(str(r) for r in rows[:4]) + (", ..." if len(rows) > 4 else "")
