"""Memory and matrix products, as `engines.microbench` times them. Room: engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kerntrace.engines.microbench import Bench, Point

# Outputs and inputs of the products of models from 1 to 9 billion parameters, 8 MB to 1 GB.
PRODUCTS = (
    (2048, 2048),
    (4096, 4096),
    (6144, 4096),
    (3072, 8192),
    (16384, 2048),
    (4608, 3584),
    (4096, 14336),
    (28672, 4096),
    (37888, 3584),
    (65536, 4096),
    (128256, 4096),
)
ROWS = (1, 4, 16, 32)
NODES = 128
_MIB = 1 << 20
_LARGE = 1 << 30  # elements of 4 bytes
_SQUARE = 8192

Body = Callable[[], object]


def memory(bench: Bench) -> Iterator[Point]:
    """DRAM read and copy, the L2 cache by size, and the dense BF16 peak."""
    yield _read(bench, "dram_read")
    yield _copy(bench)
    yield from (_in_cache(bench, mib) for mib in (1, 2, 4, 8))
    yield _peak(bench)


def memory_again(bench: Bench) -> Iterator[Point]:
    """DRAM read once more: at the end it tells whether the GPU slowed down in between."""
    yield _read(bench, "dram_read_again")


def products(bench: Bench) -> Iterator[Point]:
    """Few rows times large cold weights, each as the library runs it: a sum of slices, where it cuts, is part of it."""
    for outputs, inputs in PRODUCTS:
        yield from _product(bench, outputs, inputs)


def _read(bench: Bench, what: str) -> Point:
    torch = bench.torch
    source = torch.randn(_LARGE, device=bench.device)
    out = torch.empty((), device=bench.device)
    times = bench.slots(lambda: torch.sum(source, dim=0, out=out), 1)
    return {"what": what, "bytes": 4 * _LARGE, "times_ns": times}


def _copy(bench: Bench) -> Point:
    torch = bench.torch
    source = torch.randn(_LARGE, device=bench.device)
    target = torch.empty_like(source)
    times = bench.slots(lambda: torch.add(source, 1.0, out=target), 1)
    return {"what": "dram_copy", "bytes": 8 * _LARGE, "times_ns": times}


def _in_cache(bench: Bench, mib: int) -> Point:
    torch = bench.torch
    source = torch.randn(mib * _MIB // 2, dtype=torch.bfloat16, device=bench.device)
    target = torch.empty_like(source)
    times = bench.slots(repeated(NODES, lambda: torch.add(source, 1.0, out=target)), NODES)
    return {"what": "l2", "bytes": 2 * mib * _MIB, "times_ns": times}


def _peak(bench: Bench) -> Point:
    torch = bench.torch
    square = torch.randn(_SQUARE, _SQUARE, dtype=torch.bfloat16, device=bench.device)
    out = torch.empty_like(square)
    times = bench.slots(repeated(4, lambda: torch.mm(square, square, out=out)), 4)
    return {"what": "gemm_peak", "flops": 2 * _SQUARE**3, "times_ns": times}


def _product(bench: Bench, outputs: int, inputs: int) -> list[Point]:
    torch = bench.torch
    copies = bench.copies(2 * outputs * inputs, most=128)
    weights = [torch.randn(outputs, inputs, dtype=torch.bfloat16, device=bench.device) for _ in range(copies)]
    rounds = ceil(48 / copies)

    def times(rows: int) -> list[float]:
        x = torch.randn(rows, inputs, dtype=torch.bfloat16, device=bench.device)
        out = torch.empty(rows, outputs, dtype=torch.bfloat16, device=bench.device)

        def body() -> None:
            for weight in weights:
                torch.mm(x, weight.t(), out=out)

        return bench.slots(repeated(rounds, body), rounds * copies)

    return [{"what": "gemm", "rows": rows, "outputs": outputs, "inputs": inputs, "times_ns": times(rows)} for rows in ROWS]


def repeated(times: int, body: Body) -> Body:
    """The call, several times."""

    def run() -> None:
        for _ in range(times):
            body()

    return run
