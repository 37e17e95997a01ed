"""Attention of decode steps over cold keys, as vLLM or PyTorch runs it. Room: engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from kerntrace.engines.microbench_kernels import Body, repeated

if TYPE_CHECKING:
    from kerntrace.engines.microbench import Bench, Point

HEADS = ((32, 8, 128), (28, 4, 128), (32, 8, 64))  # query heads, key heads, size of a head
BATCHES = (1, 4, 16, 32)
LENGTHS = (528, 2064, 8208)
PAGE = 16
SPLITS_IN_GRAPH = 32  # vLLM's bound on FlashAttention 3's parts under a full graph
TORCH_ATTENTION = "torch, scaled_dot_product_attention"


class Shape(NamedTuple):
    """One query a sequence; `copies` sets of keys and values that take turns."""

    batch: int
    length: int
    heads: int
    kv_heads: int
    head: int
    copies: int


Attention = Callable[[Shape], Body]


def attention(bench: Bench) -> Iterator[Point]:
    """One query a sequence over cold keys: cache write, forward and combine together, as the published constants are."""
    try:
        run, how = _paged_attention(bench)
    except (ImportError, OSError, RuntimeError, AttributeError):  # no vLLM, or one without this GPU's kernels
        run, how = _torch_attention(bench), TORCH_ATTENTION
    for heads, kv_heads, head in HEADS:
        for length in LENGTHS:
            for batch in BATCHES:
                copies = bench.copies(4 * batch * length * kv_heads * head)
                rounds = ceil(32 / copies)
                body = run(Shape(batch, length, heads, kv_heads, head, copies))
                times = bench.slots(repeated(rounds, body), rounds * copies)
                shape = {"rows": batch, "length": length, "heads": heads, "kv_heads": kv_heads, "head_dim": head}
                yield {"what": "attention", "how": how, **shape, "times_ns": times}
                del body
                bench.free()


def _paged_attention(bench: Bench) -> tuple[Attention, str]:
    """vLLM's attention over a paged cache, as it is called under a full graph."""
    from vllm import _custom_ops as ops
    from vllm.vllm_flash_attn import flash_attn_interface as flash

    version = 3 if flash.is_fa_version_supported(3) else 2

    def prepare(shape: Shape) -> Body:
        paged = _Paged(bench, shape)
        splits = _bounded_splits(flash, paged, shape) if version == 3 else {}

        def body() -> None:
            for copy in range(shape.copies):
                ops.reshape_and_cache_flash(*paged.new, *paged.cache, paged.slots[copy], "auto", paged.one, paged.one)
                flash.flash_attn_varlen_func(
                    q=paged.query,
                    k=paged.cache[0],
                    v=paged.cache[1],
                    out=paged.out,
                    cu_seqlens_q=paged.starts,
                    max_seqlen_q=1,
                    seqused_k=paged.lengths,
                    max_seqlen_k=shape.length,
                    softmax_scale=shape.head**-0.5,
                    causal=True,
                    block_table=paged.tables[copy],
                    fa_version=version,
                    **splits,
                )

        return body

    return prepare, f"vLLM, FlashAttention {version}"


class _Paged:
    """Queries, new keys and values, and a cache of pages that each copy has some of."""

    def __init__(self, bench: Bench, shape: Shape) -> None:
        torch, device, bf16 = bench.torch, bench.device, bench.torch.bfloat16
        batch, length, heads, kv_heads, head, copies = shape
        pages = ceil(length / PAGE)
        every = torch.randn(2, copies * batch * pages, PAGE, kv_heads, head, dtype=bf16, device=device)
        self.cache = every[0], every[1]
        self.tables = torch.arange(copies * batch * pages, dtype=torch.int32, device=device).view(copies, batch, pages)
        self.slots = self.tables[:, :, -1].long() * PAGE + (length - 1) % PAGE
        self.query = torch.randn(batch, heads, head, dtype=bf16, device=device)
        self.out = torch.empty_like(self.query)
        new = torch.randn(2, batch, kv_heads, head, dtype=bf16, device=device)
        self.new = new[0], new[1]
        self.starts = torch.arange(batch + 1, dtype=torch.int32, device=device)
        self.lengths = torch.full((batch,), length, dtype=torch.int32, device=device)
        self.one = torch.ones((), device=device)


def _bounded_splits(flash: Any, paged: _Paged, shape: Shape) -> dict[str, Any]:
    """FlashAttention 3's plan for these lengths, which vLLM makes once a step and outside the graph."""
    plan = flash.get_scheduler_metadata(
        batch_size=shape.batch,
        max_seqlen_q=1,
        max_seqlen_k=shape.length,
        num_heads_q=shape.heads,
        num_heads_kv=shape.kv_heads,
        headdim=shape.head,
        cache_seqlens=paged.lengths,
        qkv_dtype=paged.query.dtype,
        cu_seqlens_q=paged.starts,
        page_size=PAGE,
        causal=True,
        num_splits=SPLITS_IN_GRAPH,
    )
    return {"scheduler_metadata": plan, "num_splits": SPLITS_IN_GRAPH}


def _torch_attention(bench: Bench) -> Attention:
    torch, device, bf16 = bench.torch, bench.device, bench.torch.bfloat16

    def prepare(shape: Shape) -> Body:
        batch, length, heads, kv_heads, head, copies = shape
        cache = torch.randn(copies, 2, batch, kv_heads, length, head, dtype=bf16, device=device)
        query = torch.randn(batch, heads, 1, head, dtype=bf16, device=device)
        new = torch.randn(2, batch, kv_heads, head, dtype=bf16, device=device)
        attend = torch.nn.functional.scaled_dot_product_attention

        def body() -> None:
            for copy in range(copies):
                cache[copy, :, :, :, length - 1].copy_(new)
                attend(query, cache[copy, 0], cache[copy, 1], enable_gqa=True)

        return body

    return prepare
