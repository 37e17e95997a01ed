"""Which steps headline figures are taken over, and why the others are left out. Room: steps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kerntrace.steps.names import KINDS
from kerntrace.steps.ownership import Steps
from kerntrace.trace.table import Mask

DECODE, UNKNOWN_KIND = KINDS.index("decode"), KINDS.index("unknown")


def steady_steps(steps: Steps) -> Mask:
    """Steps that are complete and whose two neighbours are of their kind: decode steps of one batch size.

    The first decode step after a prefill runs one kernel more than the others, and the last step of a trace is cut. Where the
    kind is unknown (steps by a pattern or by periodicity), a neighbour is of the same kind if it ran the same kernels.
    """
    alike = _alike_next(steps)
    steady: Mask = steps.complete & np.append(alike, False) & np.insert(alike, 0, False)
    return steady


def why_left_out(steps: Steps, steady: Mask) -> npt.NDArray[np.object_]:
    """For each step the reason for which headline figures leave it out; empty for one that they are taken over.

    Args:
        steady: steps that they are taken over: those of `steady_steps`, or fewer where a step's launches are not all on record.
    """
    reasons = _reasons(steps)
    reasons[steady_steps(steps)] = "launched work that is not on record"
    reasons[steady] = ""
    return reasons


def exclusions(steps: Steps, steady: Mask) -> dict[str, int]:
    """How many steps were left out of the headline figures, by reason."""
    found, counts = np.unique(why_left_out(steps, steady)[~steady], return_counts=True)
    return {str(reason): int(count) for reason, count in zip(found, counts)}


def _alike_next(steps: Steps) -> Mask:
    """Whether each step but the last and the one after it are of one kind and batch."""
    kind, batch = steps.boundaries.kind, steps.boundaries.batch
    same_batch = (kind[:-1] == DECODE) & (kind[1:] == DECODE) & (batch[:-1] == batch[1:])
    same_work = (steps.signature[:-1] == steps.signature[1:]) & (steps.kernels[:-1] > 0)
    alike: Mask = same_batch | ((kind[:-1] == UNKNOWN_KIND) & (kind[1:] == UNKNOWN_KIND) & same_work)
    return alike


def _reasons(steps: Steps) -> npt.NDArray[np.object_]:
    """For each step the reason for which it would not be steady, were it not."""
    kind = steps.boundaries.kind
    reason = np.full(len(steps), "next to a step of another kind or batch", dtype=object)
    reason[kind == UNKNOWN_KIND] = "next to a step with other kernels"
    if len(reason):
        reason[0] = "first step on record"
    reason[~steps.complete] = "window not closed (nothing after it on record)"
    last = int(np.flatnonzero(steps.operations).max(initial=-1))
    reason[:last][~steps.complete[:last]] = "window not closed (the next step's work does not start later)"
    reason[steps.operations == 0] = "ran nothing on the device"
    for name, said in (("prefill", "prefill step"), ("mixed", "prefill and decode in one step"), ("empty", "empty iteration")):
        reason[kind == KINDS.index(name)] = said
    return reason
