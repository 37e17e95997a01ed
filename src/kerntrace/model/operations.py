"""What each operation of a decode step computes and moves. Room: accounting | model.

Formulas have N rows (sequences) and 2-byte elements unless a dtype says otherwise; docs/model.md lists them with sources.
Bytes come in two parts. DRAM bytes come from or go to DRAM every step: weights, and keys and values, because hundreds of
megabytes pass between two uses. L2 bytes are activations, which the kernel before left in L2. Their sum is what a roofline that
knows no cache counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import ceil

from kerntrace.model.architecture import Architecture, Experts

ACTIVATION_BYTES = 2
PAGE_TOKENS = 16
WEIGHT_BYTES = {"bfloat16": 2, "float16": 2, "fp8": 1}
SAMPLER_BLOCK = 1024
_FP32 = 4
_INT64 = 8


class Kind(str, Enum):
    """What a kernel does, which decides the constants that time it."""

    GEMM = "gemm"
    GEMM_REDUCE = "gemm_reduce"
    ATTENTION = "attention"
    ATTENTION_COMBINE = "attention_combine"
    KV_WRITE = "kv_write"
    NORM = "norm"
    ROPE = "rope"
    ACTIVATION = "activation"
    EMBEDDING = "embedding"
    ROUTING = "routing"
    ELEMENTWISE = "elementwise"
    SAMPLER = "sampler"
    METADATA = "metadata"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation on one layer, or outside the layers.

    Attributes:
        name: e.g. `qkv_proj`.
        layer: 0-based, None outside the layers.
        shape: sizes in the order the formula names them.
        flops: multiplications and additions, each one.
        dram_bytes: weights, keys and values.
        l2_bytes: activations.
    """

    name: str
    kind: Kind
    layer: int | None
    shape: tuple[int, ...]
    flops: int
    dram_bytes: int
    l2_bytes: int

    @property
    def bytes(self) -> int:
        return self.dram_bytes + self.l2_bytes


def gemm(
    name: str, layer: int | None, rows: int, outputs: int, inputs: int, weight_bytes: int, bias: bool = False
) -> Operation:
    """rows x inputs times inputs x outputs; shape (rows, outputs, inputs)."""
    return Operation(
        name,
        Kind.GEMM,
        layer,
        (rows, outputs, inputs),
        2 * rows * outputs * inputs + (rows * outputs if bias else 0),
        weight_bytes * outputs * inputs + (ACTIVATION_BYTES * outputs if bias else 0),
        ACTIVATION_BYTES * rows * (inputs + outputs),
    )


def gemm_reduce(of: Operation, slices: int) -> Operation:
    """Sum of a split product's FP32 slices; their writing is counted here too, with their reading."""
    rows, outputs, _ = of.shape
    moved = 2 * _FP32 * slices * rows * outputs + ACTIVATION_BYTES * rows * outputs
    return Operation(
        f"{of.name}.reduce", Kind.GEMM_REDUCE, of.layer, (slices, rows, outputs), slices * rows * outputs, 0, moved
    )


def norm(name: str, layer: int | None, rows: int, width: int, adds_residual: bool) -> Operation:
    """RMS norm over `width`, with the residual added first where `adds_residual`; shape (rows, width)."""
    flops, moved = (5, 8) if adds_residual else (4, 4)
    return Operation(
        name, Kind.NORM, layer, (rows, width), flops * rows * width, ACTIVATION_BYTES * width, moved * rows * width
    )


def rope(layer: int, rows: int, model: Architecture) -> Operation:
    """Rotation of queries and keys; shape (rows, heads + kv_heads, head_dim)."""
    heads = model.heads + model.kv_heads
    moved = 4 * rows * heads * model.head_dim + 2 * rows * model.head_dim + _INT64 * rows
    return Operation("rope", Kind.ROPE, layer, (rows, heads, model.head_dim), 3 * rows * heads * model.head_dim, 0, moved)


def kv_write(layer: int, rows: int, model: Architecture, kv_bytes: int) -> Operation:
    """Keys and values of the new tokens into the paged cache; shape (rows, kv_heads, head_dim)."""
    values = 2 * rows * model.kv_heads * model.head_dim
    l2_bytes = ACTIVATION_BYTES * values + _INT64 * rows
    return Operation("kv_write", Kind.KV_WRITE, layer, (rows, model.kv_heads, model.head_dim), 0, kv_bytes * values, l2_bytes)


