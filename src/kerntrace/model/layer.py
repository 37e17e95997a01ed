"""The kernels of one decoder layer, for each way of running it. Room: accounting | model.

vLLM's custom operations (eager, graph-nocompile) and torch.compile's Inductor fusions (graph, compile) carry the same
operations with different kernels: Inductor rotates queries and keys in two kernels, or in one as vLLM does (`Variant`). Seen
with vLLM 0.24.0 on an H200. What was not seen there (mixture of experts, query and key norms, four norms a layer) is an
assumption, and the inventory's notes say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from kerntrace.hardware import GpuSpec
from kerntrace.model import operations as op
from kerntrace.model.architecture import Architecture
from kerntrace.model.attention_splits import MAX_SPLITS_IN_GRAPH, Splits, splits_fa2, splits_fa3
from kerntrace.model.kernels import Kernel, carry, share
from kerntrace.workload import Mode

# cuBLAS's choice is not published. Seen on 132 multiprocessors: 4096 outputs (64 tiles of 64) are cut along K, 6144 are not.
_TILE_OUTPUTS = 64
_SMALL_ROWS = 64
_HALF_FULL = 0.5
_MOST_SLICES = 8

COMPILED = (Mode.GRAPH, Mode.COMPILE)
GRAPHED = (Mode.GRAPH, Mode.GRAPH_NOCOMPILE)


@dataclass(frozen=True, slots=True)
class Variant:
    """What differs between starts of one version of the engine on one GPU; the defaults are those of the first start seen.

    Attributes:
        rotations: kernels that Inductor rotates queries and keys with, 2 or 1. It fuses the two (`combo_kernels`) where that is
            faster by a benchmark of its own at that start: both were seen with vLLM 0.24.0 on an H200.
        biases: kernels of vLLM's logit bias: 1 where a request asks for what it does (`min_tokens` does), else 0.
    """

    rotations: int = 2
    biases: int = 1


@dataclass(frozen=True, slots=True)
class Step:
    """The shape of one decode step.

    Attributes:
        rows: sequences the kernels work on, padding included.
        kv_length: tokens a sequence's keys cover.
        max_length: tokens a sequence may grow to.
        weight_bytes, kv_bytes: an element's size.
        variant: what the engine's start decided.
    """

    model: Architecture
    gpu: GpuSpec
    mode: Mode
    rows: int
    kv_length: int
    max_length: int
    weight_bytes: int
    kv_bytes: int
    variant: Variant = Variant()

    @property
    def compiled(self) -> bool:
        return self.mode in COMPILED

    @property
    def graphed(self) -> bool:
        return self.mode in GRAPHED


def layer_kernels(step: Step, layer: int) -> list[Kernel]:
    """The kernels of a layer between the norm before attention and the output of the MLP, in order."""
    model, rows = step.model, step.rows
    out_proj = op.gemm("o_proj", layer, rows, model.hidden, model.heads * model.head_dim, step.weight_bytes)
    qkv = op.gemm("qkv_proj", layer, rows, model.qkv_width, model.hidden, step.weight_bytes, bias=model.qkv_bias)
    return [
        *_input_norm(step, layer),
        *_gemm(step, qkv),
        *_rotation(step, layer),
        *_attention(step, layer),
        *_gemm(step, out_proj),
        *_norms_after_attention(step, layer),
        *(_mlp(step, layer) if model.experts is None else _experts(step, layer)),
        *([_norm(step, "post_mlp_norm", layer, adds=False)] if model.norms_per_layer == 4 else []),
    ]


def norm_family(step: Step, adds: bool) -> str:
    if step.compiled:
        return "triton.rms_norm"
    return "vllm.fused_add_rms_norm" if adds else "vllm.rms_norm"


def attention_splits(step: Step, layer: int) -> Splits:
    """Parts of the layer's keys and values, by the backend the GPU gets: FlashAttention 3 on Hopper, 2 elsewhere."""
    model, window = step.model, step.model.windows[layer]
    if step.gpu.compute_capability == "9.0":
        return splits_fa3(
            batch=step.rows,
            kv_heads=model.kv_heads,
            head_dim=model.head_dim,
            kv_length=step.kv_length,
            max_length=step.max_length,
            window=window,
            sms=step.gpu.sm_count,
            max_splits=MAX_SPLITS_IN_GRAPH if step.graphed else 0,
        )
    return splits_fa2(
        batch=step.rows,
        kv_heads=model.kv_heads,
        head_dim=model.head_dim,
        kv_length=step.kv_length,
        window=window,
        sms=step.gpu.sm_count,
    )


