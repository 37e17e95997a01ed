"""What a page says first of a cell: what its step waits for, by a rule that the page states. Room: report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kerntrace.accounting.analysis import Analysis
from kerntrace.accounting.ledger import HOST_EXPOSED
from kerntrace.accounting.summary import Cell

Json = dict[str, Any]

RULE = (
    "A step is GPU-bound where GPU busy is at least nine tenths of its wall, and dispatch-bound where more than half of it is"
    " waiting for the host, most of that inside the step and with a launch call for at least every other kernel; host-bound"
    " where more than half of it is waiting for the host otherwise; else both the GPU and the host hold it up."
)
_GPU_BOUND = 0.9


@dataclass(frozen=True, slots=True)
class Exposure:
    """Host-exposed time of a cell's steps by where it lies, ns; medians over steps of each step's sum (measured)."""

    within: float
    between: float


def exposure(analysis: Analysis, cell: Cell) -> Exposure:
    """Where a cell's host-exposed time lies: inside the step, or in the gap before the next one."""
    assert analysis.ledger is not None  # cells come from a ledger
    within, between = (
        float(np.median(np.sum([side[name][cell.steps] for name in HOST_EXPOSED], axis=0, dtype=np.int64)))
        for side in (analysis.ledger.within, analysis.ledger.between)
    )
    return Exposure(within, between)


def bound(row: Json, found: Exposure) -> str:
    """What a cell's step is bound by, by `RULE`.

    Args:
        row: the cell's row of a `summary`.
    """
    wall, busy, exposed = (row[name]["median"] for name in ("wall_ns", "busy_ns", "host_exposed_ns"))
    if busy >= _GPU_BOUND * wall:
        return "GPU-bound"
    if exposed > wall / 2:
        one_by_one = row["launches"]["median"] >= row["kernels"]["median"] / 2
        return "dispatch-bound" if one_by_one and found.within > found.between else "host-bound"
    return "bound by both the GPU and the host"


def main_phase(row: Json) -> int | None:
    """The place of the phase in which the GPU waited longest; None where it did not wait or the time lies in no range."""
    phases = row["phases"]
    named = [i for i, phase in enumerate(phases) if not phase["name"].startswith("(")]
    return max(named, key=lambda i: phases[i]["host_wait_mean_ns"] + phases[i]["launch_call_mean_ns"]) if named else None
