"""Headline figures: medians over the steady steps of one batch size. Room: accounting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.accounting.analysis import Analysis
from kerntrace.accounting.ledger import GAP_TERMS, Ledger
from kerntrace.accounting.phases import Phases, attribute_phases
from kerntrace.steps.names import KINDS
from kerntrace.steps.ownership import Steps
from kerntrace.trace.blocks import Part, summed_in_blocks
from kerntrace.trace.table import Ints

TERMS = ("wall", "busy", "host_exposed", *GAP_TERMS)


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, least and greatest of some values. The median of an even number is the mean of the middle two."""

    median: float
    min: int
    max: int


@dataclass(frozen=True, slots=True)
class Cell:
    """The steady steps of one kind and batch.

    Attributes:
        kind: decode, or unknown where ranges do not say.
        batch: sequences decoded; None where not known.
        steps: their numbers.
        counts: kernels, launches and graph_launches a step.
        terms: every ledger term a step, by name, in ns.
    """

    kind: str
    batch: int | None
    steps: npt.NDArray[np.intp]
    counts: dict[str, Spread]
    terms: dict[str, Spread]


@dataclass(frozen=True, slots=True)
class PhaseShare:
    """Exposed host time of one phase a step, over a cell: means, so that phases sum to the mean of the term.

    Attributes:
        host_wait, launch_call: mean ns a step.
    """

    name: str
    host_wait: float
    launch_call: float


def spread(values: Ints) -> Spread:
    """Of at least one value."""
    middle = float(np.median(values))
    return Spread(int(middle) if middle.is_integer() else middle, int(values.min()), int(values.max()))


def cells_of(analysis: Analysis) -> list[Cell]:
    """The headline cells of an analysis, by batch; none where a rule refuses them."""
    steps, ledger = analysis.steps, analysis.ledger
    if steps is None or ledger is None:
        return []
    found = []
    kind, batch = steps.boundaries.kind, steps.boundaries.batch
    for k, b in sorted({(int(k), int(b)) for k, b in zip(kind[analysis.steady], batch[analysis.steady])}):
        rows = np.flatnonzero(analysis.steady & (kind == k) & (batch == b))
        found.append(_cell(KINDS[k], b if b >= 0 else None, rows, steps, ledger))
    return found


def _cell(kind: str, batch: int | None, rows: npt.NDArray[np.intp], steps: Steps, ledger: Ledger) -> Cell:
    counts = {name: spread(getattr(steps, name)[rows]) for name in ("kernels", "launches", "graph_launches")}
    return Cell(kind, batch, rows, counts, {name: spread(ledger.term(name)[rows]) for name in TERMS})


def phases_of(analysis: Analysis) -> Phases | None:
    """Exposed host time by phase, for every step."""
    if analysis.ledger is None or analysis.steps is None:
        return None
    return attribute_phases(analysis.trace, analysis.ledger.gaps, len(analysis.steps))


def phase_shares(phases: Phases, cell: Cell) -> list[PhaseShare]:
    """A cell's phases, the longest first; those that cost nothing are left out."""
    wait, call = phases.host_wait[cell.steps].mean(axis=0), phases.launch_call[cell.steps].mean(axis=0)
    shares = [PhaseShare(n, float(w), float(c)) for n, w, c in zip(phases.names, wait, call) if w or c]
    return sorted(shares, key=lambda s: -(s.host_wait + s.launch_call))


def outside_steps(analysis: Analysis) -> dict[str, int]:
    """Kernels that no step owns, by reason."""
    steps, ops = analysis.steps, analysis.ops
    if steps is None:
        return {}
    alone = ops.is_kernel & (steps.owner < 0)
    bare = int(np.count_nonzero(alone & (ops.launch < 0)))
    early = int(np.count_nonzero(alone)) - bare
    told = {"launched before the first step": early, "no launch call on record": bare}
    return {reason: count for reason, count in told.items() if count}


def graph_coverage(analysis: Analysis) -> npt.NDArray[np.float64]:
    """For each step, the nodes on record of those that its graph replays have; NaN for a step without graph launches."""
    steps, found = analysis.steps, analysis.coverage
    if steps is None:
        return np.zeros(0)
    begun = analysis.trace.api_calls.ints("start_ns")[found.call]
    step = np.searchsorted(steps.boundaries.begins, begun, side="right") - 1
    seen, expected = (
        np.bincount(step[step >= 0], weights=values[step >= 0], minlength=len(steps)) for values in (found.seen, found.expected)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, seen / expected, np.nan)


@dataclass(frozen=True, slots=True)
class Delays:
    """How long work waited after its launch, a step: means over the first operation of each launch, in ns; NaN for none.

    Attributes:
        queue_delay: from the launch call's end to the start on the device, where it started after that.
        launch_latency: from the launch call's beginning to the start on the device.
    """

    queue_delay: npt.NDArray[np.float64]
    launch_latency: npt.NDArray[np.float64]


def delays_of(analysis: Analysis) -> Delays:
    """Queue delay and launch latency of every step."""
    steps, ops, calls = analysis.steps, analysis.ops, analysis.trace.api_calls
    if steps is None or not len(calls) or not len(ops):
        nothing = np.full(0 if steps is None else len(steps), np.nan)
        return Delays(nothing, nothing)
    begin, end = calls.ints("start_ns"), calls.ints("end_ns", null=np.iinfo(np.int64).max)
    owner = steps.owner

    def parts(rows: slice) -> list[Part]:
        first = ops.first[rows]
        call = np.flatnonzero((first >= 0) & (owner[first] >= 0))
        first = first[call]
        step, start = owner[first], ops.start[first]
        delay, latency = start - end[rows][call], start - begin[rows][call]
        after = delay >= 0
        return [(step[after], delay[after]), (step[after], None), (step, latency), (step, None)]

    delay, delayed, latency, launched = summed_in_blocks(len(calls), len(steps), parts)
    with np.errstate(invalid="ignore"):
        return Delays(delay / delayed, latency / launched)  # 0 / 0 is NaN: there was none
