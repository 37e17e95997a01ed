"""The small kernels of a decode step, of PyTorch, vLLM and Inductor. Room: engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

from kerntrace.engines.microbench.cold import Body, Case, Sweep, in_order, loaded, rested
from kerntrace.engines.microbench.kernels import NODES

if TYPE_CHECKING:
    from kerntrace.engines.microbench.bench import Bench, Point

SMALL_ROWS = (1, 4, 16, 32)
COMPILED_ROWS = (1, 16)  # each takes the compiler seconds
HIDDEN, MLP, VOCABULARY, QUERY_HEADS, KV_HEADS, HEAD, PAGE = 4096, 14336, 128256, 32, 8, 128, 16


class Work(NamedTuple):
    """A kernel to time.

    Attributes:
        kind, family: as the inventory names them.
        bytes: moved.
        before: what makes its inputs hot, where the product does not write them.
        instead: what runs in the other graph in place of it; the time is that of `body` above it.
    """

    kind: str
    family: str
    bytes: int
    body: Body
    before: Body | None = None
    instead: Body | None = None


Works = Callable[["Bench"], Iterator[tuple[Sweep, int, list[Work]]]]


def small(bench: Bench, works: Works) -> Iterator[Point]:
    """`small` is what each kernel adds after a product, `small_alone` its time back to back with itself."""
    yield from rested(bench, _cases(bench, works))


def small_loaded(bench: Bench, works: Works) -> Iterator[Point]:
    """`small_loaded`: the same right after large products."""
    yield from loaded(_cases(bench, works))


def of_torch(bench: Bench) -> Iterator[tuple[Sweep, int, list[Work]]]:
    """PyTorch's kernels of a step: fills, casts, row selection and what samples."""
    for rows in SMALL_ROWS:
        sweep = Sweep(bench, rows)
        yield sweep, rows, torch_work(bench, sweep, rows)


def of_vllm(bench: Bench) -> Iterator[tuple[Sweep, int, list[Work]]]:
    """vLLM's own kernels of a layer."""
    for rows in SMALL_ROWS:
        sweep = Sweep(bench, rows)
        yield sweep, rows, _vllm_work(bench, sweep, rows)


def of_sampler(bench: Bench) -> Iterator[tuple[Sweep, int, list[Work]]]:
    """vLLM's sampling kernel: what its function takes above the two of PyTorch that it ends with."""
    for rows in SMALL_ROWS:
        yield Sweep(bench, rows), rows, [sampling_work(bench, rows)]


def of_inductor(bench: Bench) -> Iterator[tuple[Sweep, int, list[Work]]]:
    """The same operations as torch.compile's Inductor writes them."""
    compiled = [bench.torch.compile(one, dynamic=False) for one in _functions(bench.torch)]
    for rows in COMPILED_ROWS:
        sweep = Sweep(bench, rows)
        yield sweep, rows, _inductor_work(bench, sweep, rows, *compiled)


def _cases(bench: Bench, works: Works) -> Iterator[Case]:
    for sweep, rows, work in works(bench):
        for one in work:
            shape = {"what": "small", "kind": one.kind, "family": one.family, "rows": rows, "bytes": one.bytes}
            first = [one.before] if one.before else []
            others = [*first, *([one.instead] if one.instead else [])]
            whole, before = in_order(*first, one.body), in_order(*others) if others else None
            yield Case(shape, sweep, whole, before, alone=0 if one.instead else NODES, body=one.body)


def torch_work(bench: Bench, sweep: Sweep, rows: int) -> list[Work]:
    torch, device = bench.torch, bench.device
    ids = torch.zeros(rows, dtype=torch.int32, device=device)
    wide = torch.zeros(rows, dtype=torch.int64, device=device)
    table = torch.randn(4096, HIDDEN, dtype=torch.bfloat16, device=device)
    picked = torch.empty(rows, HIDDEN, dtype=torch.bfloat16, device=device)
    logits = torch.zeros(rows, VOCABULARY, dtype=torch.bfloat16, device=device)
    exact = torch.empty(rows, VOCABULARY, device=device)
    blocks, best = torch.randn(rows, 126, device=device), torch.zeros(rows, 1, dtype=torch.int64, device=device)
    states = sweep.hot(rows, HIDDEN)

    def select() -> None:
        torch.index_select(table, 0, wide, out=picked)

    def argmax() -> None:
        torch.argmax(blocks, dim=-1, keepdim=True, out=best)

    return [
        Work("metadata", "torch.fill", 4 * rows, lambda: ids.fill_(1)),
        Work("embedding", "torch.cast", 12 * rows, lambda: wide.copy_(ids)),
        Work("embedding", "torch.index_select", 4 * rows * HIDDEN, select),
        Work("sampler", "torch.cast", 6 * rows * VOCABULARY, lambda: exact.copy_(logits), before=lambda: logits.fill_(1.0)),
        Work("sampler", "torch.argmax", 4 * rows * 126, argmax, before=lambda: blocks.fill_(1.0)),
        Work("sampler", "torch.gather", 24 * rows, lambda: torch.gather(blocks, 1, best), before=lambda: best.fill_(1)),
        Work("copy", "copy.device_to_device", 4 * rows * HIDDEN, lambda: picked.copy_(states)),
    ]