def gemm_slices(rows: int, outputs: int, sms: int) -> int:
    """Slices along K, by assumption as many as occupy the multiprocessors, where tiles of 64 outputs fill half or less."""
    tiles = ceil(outputs / _TILE_OUTPUTS)
    return min(_MOST_SLICES, max(2, sms // tiles)) if rows <= _SMALL_ROWS and tiles <= _HALF_FULL * sms else 1


def _gemm(step: Step, product: op.Operation) -> list[Kernel]:
    slices = gemm_slices(product.shape[0], product.shape[1], step.gpu.sm_count)
    main = carry("cublas.gemm" if slices == 1 else "cublas.gemm_splitk", product)
    return (
        [main] if slices == 1 else [main, carry("cublas.splitk_reduce", op.gemm_reduce(product, slices), part_of=product.name)]
    )


def _norm(step: Step, name: str, layer: int, adds: bool) -> Kernel:
    return carry(norm_family(step, adds), op.norm(name, layer, step.rows, step.model.hidden, adds))


def _input_norm(step: Step, layer: int) -> list[Kernel]:
    rows, hidden = step.rows, step.model.hidden
    if layer:
        return [_norm(step, "input_norm", layer, adds=True)]
    first = op.norm("input_norm", 0, rows, hidden, False)
    if step.compiled:  # Inductor puts the embedding, its scale and the first norm into one kernel.
        return [carry("triton.embedding_rms_norm", op.embedding(rows, hidden), first)]
    scale = (
        [carry("torch.elementwise", op.elementwise("embedding_scale", 0, rows, hidden, 4))]
        if step.model.scaled_embedding
        else []
    )
    return [
        carry("torch.cast", op.small("token_ids_cast", op.Kind.EMBEDDING, rows, 12 * rows)),
        carry("torch.index_select", op.embedding(rows, hidden)),
        *scale,
        carry("vllm.rms_norm", first),
    ]


def _rotation(step: Step, layer: int) -> list[Kernel]:
    model, rows = step.model, step.rows
    norms = []
    if model.qk_norm:
        family = norm_family(step, adds=False)
        norms = [
            carry(family, op.norm("q_norm", layer, rows * model.heads, model.head_dim, False)),
            carry(family, op.norm("k_norm", layer, rows * model.kv_heads, model.head_dim, False)),
        ]
    rotation = op.rope(layer, rows, model)
    if not step.compiled:
        return [*norms, carry("vllm.rotary_embedding", rotation)]
    if step.variant.rotations == 1:
        return [*norms, carry("triton.rope", rotation)]
    portion = model.heads / (model.heads + model.kv_heads)
    return [*norms, share("triton.rope", rotation, "q", portion), share("triton.rope", rotation, "k", 1 - portion)]


def _attention(step: Step, layer: int) -> list[Kernel]:
    model, window = step.model, step.model.windows[layer]
    length = step.kv_length if window is None else min(step.kv_length, window)
    splits = attention_splits(step, layer)
    version = "fa3" if step.gpu.compute_capability == "9.0" else "fa2"
    kernels = [
        carry("vllm.reshape_and_cache", op.kv_write(layer, step.rows, model, step.kv_bytes), part_of="attention"),
        carry(f"{version}.forward", op.attention(layer, step.rows, length, model, splits.used, step.kv_bytes)),
    ]
    if splits.combines:
        combine = op.attention_combine(layer, step.rows, model, splits.used)
        kernels.append(carry(f"{version}.combine", combine, part_of="attention"))
    return kernels


def _norms_after_attention(step: Step, layer: int) -> list[Kernel]:
    if step.model.norms_per_layer == 2:
        return [_norm(step, "post_attention_norm", layer, adds=True)]
    return [_norm(step, "post_attention_norm", layer, adds=False), _norm(step, "pre_mlp_norm", layer, adds=True)]


def _mlp(step: Step, layer: int) -> list[Kernel]:
    rows, hidden, width = step.rows, step.model.hidden, step.model.intermediate
    activation = "triton.act_and_mul" if step.compiled else "vllm.act_and_mul"
    return [
        *_gemm(step, op.gemm("gate_up_proj", layer, rows, 2 * width, hidden, step.weight_bytes)),
        carry(activation, op.gated_activation(layer, rows, width)),
        *_gemm(step, op.gemm("down_proj", layer, rows, hidden, width, step.weight_bytes)),
    ]


def _experts(step: Step, layer: int) -> list[Kernel]:
    experts, rows, hidden = step.model.experts, step.rows, step.model.hidden
    assert experts is not None
    routed = rows * experts.active
    routing = op.Kind.ROUTING
    up = op.grouped_gemm("experts_up_proj", layer, rows, 2 * experts.intermediate, hidden, experts, step.weight_bytes)
    down = op.grouped_gemm("experts_down_proj", layer, rows, hidden, experts.intermediate, experts, step.weight_bytes)
    top = op.Operation("top_k", routing, layer, (rows, experts.count), 5 * rows * experts.count, 0, 6 * rows * experts.count)
    align = op.Operation("align_blocks", routing, layer, (routed,), 0, 0, 8 * routed)
    total = op.Operation("sum_experts", routing, layer, (routed, hidden), routed * hidden, 0, 2 * (routed + rows) * hidden)
    return [
        *_gemm(step, op.gemm("router", layer, rows, experts.count, hidden, step.weight_bytes)),
        carry("vllm.topk_softmax", top),
        carry("vllm.moe_align", align),
        carry("vllm.fused_moe", up),
        carry("vllm.act_and_mul", op.gated_activation(layer, routed, experts.intermediate)),
        carry("vllm.fused_moe", down),
        carry("vllm.moe_sum", total),
    ]
