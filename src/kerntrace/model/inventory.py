"""Every kernel of one decode step, in order, with what it computes and moves. Room: accounting | model.

The bookkeeping before and after the model is vLLM 0.24.0's, greedy sampling, as its kernels were seen on an H200: 7 kernels
before the model and 12 after its last norm in every mode.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from math import ceil

from kerntrace.errors import UsageError
from kerntrace.hardware import GpuSpec
from kerntrace.model import operations as op
from kerntrace.model.architecture import Architecture
from kerntrace.model.kernels import Kernel, Phase, carry
from kerntrace.model.layer import Step, Variant, layer_kernels, norm_family
from kerntrace.workload import Cell

# vLLM captures these batch sizes and pads up to the next one.
CAPTURE_SIZES: tuple[int, ...] = (1, 2, 4, *range(8, 257, 8), *range(272, 513, 16))
_PREPARE, _SAMPLE = Phase.PREPARE, Phase.SAMPLE


@dataclass(frozen=True, slots=True)
class Inventory:
    """A step's device work.

    Attributes:
        step: the shape it was made for.
        kernels: kernels and copies in launch order.
        notes: what was assumed for it, one line each.
    """

    step: Step
    kernels: tuple[Kernel, ...]
    notes: tuple[str, ...]

    @property
    def kernel_count(self) -> int:
        """Kernels a step records, copies left out."""
        return sum(not kernel.is_copy for kernel in self.kernels)

    @property
    def host_launches(self) -> int:
        """Kernels the host launches one by one; under a graph those outside it."""
        return sum(not kernel.is_copy and not self.captured(kernel) for kernel in self.kernels)

    def captured(self, kernel: Kernel) -> bool:
        """Whether the kernel is a node of the step's graph: the model is, bookkeeping and sampler are not."""
        return self.step.graphed and kernel.phase is Phase.FORWARD

    def layers(self) -> tuple[int, ...]:
        """Kernels of each layer."""
        counts = [0] * self.step.model.layers
        for kernel in self.kernels:
            if kernel.layer is not None and kernel.name not in _OUTSIDE_LAYERS:
                counts[kernel.layer] += 1
        return tuple(counts)

    def formula(self) -> str:
        """The count as layers and the rest, e.g. `438 = 32 x 13 + 22`."""
        per_layer = self.layers()
        alike = sorted(set(per_layer))
        parts = " + ".join(f"{per_layer.count(count)} x {count}" for count in alike)
        return f"{self.kernel_count} = {parts} + {self.kernel_count - sum(per_layer)}"


_OUTSIDE_LAYERS = {"token_ids_cast", "embedding", "embedding_scale"}


def take_inventory(
    model: Architecture,
    gpu: GpuSpec,
    cell: Cell,
    *,
    kv_length: int | None = None,
    max_length: int | None = None,
    dtype: str = "bfloat16",
    kv_dtype: str | None = None,
    variant: Variant | None = None,
) -> Inventory:
    """The kernels of a decode step of `cell`.

    Args:
        kv_length: tokens a sequence's keys cover; `cell.context` if not given.
        max_length: tokens a sequence may grow to; the model's own limit if not given. It bounds the attention's parts.
        dtype: of weights; kv_dtype: of the cache, `dtype` if not given.
        variant: what the engine's start decided, where it is known.

    Raises:
        UsageError: if the context is beyond the model's limit or a dtype is not known.
    """
    length = kv_length or cell.context
    _check_length(model, length)
    step = Step(
        model=model,
        gpu=gpu,
        mode=cell.mode,
        rows=cell.batch,
        kv_length=length,
        max_length=max(length, min(max_length or model.max_context, model.max_context)),
        weight_bytes=element_bytes(dtype),
        kv_bytes=element_bytes(kv_dtype or dtype),
        variant=variant or Variant(),
    )
    rows = padded_batch(cell.batch) if step.graphed else cell.batch
    notes = [*model.notes, *_unseen(step)]
    if rows != cell.batch:
        notes.append(f"the graph of batch {rows} is replayed for batch {cell.batch}: its kernels work on {rows} rows")
    step = replace(step, rows=rows)
    body = [kernel for layer in range(model.layers) for kernel in layer_kernels(step, layer)]
    kernels = [*_prepare(step), *body, _final_norm(step), *_graph_output(step), *_sample(step)]
    return Inventory(step, tuple(kernels), tuple(notes))


def padded_batch(batch: int) -> int:
    """The captured batch size that a replay for `batch` uses.

    Raises:
        UsageError: if no graph of that size is captured.
    """
    position = bisect_left(CAPTURE_SIZES, batch)
    if position == len(CAPTURE_SIZES):
        raise UsageError(f"batch {batch}: graphs are captured up to batch {CAPTURE_SIZES[-1]}", "use --mode eager or compile")
    return CAPTURE_SIZES[position]


def element_bytes(dtype: str) -> int:
    """Bytes of an element.

    Raises:
        UsageError: if the dtype is not known.
    """
    if dtype not in op.WEIGHT_BYTES:
        raise UsageError(f"no dtype {dtype!r}; known are {', '.join(op.WEIGHT_BYTES)}", "give one of them with --dtype")
    return op.WEIGHT_BYTES[dtype]


