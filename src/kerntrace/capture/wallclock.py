"""Decode steps by the host's clock alone, without a trace: the same generation with many tokens and with one. Room: capture.

A call's wall contains a prefill and what surrounds it; the difference of two calls over the difference of their tokens is the
time of a decode step. Traced and untraced steps are timed alike, so their ratio is what tracing does to a step: its dilation.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerntrace.stats.interval import Interval
from kerntrace.stats.location import median_interval
from kerntrace.trace.builder import TraceBuilder
from kerntrace.trace.table import Table


@dataclass(frozen=True, slots=True)
class Pair:
    """One repetition: walls of a call with all tokens and of a call with one, in ns."""

    full: int
    single: int


@dataclass(frozen=True, slots=True)
class CellTimes:
    """A cell's repetitions, in the order in which they ran.

    Attributes:
        tokens: of the longer call; at least 2.
        traced: with the recorder in place. Empty where none was asked for.
        untraced: in a process that was never traced. Empty where it was not asked for.
    """

    batch: int
    context: int
    tokens: int
    traced: tuple[Pair, ...]
    untraced: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Dilation:
    """Traced over untraced time of a decode step, measured.

    Attributes:
        ratio: of the medians.
        paired: median ratio of repetitions run next to each other, which a host that changes slowly disturbs alike.
        paired_interval: 95 % of it; None of fewer than six repetitions.
        low, high: least and greatest ratio of repetitions run next to each other.
        traced_ns, untraced_ns: median times of a step.
        repetitions: pairs compared.
    """

    ratio: float
    paired: float
    paired_interval: Interval | None
    low: float
    high: float
    traced_ns: float
    untraced_ns: float
    repetitions: int


def step_times(pairs: Sequence[Pair], tokens: int) -> list[float]:
    """The time of a decode step by each repetition, ns."""
    return [(pair.full - pair.single) / (tokens - 1) for pair in pairs]


def dilation(cell: CellTimes) -> Dilation | None:
    """What tracing did to a cell's step; None where one side was not timed, or its step has no positive time."""
    traced, untraced = step_times(cell.traced, cell.tokens), step_times(cell.untraced, cell.tokens)
    ratios = [t / u for t, u in zip(traced, untraced) if u > 0]
    if not ratios or statistics.median(untraced) <= 0:
        return None
    middle, base = statistics.median(traced), statistics.median(untraced)
    paired, interval = statistics.median(ratios), median_interval(np.array(ratios))
    return Dilation(middle / base, paired, interval, min(ratios), max(ratios), middle, base, len(ratios))


def walls_table(mode: str, cells: Sequence[CellTimes]) -> Table:
    """The untraced repetitions as a trace's `walls`."""
    rows = [
        (cell.batch, cell.context, tokens, repetition, wall)
        for cell in cells
        for repetition, pair in enumerate(cell.untraced)
        for tokens, wall in ((cell.tokens, pair.full), (1, pair.single))
    ]
    builder = TraceBuilder(producer="kerntrace")
    names = ("batch", "context", "tokens", "repetition", "wall_ns")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    builder.add("walls", {"mode": [mode] * len(rows), **columns})
    return builder.build().walls
