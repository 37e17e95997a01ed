"""Attention of decode steps over cold keys, as vLLM or PyTorch runs it. Room: engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from kerntrace.engines.microbench.cold import Body, Case, Sweep, in_turn, loaded, rested

if TYPE_CHECKING:
    from kerntrace.engines.microbench.bench import Bench, Point

HEADS = ((32, 8, 128), (28, 4, 128), (32, 8, 64))  # query heads, key heads, size of a head
BATCHES = (1, 2, 4, 8, 16, 32)
ALONE_BATCHES = (1, 16)
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


Attention = Callable[[Shape, Sweep], Body]
_TRIED = Shape(1, PAGE, *HEADS[0], copies=2)


def attention(bench: Bench) -> Iterator[Point]:
    """One query a sequence over cold keys: cache write, forward and combine together, as the published constants are.

    `attention` is what they add after a product, `attention_alone` their time back to back with themselves.
    """
    yield from rested(bench, _attentions(bench))


def attention_loaded(bench: Bench) -> Iterator[Point]:
    """`attention_loaded`: the same right after large products."""
    yield from loaded(_attentions(bench))


def _attentions(bench: Bench) -> Iterator[Case]:
    run, how = _engines_attention(bench)
    sweeps = {batch: Sweep(bench, batch) for batch in BATCHES}
    for heads, kv_heads, head in HEADS:
        for length in LENGTHS:
            for batch, sweep in sweeps.items():
                size = 4 * batch * length * kv_heads * head
                copies = bench.copies(size, most=24)
                body = run(Shape(batch, length, heads, kv_heads, head, copies), sweep)
                shape = {"rows": batch, "length": length, "heads": heads, "kv_heads": kv_heads, "head_dim": head}
                alone = copies * ceil(24 / copies) if batch in ALONE_BATCHES else 0
                yield Case({"what": "attention", "how": how, **shape}, sweep, body, size=size, alone=alone)


def _engines_attention(bench: Bench) -> tuple[Attention, str]:
    """vLLM's where it is there and takes a small call on this GPU, else PyTorch's."""
    try:
        run, how = _paged_attention(bench)
        run(_TRIED, Sweep(bench, _TRIED.batch))()
        bench.torch.cuda.synchronize()
    except (ImportError, OSError, RuntimeError, AttributeError, TypeError):  # no vLLM, of another version, or without kernels
        return _torch_attention(bench), TORCH_ATTENTION
    return run, how


def _paged_attention(bench: Bench) -> tuple[Attention, str]:
    """vLLM's attention over a paged cache, as it is called under a full graph."""
    from vllm import _custom_ops as ops
    from vllm.vllm_flash_attn import flash_attn_interface as flash

    version = 3 if flash.is_fa_version_supported(3) else 2

    def prepare(shape: Shape, sweep: Sweep) -> Body:
        paged = _Paged(bench, shape, sweep)
        splits = _bounded_splits(flash, paged, shape) if version == 3 else {}

        def attend(copy: int) -> None:
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

        return in_turn([partial(attend, copy) for copy in range(shape.copies)])

    return prepare, f"vLLM, FlashAttention {version}"


class _Paged:
    """Queries, new keys and values, as the product left them, and a cache of pages that each copy has some of."""

    def __init__(self, bench: Bench, shape: Shape, sweep: Sweep) -> None:
        torch, device, bf16 = bench.torch, bench.device, bench.torch.bfloat16
        batch, length, heads, kv_heads, head, copies = shape
        pages = ceil(length / PAGE)
        every = torch.randn(2, copies * batch * pages, PAGE, kv_heads, head, dtype=bf16, device=device)
        self.cache = every[0], every[1]
        self.tables = torch.arange(copies * batch * pages, dtype=torch.int32, device=device).view(copies, batch, pages)
        self.slots = self.tables[:, :, -1].long() * PAGE + (length - 1) % PAGE
        self.query, self.new = _inputs(sweep, shape)
        self.out = torch.empty(batch, heads, head, dtype=bf16, device=device)
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


def _inputs(sweep: Sweep, shape: Shape) -> tuple[Any, tuple[Any, Any]]:
    """Queries, and new keys and values."""
    queries, keys = shape.batch * shape.heads * shape.head, shape.batch * shape.kv_heads * shape.head
    new = [sweep.hot(shape.batch, shape.kv_heads, shape.head, after=queries + which * keys) for which in (0, 1)]
    return sweep.hot(shape.batch, shape.heads, shape.head), (new[0], new[1])


def _torch_attention(bench: Bench) -> Attention:
    torch, device, bf16 = bench.torch, bench.device, bench.torch.bfloat16

    def prepare(shape: Shape, sweep: Sweep) -> Body:
        batch, length, _, kv_heads, head, copies = shape
        cache = torch.randn(copies, 2, batch, kv_heads, length, head, dtype=bf16, device=device)
        query, new = _inputs(sweep, shape)
        query = query.unsqueeze(2)
        function = torch.nn.functional.scaled_dot_product_attention

        def attend(copy: int) -> None:
            for which in (0, 1):
                cache[copy, which, :, :, length - 1].copy_(new[which])
            function(query, cache[copy, 0], cache[copy, 1], enable_gqa=True)

        return in_turn([partial(attend, copy) for copy in range(copies)])

    return prepare