def _check_length(model: Architecture, length: int) -> None:
    if length > model.max_context:
        raise UsageError(
            f"{model.name}: {length} tokens are beyond its limit of {model.max_context}", "give a smaller --context or --tokens"
        )


def _graph_output(step: Step) -> list[Kernel]:
    """The copy that a graph ends with: its output goes to where the next graph expects it.

    It runs as kernel `memcpy32_post`: seen so from 8 to 128 kB, assumed above. CUPTI and Kineto record the kernel, Nsight
    Systems a copy.
    """
    if not step.graphed:
        return []
    size = op.ACTIVATION_BYTES * step.rows * step.model.hidden
    return [carry("graph.copy_node", op.small("hidden_states_copy", op.Kind.COPY, step.rows, 2 * size))]


def _final_norm(step: Step) -> Kernel:
    return carry(norm_family(step, adds=True), op.norm("final_norm", None, step.rows, step.model.hidden, True))


def _prepare(step: Step) -> list[Kernel]:
    rows = step.rows
    work = [
        ("copy.host_to_device", op.small("request_ids_in", op.Kind.COPY, rows, 4 * rows), True),
        ("torch.arange", op.small("positions_arange", op.Kind.METADATA, rows), False),
        ("torch.fill", op.small("query_starts_fill", op.Kind.METADATA, rows), False),
        ("copy.host_to_device", op.small("query_starts_in", op.Kind.COPY, rows, 4 * rows), True),
        ("vllm.prepare_positions", op.small("prepare_positions", op.Kind.METADATA, rows), False),
        ("vllm.combine_tokens", op.small("combine_tokens", op.Kind.METADATA, rows), False),
        ("vllm.gather_block_tables", op.small("gather_block_tables", op.Kind.METADATA, rows), False),
        ("vllm.slot_mappings", op.small("slot_mappings", op.Kind.METADATA, rows), False),
    ]
    if step.gpu.compute_capability == "9.0":
        work.append(("fa3.prepare_splits", op.small("prepare_splits", op.Kind.METADATA, rows), False))
    if step.graphed:
        work += [
            ("copy.device_to_device", op.small("splits_copy", op.Kind.COPY, rows, 24 * rows), True),
            ("torch.fill", op.small("splits_fill", op.Kind.METADATA, rows), False),
        ]
    return [carry(family, operation, phase=_PREPARE, is_copy=is_copy) for family, operation, is_copy in work]


def _sample(step: Step) -> list[Kernel]:
    rows, words = step.rows, step.model.vocabulary
    blocks = ceil(words / op.SAMPLER_BLOCK)
    cap = [
        carry("torch.elementwise", op.elementwise(f"logit_softcap.{n}", None, rows, words, 4))
        for n in ("scale", "tanh", "unscale")
    ]
    before = [
        carry("torch.index", op.row_select(rows, step.model.hidden)),
        carry("copy.memset", op.small("lm_head_workspace", op.Kind.COPY, rows, 4), is_copy=True),
        carry("cublas.gemm", op.gemm("lm_head", None, rows, words, step.model.hidden, step.weight_bytes)),
        *(cap if step.model.logit_softcap else []),
    ]
    after = [
        ("torch.index", op.small("positions_select", op.Kind.SAMPLER, rows, 24 * rows)),
        ("torch.index", op.small("token_ids_select", op.Kind.SAMPLER, rows, 16 * rows)),
        ("torch.cast", op.sampler("logits_to_fp32", rows, words, 6)),
        *(("vllm.bias", op.small("logit_bias", op.Kind.SAMPLER, rows)),) * step.variant.biases,
        ("vllm.gumbel_sample", op.sampler("gumbel_sample", rows, words, 4, flops_each=1)),
        ("torch.argmax", op.sampler("argmax", rows, blocks, 4, flops_each=1)),
        ("torch.gather", op.small("token_gather", op.Kind.SAMPLER, rows, 24 * rows)),
        ("torch.fill", op.small("sampled_fill", op.Kind.METADATA, rows)),
        ("vllm.count_sampled", op.small("count_sampled", op.Kind.METADATA, rows)),
        ("vllm.post_update", op.small("post_update", op.Kind.METADATA, rows)),
    ]
    out = [("token_ids_out", 8 * rows), ("counts_out", 4 * rows)]
    kernels = [*before, *(carry(family, operation) for family, operation in after)]
    kernels += [carry("copy.device_to_host", op.small(name, op.Kind.COPY, rows, size), is_copy=True) for name, size in out]
    return [replace(kernel, phase=_SAMPLE) for kernel in kernels]


def _unseen(step: Step) -> list[str]:
    model = step.model
    seen = {
        "mixture of experts": model.experts is not None,
        "query and key norms": model.qk_norm,
        "four norms a layer": model.norms_per_layer == 4,
        "sliding windows": any(model.windows),
        "attention without FlashAttention 3": step.gpu.compute_capability != "9.0",
    }
    return [f"{what}: the kernels were not seen in a trace, the count is an assumption" for what, used in seen.items() if used]