def attention(layer: int, rows: int, length: int, model: Architecture, splits: int, kv_bytes: int) -> Operation:
    """One query a sequence over `length` keys; shape (rows, length, heads, kv_heads, head_dim). Parts add FP32 results."""
    partial = _FP32 * splits * rows * model.heads * (model.head_dim + 1) if splits > 1 else 0
    return Operation(
        "attention",
        Kind.ATTENTION,
        layer,
        (rows, length, model.heads, model.kv_heads, model.head_dim),
        4 * rows * model.heads * model.head_dim * length,
        2 * rows * length * model.kv_heads * model.head_dim * kv_bytes,
        4 * rows * model.heads * model.head_dim + 4 * rows * ceil(length / PAGE_TOKENS) + partial,
    )


def attention_combine(layer: int, rows: int, model: Architecture, splits: int) -> Operation:
    """Weighted sum of the parts; nothing to move where the step used one part. Shape (splits, rows, heads, head_dim)."""
    used = splits if splits > 1 else 0
    width = rows * model.heads * model.head_dim
    moved = _FP32 * used * rows * model.heads * (model.head_dim + 1) + (2 * width if used else 0)
    shape = (splits, rows, model.heads, model.head_dim)
    return Operation("attention.combine", Kind.ATTENTION_COMBINE, layer, shape, 2 * used * width, 0, moved)


def gated_activation(layer: int, rows: int, width: int) -> Operation:
    """act(gate) x up; shape (rows, width)."""
    return Operation("act_and_mul", Kind.ACTIVATION, layer, (rows, width), 5 * rows * width, 0, 6 * rows * width)


def elementwise(name: str, layer: int | None, rows: int, width: int, moved_bytes: int, flops: int = 1) -> Operation:
    """`flops` operations on each of rows x width elements, `moved_bytes` an element."""
    size = rows * width
    return Operation(name, Kind.ELEMENTWISE, layer, (rows, width), flops * size, 0, moved_bytes * size)


def embedding(rows: int, width: int) -> Operation:
    """A row of the table for each sequence: the table itself is not read."""
    return Operation("embedding", Kind.EMBEDDING, None, (rows, width), 0, 2 * rows * width, 2 * rows * width + _INT64 * rows)


def row_select(rows: int, width: int) -> Operation:
    """The rows whose logits are wanted."""
    return Operation("row_select", Kind.EMBEDDING, None, (rows, width), 0, 0, 4 * rows * width + _INT64 * rows)


def sampler(name: str, rows: int, width: int, bytes_each: int, flops_each: int = 0) -> Operation:
    """A pass of the sampler over rows x width values."""
    return Operation(name, Kind.SAMPLER, None, (rows, width), flops_each * rows * width, 0, bytes_each * rows * width)


def small(name: str, kind: Kind, rows: int, moved_bytes: int = 0) -> Operation:
    """Bookkeeping whose bytes do not matter: only its launch does."""
    return Operation(name, kind, None, (rows,), 0, 0, moved_bytes)


def expected_experts(experts: Experts, rows: int) -> float:
    """Distinct experts that `rows` tokens reach when each picks `active` of `count` evenly: E (1 - (1 - k/E)^N).

    Real routers are not even, so fewer are read; the figure is an upper estimate of weights read.
    """
    return experts.count * (1 - (1 - experts.active / experts.count) ** rows)


def grouped_gemm(name: str, layer: int, rows: int, outputs: int, inputs: int, experts: Experts, weight_bytes: int) -> Operation:
    """The experts' products of one projection; shape (rows x active, outputs, inputs); weights of the experts expected."""
    routed = rows * experts.active
    weights = round(expected_experts(experts, rows) * weight_bytes * outputs * inputs)
    moved = ACTIVATION_BYTES * routed * (inputs + outputs)
    return Operation(name, Kind.GEMM, layer, (routed, outputs, inputs), 2 * routed * outputs * inputs, weights, moved)
