"""Times in the state that serving has: right after large products, when the power cap holds the clocks down. Room: engines.

A prefill multiplies large matrices; the decode steps after it begin at the clocks that it left. So each difference of graphs is
taken twice: rested (`microbench.Bench.added_ns`), and with a few milliseconds of large products before each pair. How fast a
product of a decode step recovers is measured by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from kerntrace.engines.microbench.cold import CALLS, Sweep, repeated

if TYPE_CHECKING:
    from kerntrace.engines.microbench.bench import Bench, Point

SQUARE = 8192
LOAD_NS = 9e6  # of large products before each pair
PAIRS_A_SAMPLE = 3
SAMPLES = 9
RECOVERY_ROWS = (1, 16)
RECOVERY_LOAD_NS = 1.5e8  # as a prefill of ten thousand tokens takes
RECOVERY_NS = 4e8
_CURVES = 5


class Load:
    """Large BF16 products of random values, the work that draws the most power."""

    def __init__(self, bench: Bench) -> None:
        torch = bench.torch
        square = torch.randn(SQUARE, SQUARE, dtype=torch.bfloat16, device=bench.device)
        out = torch.empty_like(square)
        self._graph = bench.capture(lambda: torch.mm(square, square, out=out))
        self._one_ns = bench.replay_ns(self._graph, 20)

    def __call__(self, length_ns: float) -> None:
        """Queues products that take about so long."""
        for _ in range(max(1, round(length_ns / max(self._one_ns, 1e4)))):
            self._graph.replay()


def loaded_ns(bench: Bench, without: Any, whole: Any) -> list[float]:
    """Samples of how much longer a replay of `whole` takes than one of `without`, both right after large products.

    Which of the two comes first alternates, so that a clock that recovers in between favours neither. A sample is the median
    of three differences; never below 0.
    """
    torch, load = bench.torch, bench.load
    load(10 * LOAD_NS)
    trios = []
    for number in range(PAIRS_A_SAMPLE * SAMPLES + 1):
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
        first, second = (whole, without) if number % 2 else (without, whole)
        load(LOAD_NS)
        marks[0].record()
        first.replay()
        marks[1].record()
        second.replay()
        marks[2].record()
        trios.append(marks)
    trios[-1][-1].synchronize()
    spans = [[1e6 * float(begin.elapsed_time(end)) for begin, end in pairwise(marks)] for marks in trios]
    # Neighbours of opposite order are averaged: what the order does cancels.
    more = [(first - second) if number % 2 else (second - first) for number, (first, second) in enumerate(spans)]
    balanced = [(one + other) / 2 for one, other in pairwise(more)]
    return [max(0.0, median(balanced[begin::SAMPLES])) for begin in range(SAMPLES)]


def recovery(bench: Bench) -> Iterator[Point]:
    """A product of a few rows over cold weights, by the time since large products ended: each point is a median of curves."""
    for rows in RECOVERY_ROWS:
        sweep = Sweep(bench, rows)
        graph = bench.capture(repeated(CALLS, sweep))
        bench.replay_ns(graph, 20)
        count = max(4, int(RECOVERY_NS / max(bench.replay_ns(graph, 20), 1e4)))
        curves = [_curve(bench, graph, count) for _ in range(_CURVES)]
        for place in range(count):
            begin = median(sum(curve[:place]) for curve in curves)
            times = [curve[place] / CALLS for curve in curves]
            yield {"what": "recovery", "rows": rows, "after_ns": begin, "times_ns": times}


def _curve(bench: Bench, graph: Any, count: int) -> list[float]:
    """Time of each replay, the first right after large products."""
    torch = bench.torch
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    bench.load(RECOVERY_LOAD_NS)
    marks[0].record()
    for mark in marks[1:]:
        graph.replay()
        mark.record()
    marks[-1].synchronize()
    return [1e6 * float(begin.elapsed_time(end)) for begin, end in pairwise(marks)]
