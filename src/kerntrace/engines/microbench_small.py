"""The small kernels of a decode step, of PyTorch, vLLM and Inductor. Room: engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from kerntrace.engines.microbench_kernels import NODES, Body, repeated

if TYPE_CHECKING:
    from kerntrace.engines.microbench import Bench, Point

SMALL_ROWS = (1, 16)
HIDDEN, MLP, VOCABULARY, QUERY_HEADS, KV_HEADS, HEAD, PAGE = 4096, 14336, 128256, 32, 8, 128, 16
Work = tuple[str, str, int, Body]  # kind, family, bytes moved, one call


def small_torch(bench: Bench) -> Iterator[Point]:
    """PyTorch's kernels of a step: fills, casts, row selection and what samples."""
    for rows in SMALL_ROWS:
        yield from _small(bench, rows, _torch_work(bench, rows))


def small_vllm(bench: Bench) -> Iterator[Point]:
    """vLLM's own kernels of a layer."""
    for rows in SMALL_ROWS:
        yield from _small(bench, rows, _vllm_work(bench, rows))


def small_inductor(bench: Bench) -> Iterator[Point]:
    """The same operations as torch.compile's Inductor writes them."""
    compiled = [bench.torch.compile(one, dynamic=False) for one in _functions(bench.torch)]
    for rows in SMALL_ROWS:
        yield from _small(bench, rows, _inductor_work(bench, rows, *compiled))


def _torch_work(bench: Bench, rows: int) -> list[Work]:
    torch, device = bench.torch, bench.device
    ids = torch.zeros(rows, dtype=torch.int32, device=device)
    wide = torch.zeros(rows, dtype=torch.int64, device=device)
    table = torch.randn(4096, HIDDEN, dtype=torch.bfloat16, device=device)
    picked = torch.empty(rows, HIDDEN, dtype=torch.bfloat16, device=device)
    logits = torch.randn(rows, VOCABULARY, dtype=torch.bfloat16, device=device)
    exact = torch.empty(rows, VOCABULARY, device=device)
    blocks, best = torch.randn(rows, 126, device=device), torch.zeros(rows, 1, dtype=torch.int64, device=device)
    return [
        ("metadata", "torch.fill", 4 * rows, lambda: ids.fill_(1)),
        ("embedding", "torch.cast", 12 * rows, lambda: wide.copy_(ids)),
        ("embedding", "torch.index_select", 4 * rows * HIDDEN, lambda: torch.index_select(table, 0, wide, out=picked)),
        ("sampler", "torch.cast", 6 * rows * VOCABULARY, lambda: exact.copy_(logits)),
        ("sampler", "torch.argmax", 4 * rows * 126, lambda: torch.argmax(blocks, dim=-1, keepdim=True, out=best)),
        ("sampler", "torch.gather", 24 * rows, lambda: torch.gather(blocks, 1, best)),
        ("copy", "copy.device_to_device", 4 * rows * HIDDEN, lambda: picked.copy_(table[:rows])),
    ]


def _vllm_work(bench: Bench, rows: int) -> list[Work]:
    from vllm import _custom_ops as ops

    torch, device, bf16 = bench.torch, bench.device, bench.torch.bfloat16
    x, residual = torch.randn(2, rows, HIDDEN, dtype=bf16, device=device).unbind(0)
    normed, weight = torch.empty_like(x), torch.ones(HIDDEN, dtype=bf16, device=device)
    positions = torch.zeros(rows, dtype=torch.int64, device=device)
    query = torch.randn(rows, QUERY_HEADS * HEAD, dtype=bf16, device=device)
    key = torch.randn(rows, KV_HEADS * HEAD, dtype=bf16, device=device)
    table = torch.randn(4096, HEAD, dtype=bf16, device=device)
    gate_up = torch.randn(rows, 2 * MLP, dtype=bf16, device=device)
    gated = torch.empty(rows, MLP, dtype=bf16, device=device)
    cache = torch.zeros(2, 64, PAGE, KV_HEADS, HEAD, dtype=bf16, device=device)
    heads, slots, scale = key.view(rows, KV_HEADS, HEAD), torch.arange(rows, device=device), torch.ones((), device=device)

    def write() -> None:
        ops.reshape_and_cache_flash(heads, heads, cache[0], cache[1], slots, "auto", scale, scale)

    def rotate() -> None:
        ops.rotary_embedding(positions, query, key, HEAD, table, True)

    return [
        ("norm", "vllm.rms_norm", 4 * rows * HIDDEN, lambda: ops.rms_norm(normed, x, weight, 1e-5)),
        ("norm", "vllm.fused_add_rms_norm", 8 * rows * HIDDEN, lambda: ops.fused_add_rms_norm(x, residual, weight, 1e-5)),
        ("rope", "vllm.rotary_embedding", 4 * rows * (QUERY_HEADS + KV_HEADS) * HEAD, rotate),
        ("activation", "vllm.act_and_mul", 6 * rows * MLP, lambda: torch.ops._C.silu_and_mul(gated, gate_up)),
        ("kv_write", "vllm.reshape_and_cache", 8 * rows * KV_HEADS * HEAD, write),
    ]


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


def _inductor_work(bench: Bench, rows: int, add_norm: Any, gate: Any, rotate: Any) -> list[Work]:
    torch, device, bf16 = bench.torch, bench.device, bench.torch.bfloat16
    x, residual = torch.randn(2, rows, HIDDEN, dtype=bf16, device=device).unbind(0)
    weight = torch.ones(HIDDEN, dtype=bf16, device=device)
    gate_up = torch.randn(rows, 2 * MLP, dtype=bf16, device=device)
    heads = torch.randn(rows, QUERY_HEADS, HEAD, dtype=bf16, device=device)
    cosine, sine = torch.randn(2, rows, 1, HEAD // 2, dtype=bf16, device=device).unbind(0)
    return [
        ("norm", "triton.rms_norm", 8 * rows * HIDDEN, lambda: add_norm(x, residual, weight)),
        ("activation", "triton.act_and_mul", 6 * rows * MLP, lambda: gate(gate_up)),
        ("rope", "triton.rope", 4 * rows * QUERY_HEADS * HEAD, lambda: rotate(heads, cosine, sine)),
    ]


def _small(bench: Bench, rows: int, work: list[Work]) -> Iterator[Point]:
    for kind, family, size, body in work:
        times = bench.slots(repeated(NODES, body), NODES)
        yield {"what": "small", "kind": kind, "family": family, "rows": rows, "bytes": size, "times_ns": times}