def _vllm_work(bench: Bench, sweep: Sweep, rows: int) -> list[Work]:
    from vllm import _custom_ops as ops

    torch, device, bf16 = bench.torch, bench.device, bench.torch.bfloat16
    x, gate_up = sweep.hot(rows, HIDDEN), sweep.hot(rows, 2 * MLP)
    residual = torch.randn(rows, HIDDEN, dtype=bf16, device=device)  # cold: the norm before wrote it, products ago
    normed, weight = torch.empty_like(x), torch.ones(HIDDEN, dtype=bf16, device=device)
    positions = torch.zeros(rows, dtype=torch.int64, device=device)
    query = sweep.hot(rows, QUERY_HEADS * HEAD)
    key = sweep.hot(rows, KV_HEADS * HEAD, after=rows * QUERY_HEADS * HEAD)
    table = torch.randn(4096, HEAD, dtype=bf16, device=device)
    gated = torch.empty(rows, MLP, dtype=bf16, device=device)
    cache = torch.zeros(2, 64, PAGE, KV_HEADS, HEAD, dtype=bf16, device=device)
    heads, slots, scale = key.view(rows, KV_HEADS, HEAD), torch.arange(rows, device=device), torch.ones((), device=device)

    def write() -> None:
        ops.reshape_and_cache_flash(heads, heads, cache[0], cache[1], slots, "auto", scale, scale)

    def rotate() -> None:
        ops.rotary_embedding(positions, query, key, HEAD, table, True)

    return [
        Work("norm", "vllm.rms_norm", 4 * rows * HIDDEN, lambda: ops.rms_norm(normed, x, weight, 1e-5)),
        Work("norm", "vllm.fused_add_rms_norm", 8 * rows * HIDDEN, lambda: ops.fused_add_rms_norm(x, residual, weight, 1e-5)),
        Work("rope", "vllm.rotary_embedding", 4 * rows * (QUERY_HEADS + KV_HEADS) * HEAD, rotate),
        Work("activation", "vllm.act_and_mul", 6 * rows * MLP, lambda: torch.ops._C.silu_and_mul(gated, gate_up)),
        Work("kv_write", "vllm.reshape_and_cache", 8 * rows * KV_HEADS * HEAD, write),
    ]


def sampling_work(bench: Bench, rows: int) -> Work:
    """vLLM's sampling, greedy, its parameters where the engine has them: temperatures and seeds in the host's memory.

    The two kernels of PyTorch that its function ends with run in both graphs, each time over what was just written.
    """
    from vllm import _custom_ops  # noqa: F401  (loads the operation that makes a view of the host's memory)
    from vllm.v1.worker.gpu.buffer_utils import UvaBackedTensor
    from vllm.v1.worker.gpu.sample.gumbel import gumbel_sample

    torch, device = bench.torch, bench.device
    logits, index = torch.zeros(rows, VOCABULARY, device=device), torch.arange(rows, dtype=torch.int32, device=device)
    blocks, which = torch.zeros(rows, 126, device=device), torch.zeros(rows, 126, dtype=torch.int64, device=device)
    temperature = UvaBackedTensor(rows, dtype=torch.float32)  # zeros: greedy
    seeds = UvaBackedTensor(rows, dtype=torch.int64)
    known = {
        "logits": logits,
        "idx_mapping": index,
        "expanded_idx_mapping": index,
        "temperature": temperature.gpu,
        "seed": seeds.gpu,
        "pos": torch.zeros(rows, dtype=torch.int64, device=device),
        "apply_temperature": False,
        "is_drafting": False,
    }
    # Its parameters differ between versions of vLLM.
    needed = [one.name for one in signature(gumbel_sample).parameters.values() if one.default is one.empty]
    foreign = [name for name in needed if name not in known]
    if foreign:
        raise ImportError(f"vLLM's gumbel_sample takes {', '.join(foreign)}, which is not known here")
    given = {name: known[name] for name in needed}

    def heat() -> None:
        logits.fill_(1.0)

    def end() -> None:
        torch.gather(which, -1, torch.argmax(blocks, dim=-1, keepdim=True))

    def heat_and_write() -> None:  # what the sampling kernel would leave hot for the two that follow
        heat()
        blocks.fill_(1.0)
        which.fill_(1)

    def sample(_owners: object = (temperature, seeds)) -> None:  # the views live as long as what they are views of
        gumbel_sample(**given)

    size = 4 * rows * VOCABULARY
    return Work("sampler", "vllm.gumbel_sample", size, in_order(sample), before=heat_and_write, instead=end)


def _functions(torch: Any) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Norm with residual, gated activation and rotation, as a model writes them."""

    def add_norm(x: Any, residual: Any, weight: Any) -> tuple[Any, Any]:
        total = x.float() + residual.float()
        scaled = total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1e-5)
        return scaled.to(x.dtype) * weight, total.to(x.dtype)

    def gate(gate_up: Any) -> Any:
        return torch.nn.functional.silu(gate_up[:, :MLP]) * gate_up[:, MLP:]

    def rotate(heads: Any, cosine: Any, sine: Any) -> Any:
        first, second = heads.chunk(2, dim=-1)
        return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)

    return add_norm, gate, rotate


def _inductor_work(bench: Bench, sweep: Sweep, rows: int, add_norm: Any, gate: Any, rotate: Any) -> list[Work]:
    torch, device, bf16 = bench.torch, bench.device, bench.torch.bfloat16
    x, gate_up, heads = sweep.hot(rows, HIDDEN), sweep.hot(rows, 2 * MLP), sweep.hot(rows, QUERY_HEADS, HEAD)
    residual = torch.randn(rows, HIDDEN, dtype=bf16, device=device)
    weight = torch.ones(HIDDEN, dtype=bf16, device=device)
    cosine, sine = torch.randn(2, rows, 1, HEAD // 2, dtype=bf16, device=device).unbind(0)
    return [
        Work("norm", "triton.rms_norm", 8 * rows * HIDDEN, lambda: add_norm(x, residual, weight)),
        Work("activation", "triton.act_and_mul", 6 * rows * MLP, lambda: gate(gate_up)),
        Work("rope", "triton.rope", 4 * rows * QUERY_HEADS * HEAD, lambda: rotate(heads, cosine, sine)),
    ]
