"""Memory and matrix products, as `engines.microbench` times them. Room: engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kerntrace.engines.microbench.cold import Body, Case, Pool, Sweep, loaded, repeated, rested

if TYPE_CHECKING:
    from kerntrace.engines.microbench.bench import Bench, Point

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
ROWS = (1, 2, 4, 8, 16, 32)
ALONE_ROWS = (1, 16)
NODES = 128
_MIB = 1 << 20
_LARGE = 1 << 30  # elements of 4 bytes
_SQUARE = 8192
_PROBED = (28672, 4096)


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
    """Few rows times large cold weights, each as the library runs it: a sum of slices, where it cuts, is part of it.

    `gemm` is what the product adds after another one, `gemm_alone` its time back to back with itself.
    """
    yield from rested(bench, _products(bench))


def products_loaded(bench: Bench) -> Iterator[Point]:
    """`gemm_loaded`: the same products right after large ones."""
    yield from loaded(_products(bench))


def _products(bench: Bench) -> Iterator[Case]:
    sweeps = {rows: Sweep(bench, rows) for rows in ROWS}
    for outputs, inputs in PRODUCTS:
        for rows, sweep in sweeps.items():
            shape = {"what": "gemm", "rows": rows, "outputs": outputs, "inputs": inputs}
            body = _multiply(bench, sweep, rows, outputs, inputs)
            yield Case(shape, sweep, body, size=2 * outputs * inputs, alone=24 if rows in ALONE_ROWS else 0)


def _large(bench: Bench) -> int:
    """Elements of 4 bytes that two of fit beside what else a GPU of little memory holds."""
    return min(_LARGE, bench.memory_bytes // 16)


def _read(bench: Bench, what: str) -> Point:
    torch = bench.torch
    source = torch.randn(_large(bench), device=bench.device)
    out = torch.empty((), device=bench.device)
    times = bench.slots(lambda: torch.sum(source, dim=0, out=out), 1)
    return {"what": what, "bytes": 4 * _large(bench), "times_ns": times}


def _copy(bench: Bench) -> Point:
    torch = bench.torch
    source = torch.randn(_large(bench), device=bench.device)
    target = torch.empty_like(source)
    times = bench.slots(lambda: torch.add(source, 1.0, out=target), 1)
    return {"what": "dram_copy", "bytes": 8 * _large(bench), "times_ns": times}


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


def _multiply(bench: Bench, sweep: Sweep, rows: int, outputs: int, inputs: int) -> Body:
    """A product of what the sweep left and the next weights."""
    torch = bench.torch
    x, out = sweep.hot(rows, inputs), torch.empty(rows, outputs, dtype=torch.bfloat16, device=bench.device)
    return lambda: torch.mm(x, sweep.pool.weight(outputs, inputs), out=out)


def conditions(bench: Bench) -> Iterator[Point]:
    """One product with fewer weights in turn: no constant comes of it, it tells what the size of a model does."""
    outputs, inputs = _PROBED
    few = Pool(bench, 3 * 2 * outputs * inputs)
    for rows in ALONE_ROWS:
        sweep = Sweep(bench, rows, few)
        times = sweep.added(_multiply(bench, sweep, rows, outputs, inputs), size=2 * outputs * inputs)
        shape = {"rows": rows, "outputs": outputs, "inputs": inputs}
        yield {"what": "gemm_probe", "how": "few weights", **shape, "times_ns": times}
