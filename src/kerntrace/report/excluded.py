"""Which steps headline figures leave out, and why, for people. Room: report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerntrace.accounting.analysis import Analysis
from kerntrace.steps.steady import exclusions, why_left_out


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The steps left out for one reason; `which` has their numbers, cut where there are many runs of them."""

    reason: str
    count: int
    which: str


def left_out(analysis: Analysis) -> list[LeftOut]:
    """Every reason for which a step was left out."""
    if analysis.steps is None:
        return []
    reasons = why_left_out(analysis.steps, analysis.steady)
    counts = exclusions(analysis.steps, analysis.steady)
    return [LeftOut(reason, n, _numbers(np.flatnonzero(reasons == reason).tolist())) for reason, n in counts.items()]


def _numbers(numbers: Sequence[int], most: int = 6) -> str:
    """Ascending numbers of steps as `steps 0, 3 to 5`; of many runs the first `most`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    told = [str(low) if low == high else f"{low} to {high}" for low, high in runs[:most]]
    return f"step{'s' if len(numbers) > 1 else ''} {', '.join(told)}" + (", ..." if len(runs) > most else "")
