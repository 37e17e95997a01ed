"""Microbenchmarks of the GPU at hand: what memory, products, attention, small kernels and launches cost. Room: engines.

They time kernels in CUDA graphs, as a decode step replays them; never a step. In a step a kernel runs once a layer, between
products whose weights sweep the L2 cache: its code, tables and keys are cold, what the kernel before it wrote is not. So a
kernel is timed by what it adds to a graph in which it follows such a product (`cold`), and, for comparison, back to
back with itself. What comes out are points: what was run, its shape, and the samples of its time; `kerntrace.model.calibrate`
makes a profile of them. Only PyTorch and NumPy are needed; where vLLM can be imported, its own kernels are measured as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Any

from kerntrace.engines.microbench.cold import Pool
from kerntrace.engines.microbench.load import Load, loaded_ns
from kerntrace.engines.microbench.processes import COMMAND, Measurement, Say

BUDGET_S = 200.0
Point = dict[str, Any]

_SAMPLES = 9
_SAMPLE_NS = 4e6
_MOST_REPLAYS = 400
_HEAD_START_CYCLES = 400_000  # the host queues its replays while the GPU spins, so that no launch is waited for
_COLD = 8  # times the L2 cache that weights or keys rotate through
_PAIRS_A_SAMPLE = 5
_WARM_UP_NS = 6e7  # of replays before a difference is taken: clocks have come to rest


class Captured:
    """A graph and what it was captured of: a replay writes to the same addresses, so those tensors have to live as long."""

    def __init__(self, graph: Any, body: Callable[[], object]) -> None:
        self._graph, self._body = graph, body

    def replay(self) -> None:
        self._graph.replay()


class Bench:
    """Times graphs on one CUDA device."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.device = "cuda"
        self.l2_bytes = int(torch.cuda.get_device_properties(0).L2_cache_size)
        self.memory_bytes = int(torch.cuda.get_device_properties(0).total_memory)
        torch.manual_seed(0)

    def slots(self, body: Callable[[], object], calls: int) -> list[float]:
        """Samples of the time (ns) of one of `calls` kernels or groups of kernels that `body` launches, gaps included."""
        graph = self.capture(body)
        one = self.replay_ns(graph, 3)
        replays = max(2, min(_MOST_REPLAYS, int(_SAMPLE_NS / max(one, 1.0))))
        return [self.replay_ns(graph, replays) / calls for _ in range(_SAMPLES)]

    def capture(self, body: Callable[[], object]) -> Any:
        """A graph of what `body` launches, run once so that nothing is left to set up."""
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries allocate their workspaces here, not in the capture
            body()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            body()
        graph.replay()
        torch.cuda.synchronize()
        return Captured(graph, body)

    def replay_ns(self, graph: Any, replays: int) -> float:
        """Time of one replay, back to back."""
        torch = self.torch
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(_HEAD_START_CYCLES)
        begin.record()
        for _ in range(replays):
            graph.replay()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) * 1e6 / replays

    @cached_property
    def pool(self) -> Pool:
        """The weights that all products share."""
        return Pool(self)

    @cached_property
    def load(self) -> Load:
        """Large products, as a prefill runs them."""
        return Load(self)

    def loaded_ns(self, without: Any, whole: Any) -> list[float]:
        """`added_ns` while large products hold the clocks down."""
        return loaded_ns(self, without, whole)

    def added_ns(self, without: Any, whole: Any) -> list[float]:
        """Samples of how much longer a replay of `whole` takes than one of `without`; never below 0.

        Both are replayed in turn, so that a clock that changes meanwhile changes both. A sample is the median of five
        differences of neighbours.
        """
        torch = self.torch
        for _ in range(max(1, int(_WARM_UP_NS / max(self.replay_ns(whole, 1), 1e4)))):
            whole.replay()
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(2 * _PAIRS_A_SAMPLE * _SAMPLES + 1)]
        marks[0].record()
        for number, mark in enumerate(marks[1:]):
            (whole if number % 2 else without).replay()
            mark.record()
        marks[-1].synchronize()
        spans = [1e6 * float(begin.elapsed_time(end)) for begin, end in pairwise(marks)]
        more = [longer - shorter for shorter, longer in zip(spans[::2], spans[1::2])]
        return [max(0.0, median(more[begin::_SAMPLES])) for begin in range(_SAMPLES)]

    def copies(self, size: int, most: int = 256) -> int:
        """How many buffers of this size make them cold when they take turns."""
        return max(2, min(most, ceil(_COLD * self.l2_bytes / max(size, 1))))

    def free(self) -> None:
        """Give back what nothing uses any more.

        Raises:
            RuntimeError: if a kernel went wrong: after that the device answers nothing else in this process.
        """
        self.torch.cuda.synchronize()
        self.torch.cuda.empty_cache()


def measure(
    say: Say = lambda _: None,
    save: Callable[[dict[str, Any]], None] = lambda _: None,
    budget_s: float = BUDGET_S,
    command: Sequence[str] = COMMAND,
) -> dict[str, Any]:
    """Run every group of microbenchmarks, about three minutes, and return the points as a JSON document.

    A group that fails (vLLM of another version, a compiler that is missing) becomes a warning that names it; the others still
    count, and so do the points it measured before. They run in a process of their own, since after a kernel went wrong the
    device answers nothing else in that process: the groups after it then run in a fresh one.

    Args:
        say: is told each group's name before it runs.
        save: is given the document so far after each group and at the end, also when interrupted.
        budget_s: seconds for everything; groups that it leaves no time for become a warning.
        command: what runs groups, as `engines.microbench.child` does.

    Raises:
        KerntraceError: if PyTorch or a CUDA device is missing.
    """
    return Measurement(say, save, time.monotonic() + budget_s, command).run()
