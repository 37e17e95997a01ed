"""Integrity rules that need steps: kernels lost inside steps, and a recording cut at its ends. Room: steps."""

from __future__ import annotations

import numpy as np

from kerntrace.steps.ownership import Steps
from kerntrace.trace.integrity import Rule
from kerntrace.trace.table import Ints, Mask

_FALL = 0.95  # a cell's later steps keeping less than this share of its earlier ones' kernels is a fall, not a variant
_RECAPTURE = "Record fewer steps or with larger buffers."


def check_steps(steps: Steps, steady: Mask, missing: Ints) -> list[Rule]:
    """The rules over steps.

    Args:
        missing: for each step, kernel-launch calls begun in it whose kernel is not on record.
    """
    return [_count(steps, steady, missing), _cut(steps)]


def _count(steps: Steps, steady: Mask, missing: Ints) -> Rule:
    name = "kernel-count"
    lost = np.flatnonzero(steady & (missing > 0))
    if len(lost):
        return Rule(
            name,
            False,
            f"the kernel count drifts: {int(missing[lost].sum())} launches in {len(lost)} of {int(steady.sum())} steady steps"
            f" have no kernel on record (steps {_some(lost)}), so records were dropped",
            _RECAPTURE,
        )
    for said, rows in _cells(steps, steady):
        fall = _fall(steps.kernels[rows])
        if fall:
            return Rule(
                name,
                False,
                f"the kernel count drifts: steps of {said} go from {fall[0]} to {fall[1]} kernels (steps {_some(rows)}),"
                " as when records are dropped though none is reported",
                _RECAPTURE,
            )
    told = [f"{_span(steps.kernels[rows])} in {len(rows)} steps of {said}" for said, rows in _cells(steps, steady)]
    return Rule(name, True, "kernels a steady step: " + "; ".join(told[:6]) if told else "no steady step to compare")


def _cells(steps: Steps, steady: Mask) -> list[tuple[str, np.ndarray]]:
    batch = steps.boundaries.batch
    return [
        (f"batch {b}" if b >= 0 else "unknown batch", np.flatnonzero(steady & (batch == b))) for b in np.unique(batch[steady])
    ]


def _fall(kernels: Ints) -> tuple[int, int] | None:
    """From and to, where the later third of a cell's steps has lost a share of the earlier third's kernels."""
    third = max(len(kernels) // 3, 1)
    if len(kernels) < 2:
        return None
    early, late = float(np.median(kernels[:third])), float(np.median(kernels[-third:]))
    return (int(early), int(late)) if late < _FALL * early else None


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


def _some(rows: np.ndarray) -> str:
    return ", ".join(str(r) for r in rows[:4]) + (", ..." if len(rows) > 4 else "")
