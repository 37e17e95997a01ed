"""What small kernels add to a stream that they are launched on one by one, as those outside a step's graph are. Room: engines.

The stream spins while the host queues everything, so that the GPU never waits for a launch: what is timed is the device's own
slot. A kernel is timed by what it adds after a product with cold weights, as in a graph (`cold`); between two
launches of a stream there is more than between two nodes of a graph, and that is part of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING, Any

from kerntrace.engines.microbench.cold import Body, Sweep, in_order, repeated
from kerntrace.engines.microbench.small import HIDDEN, Work, sampling_work, torch_work

if TYPE_CHECKING:
    from kerntrace.engines.microbench.bench import Bench, Point

STREAM_ROWS = (1, 4, 16, 32)
CALLS = 12
SAMPLES = 9
_PAIRS_A_SAMPLE = 3
_CYCLES_A_NS = 2.0  # above any clock of a GPU so far: it spins at least as long as is asked
_MARGIN = 2.0


def stream_torch(bench: Bench) -> Iterator[Point]:
    """PyTorch's kernels outside the graph and copies, launched one by one."""
    for rows in STREAM_ROWS:
        sweep = Sweep(bench, rows)
        yield from _streamed(bench, sweep, rows, [*torch_work(bench, sweep, rows), *_host_copies(bench, rows)])


def stream_sampler(bench: Bench) -> Iterator[Point]:
    """vLLM's sampling kernel, launched one by one."""
    for rows in STREAM_ROWS:
        yield from _streamed(bench, Sweep(bench, rows), rows, [sampling_work(bench, rows)])


def stream_gap(bench: Bench) -> list[Point]:
    """A kernel launched one by one, back to back; less its own duration it is the gap of a stream."""
    torch, calls = bench.torch, 128
    x = torch.randn(16, HIDDEN, dtype=torch.bfloat16, device=bench.device)
    y = torch.empty_like(x)
    body = repeated(calls, lambda: torch.add(x, 1.0, out=y))
    hold = _Hold(bench, body)
    return [{"what": "stream_slot", "times_ns": [hold.time_ns(body) / calls for _ in range(SAMPLES)]}]


class _Hold:
    """Times launches that a stream is kept from beginning until all are queued."""

    def __init__(self, bench: Bench, longest: Body) -> None:
        self._torch = bench.torch
        longest()  # sets up what there is to set up
        self._torch.cuda.synchronize()
        begin = time.perf_counter_ns()
        longest()
        self._cycles = int(_MARGIN * _CYCLES_A_NS * max(time.perf_counter_ns() - begin, 100_000))

    def time_ns(self, body: Body) -> float:
        cuda = self._torch.cuda
        begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        cuda.synchronize()
        cuda._sleep(self._cycles)
        begin.record()
        body()
        end.record()
        end.synchronize()
        return 1e6 * float(begin.elapsed_time(end))


def _streamed(bench: Bench, sweep: Sweep, rows: int, work: list[Work]) -> Iterator[Point]:
    for one in work:
        first = [one.before] if one.before else []
        others = [*first, *([one.instead] if one.instead else [])]
        without = repeated(CALLS, in_order(sweep, *others))
        whole = repeated(CALLS, in_order(sweep, *first, one.body))
        hold = _Hold(bench, whole)
        more = [(hold.time_ns(whole) - hold.time_ns(without)) / CALLS for _ in range(_PAIRS_A_SAMPLE * SAMPLES)]
        times = [max(0.0, median(more[begin::SAMPLES])) for begin in range(SAMPLES)]
        yield {
            "what": "stream_small",
            "kind": one.kind,
            "family": one.family,
            "rows": rows,
            "bytes": one.bytes,
            "times_ns": times,
        }


def _host_copies(bench: Bench, rows: int) -> list[Work]:
    """Token numbers to the GPU and back, from and to page-locked memory."""
    torch = bench.torch
    here: Any = torch.zeros(rows, dtype=torch.int32, pin_memory=True)
    there: Any = torch.zeros(rows, dtype=torch.int32, device=bench.device)
    return [
        Work("copy", "copy.host_to_device", 4 * rows, lambda: there.copy_(here, non_blocking=True)),
        Work("copy", "copy.device_to_host", 4 * rows, lambda: here.copy_(there, non_blocking=True)),
    ]
