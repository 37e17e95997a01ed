"""What a kernel adds to a graph in which it follows a product with cold weights. Room: engines.

    slot = (time of [product, kernel] x calls - time of [product] x calls) / calls

The product's weights are several times the L2 cache, and each time others of a pool as large as a model. So they leave nothing
in the caches of what the kernel used the last time: its code, its tables, its keys. What the product itself writes stays, as it
does in a step; a kernel that reads what the kernel before it wrote is given that as its input. Gaps between nodes are in both
graphs, so each kernel brings just its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kerntrace.engines.microbench.bench import Bench, Point

Body = Callable[[], object]

CALLS = 24
_TIMES_THE_CACHE = 3
_INPUTS = 4096
_LEAST_OUTPUTS = 28672  # wide enough for the input of any kernel of a layer
_OUTPUTS_STEP = 1024
_BYTES_A_GRAPH = 2_000_000_000
POOL_BYTES = 16_000_000_000  # a model of eight billion parameters
_SHARE_OF_MEMORY = 0.3


class Pool:
    """Memory that weights are taken from in turn: so much that not even its addresses are still translated the next time.

    Args:
        size: bytes; at most 30 % of the GPU's memory.
    """

    def __init__(self, bench: Bench, size: int = POOL_BYTES) -> None:
        torch = bench.torch
        self._elements = min(size, int(_SHARE_OF_MEMORY * bench.memory_bytes)) // 2
        self._values = torch.randn(self._elements, dtype=torch.bfloat16, device=bench.device)
        self._next = 0

    def weight(self, outputs: int, inputs: int) -> Any:
        """The next weights of this shape, as a product takes them: inputs x outputs."""
        begin = self._next if self._next + outputs * inputs <= self._elements else 0
        self._next = begin + outputs * inputs
        return self._values[begin : self._next].view(outputs, inputs).t()


class Sweep:
    """A product of a few rows and weights that sweep the L2 cache; `hot` is what it wrote last."""

    def __init__(self, bench: Bench, rows: int, pool: Pool | None = None) -> None:
        self.bench, self.pool = bench, pool or bench.pool
        torch = bench.torch
        wanted = ceil(_TIMES_THE_CACHE * bench.l2_bytes / (2 * _INPUTS * _OUTPUTS_STEP)) * _OUTPUTS_STEP
        self._outputs = max(_LEAST_OUTPUTS, wanted)
        kind = {"dtype": torch.bfloat16, "device": bench.device}
        self._x = torch.randn(rows, _INPUTS, **kind)
        self.out = torch.empty(rows, self._outputs, **kind)

    def __call__(self) -> None:
        self.bench.torch.mm(self._x, self.pool.weight(self._outputs, _INPUTS), out=self.out)

    def hot(self, *shape: int, after: int = 0) -> Any:
        """A view of what the product wrote, `after` so many elements, in this shape."""
        size = 1
        for length in shape:
            size *= length
        return self.out.view(-1)[after : after + size].view(*shape)

    def added(self, whole: Body, before: Body | None = None, size: int = 0) -> list[float]:
        """Samples of the time (ns) that a call of `whole` adds after the product, at rested clocks.

        Args:
            before: what runs after the product in the other graph; `whole` has to run it too.
            size: bytes that `whole` reads: long kernels are called less often.
        """
        calls, without, both = self._graphs(whole, before, size)
        return [more / calls for more in self.bench.added_ns(without, both)]

    def added_loaded(self, whole: Body, before: Body | None = None, size: int = 0) -> list[float]:
        """The same right after large products, when the power cap may hold the clocks down."""
        calls, without, both = self._graphs(whole, before, size)
        return [more / calls for more in self.bench.loaded_ns(without, both)]

    def _graphs(self, whole: Body, before: Body | None, size: int) -> tuple[int, Any, Any]:
        calls = calls_for(size)
        without = self.bench.capture(repeated(calls, in_order(self, before) if before else self))
        return calls, without, self.bench.capture(repeated(calls, in_order(self, whole)))


class Case(NamedTuple):
    """A kernel that is timed in both states.

    Attributes:
        shape: its point, without times.
        before, size: as of `Sweep.added`.
        alone: calls of `body` to time back to back with itself; 0 for none.
        body: what runs for that; None where `whole` does.
    """

    shape: Point
    sweep: Sweep
    whole: Body
    before: Body | None = None
    size: int = 0
    alone: int = 0
    body: Body | None = None


def rested(bench: Bench, cases: Iterable[Case]) -> Iterator[Point]:
    """What each adds after a product, and `..._alone` where it is timed back to back with itself."""
    for case in cases:
        yield case.shape | {"times_ns": case.sweep.added(case.whole, case.before, case.size)}
        if case.alone:
            times = bench.slots(repeated(case.alone, case.body or case.whole), case.alone)
            yield case.shape | {"what": f"{case.shape['what']}_alone", "times_ns": times}


def loaded(cases: Iterable[Case]) -> Iterator[Point]:
    """`..._loaded`: what each adds after a product, right after large products."""
    for case in cases:
        times = case.sweep.added_loaded(case.whole, case.before, case.size)
        yield case.shape | {"what": f"{case.shape['what']}_loaded", "times_ns": times}


def calls_for(size: int) -> int:
    """How often a kernel that reads so many bytes is called in a graph."""
    return max(4, min(CALLS, _BYTES_A_GRAPH // max(size, 1)))


def in_turn(bodies: Iterable[Body]) -> Body:
    """One of the calls each time, the next one the next time."""
    turns = cycle(bodies)
    return lambda: next(turns)()


def in_order(*bodies: Body) -> Body:
    """All of the calls, one after the other."""

    def run() -> None:
        for body in bodies:
            body()

    return run


def repeated(times: int, body: Body) -> Body:
    """The call, several times."""

    def run() -> None:
        for _ in range(times):
            body()

    return run
