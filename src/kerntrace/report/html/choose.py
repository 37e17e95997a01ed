"""Which steps a page draws: the timeline's runs, and a sample of very many for the distribution. Room: report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.accounting.analysis import Analysis
from kerntrace.accounting.summary import Cell
from kerntrace.errors import UsageError

TIMELINE_STEPS = 20
DRAWN_STEPS = 3_000
_LONGEST_KEPT = 100


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive steps that a timeline shows.

    Attributes:
        batch: of the cell they are taken from; None where that is not known.
        first, last: numbers of its first and last step.
        rule: how they were chosen, in words.
    """

    batch: int | None
    first: int
    last: int
    rule: str


def timeline_runs(analysis: Analysis, cells: list[Cell], asked: tuple[int, int] | None) -> list[Run]:
    """The runs of steps to draw: those asked for, else for each cell the steady steps around its median one.

    Raises:
        UsageError: if the steps asked for are not there.
    """
    steps = analysis.steps
    if steps is None or analysis.ledger is None or not len(steps):
        return []
    if asked is not None:
        first, last = asked
        if not 0 <= first <= last < len(steps):
            raise UsageError(f"--steps {first}-{last}: the trace has steps 0 to {len(steps) - 1}", "Write it as 20-39.")
        return [Run(None, first, last, "as asked for by --steps")]
    if cells:
        most = max(1, TIMELINE_STEPS // len(cells))
        return [_around_median(analysis, cell, most) for cell in cells]
    working = np.flatnonzero(steps.operations > 0)
    if not len(working):
        return []
    first = int(working[0])
    last = min(first + TIMELINE_STEPS - 1, len(steps) - 1)
    return [Run(None, first, last, "no step is steady: the first steps that ran anything")]


def _around_median(analysis: Analysis, cell: Cell, most: int) -> Run:
    """Up to `most` consecutive steps of the cell around the one whose wall is nearest to the cell's median."""
    assert analysis.ledger is not None  # the caller has seen to that
    wall = analysis.ledger.wall[cell.steps]
    middle = int(np.argmin(np.abs(wall - cell.terms["wall"].median)))
    numbers = cell.steps.astype(np.int64)
    piece = np.cumsum(np.concatenate([[0], np.diff(numbers) != 1]))
    together = np.flatnonzero(piece == piece[middle])
    low = max(int(together[0]), min(middle - most // 2, int(together[-1]) - most + 1))
    high = min(int(together[-1]), low + most - 1)
    rule = f"{high - low + 1} consecutive steady steps around the one whose wall is nearest to the median"
    return Run(cell.batch, int(numbers[low]), int(numbers[high]), rule)


@dataclass(frozen=True, slots=True)
class Sample:
    """Steps drawn in the distribution.

    Attributes:
        steps: their numbers, ascending.
        rule: how they were chosen, in words.
    """

    steps: npt.NDArray[np.int64]
    rule: str


def sample_steps(analysis: Analysis) -> Sample:
    """Every step; of more than `DRAWN_STEPS`, every k-th and the longest."""
    count = len(analysis.steps) if analysis.steps is not None else 0
    everyone = np.arange(count, dtype=np.int64)
    if count <= DRAWN_STEPS or analysis.ledger is None:
        return Sample(everyone, f"all {count} steps")
    every = -(-count // DRAWN_STEPS)
    longest = np.argpartition(-analysis.ledger.wall, _LONGEST_KEPT)[:_LONGEST_KEPT]
    chosen = np.unique(np.concatenate([everyone[::every], longest]))
    rule = (
        f"a sample: every {_ordinal(every)} of {count} steps, and the {_LONGEST_KEPT} of greatest wall (medians are over all)"
    )
    return Sample(chosen, rule)


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
