"""Synthetic traces of decode steps, as arrays: any number of steps and kernels, eager or replayed from a graph.

The steps imitate Llama-3.1-8B on one H200: the same layer of 13 kernels over and over between a few that prepare the batch and
a few that sample, with durations like measured ones. Eager, every kernel has a launch call and the host is the slower one; as
a graph, one call launches all layers and the GPU is. Everything is computed in whole arrays, from one seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Mode = Literal["eager", "graph"]

PID, TID, DEVICE, CONTEXT, STREAM, GRAPH = 4242, 4242, 0, 1, 7, 3
EPOCH_NS = 1_790_857_026_000_000_000
CALLS = ("cudaLaunchKernel", "cudaGraphLaunch", "cudaMemcpyAsync")


class Work(NamedTuple):
    """A device operation: name, mean duration, grid, block; a memcpy has bytes instead."""

    name: str
    ns: int
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (128, 1, 1)
    bytes: int = 0


_TORCH = "void at::native::"
_FILL = _TORCH + "vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul> >(int)"
_COPY = _TORCH + "unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>(int)"
_INDEX = _TORCH + "index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<int> >(long)"
PREPARE = (
    Work("HtoD", 900, bytes=4096),
    Work("void elementwise_kernel_with_index<int, at::native::arange_cuda_out(int)>(int)", 1500),
    Work(_FILL, 1200),
    Work("_prepare_pos_seq_lens_kernel", 1700),
    Work("_combine_sampled_and_draft_tokens_kernel", 1800),
    Work("_gather_block_tables_kernel", 2100),
    Work("_compute_slot_mappings_kernel", 2000),
    Work("HtoD", 800, bytes=2048),
    Work("void flash::prepare_varlen_num_blocks_kernel<1, false>(int, int)", 2300, block=(1024, 1, 1)),
    Work(_COPY, 1400),
    Work(_TORCH + "(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, 2, -2>(int)", 2600),
    Work("void vllm::rms_norm_kernel<c10::BFloat16, 8, 2, true>(c10::BFloat16*)", 2200, block=(512, 1, 1)),
)
LAYER = (
    Work("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", 13_500, (96, 1, 1), (256, 1, 1)),
    Work("void vllm::rotary_embedding_kernel<c10::BFloat16, c10::BFloat16, true>(long const*)", 1900, block=(512, 1, 1)),
    Work("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>(int)", 1700, block=(512, 1, 1)),
    Work("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int> > >(int)", 6200, (128, 1, 1)),
    Work("void cutlass::device_kernel<flash::FlashAttnFwdCombine<int> >(int)", 2600, (32, 1, 1), (256, 1, 1)),
    Work("nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TNT", 9800, (128, 1, 1), (256, 1, 1)),
    Work("void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>(int)", 2000, (32, 1, 1), (32, 16, 1)),
    Work("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8, true>(c10::BFloat16*)", 2400, block=(512, 1, 1)),
    Work("nvjet_sm90_tst_128x8_64x12_2x1_v_bz_TNT", 57_000, (224, 1, 1), (256, 1, 1)),
    Work("void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16> >(int)", 2100, block=(1024, 1, 1)),
    Work("nvjet_sm90_tst_128x8_64x12_2x1_v_bz_splitK_TNT", 31_000, (132, 1, 1), (256, 1, 1)),
    Work("void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>(int)", 2000, (32, 1, 1), (32, 16, 1)),
    Work("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8, true>(c10::BFloat16*)", 2400, block=(512, 1, 1)),
)
SAMPLE = (
    Work(_TORCH + "vectorized_gather_kernel<16, long>(char*, char*, long*)", 1800),
    Work("nvjet_sm90_tst_256x8_64x6_2x1_v_bz_TNT", 255_000, (501, 1, 1), (384, 1, 1)),
    Work(_INDEX, 1900),
    Work(_INDEX, 1900),
    Work(_COPY, 1400),
    Work("_bias_kernel", 1900),
    Work("_gumbel_sample_kernel", 7400, (16, 1, 1)),
    Work(_TORCH + "reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float> > >(int)", 4800),
    Work(_TORCH + "_scatter_gather_elementwise_kernel<128, 8, _cuda_scatter_gather_internal_kernel<false> >(int)", 2000),
    Work(_FILL, 1200),
    Work("_get_num_sampled_and_rejected_kernel", 1500),
    Work("_post_update_kernel", 1600),
    Work("DtoH", 1300, bytes=64),
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to make.

    Attributes:
        steps, kernels: how many steps, and kernels in each.
        mode: `eager`, or `graph` for the layers replayed by one launch call.
        batch: sequences decoded in a step, as the step's range says it.
        memops, ranges: whether there are memcpys, and NVTX ranges.
        seed: of all that is random.
    """

    steps: int
    kernels: int = 438
    mode: Mode = "eager"
    batch: int = 1
    memops: bool = True
    ranges: bool = True
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A trace as flat arrays, times in ns. `work[op_work]`, `calls[call_name]` and `names[range_name]` say what a row is."""

    recipe: Recipe
    work: tuple[Work, ...]
    op_work: Codes
    op_start: Ints
    op_end: Ints
    op_call: Ints
    op_node: Ints
    calls: tuple[str, ...]
    call_name: Codes
    call_start: Ints
    call_end: Ints
    names: tuple[str, ...]
    range_name: Codes
    range_start: Ints
    range_end: Ints

    @property
    def is_kernel(self) -> npt.NDArray[np.bool_]:
        return np.array([work.bytes == 0 for work in self.work])[self.op_work]

    def truth(self, operations: int | None = None) -> dict[str, int]:
        """Wall, busy and idle ns of the GPU over all operations, or up to the start of one. No two run at once."""
        start, end = self.op_start[:operations], self.op_end[:operations]
        until = end[-1] if operations is None else self.op_start[operations]
        busy = int((end - start).sum())
        return {"wall_ns": int(until - start[0]), "busy_ns": busy, "idle_ns": int(until - start[0]) - busy}

    def truth_of_closed_steps(self) -> dict[str, int]:
        """The same from the first step's first operation to the last step's: what steps with a window add up to."""
        return self.truth(len(self.op_start) - len(self.op_start) // self.recipe.steps)


def make(recipe: Recipe) -> Synthetic:
    """A trace of the recipe: step by step the same work, with other times."""
    rng = np.random.default_rng(recipe.seed)
    work, places, graphed = _step_of(recipe)
    call_of = _call_of(graphed)
    steps, count, calls = recipe.steps, len(places), int(call_of[-1]) + 1
    mean = np.array([w.ns for w in work], np.float32)[places]
    duration = (mean * (1 + 0.03 * rng.standard_normal((steps, count), np.float32))).astype(np.int64).clip(300)
    pause = np.where(graphed, 380, 1100) + rng.integers(0, 500, (steps, count))
    earliest = np.concatenate([[0], np.cumsum(duration + pause)[:-1]])  # where the GPU would be if it never waited
    call_start, call_end = _host(recipe, rng, call_of, earliest.reshape(steps, count)[:, 0])
    op_call = (call_of + calls * np.arange(steps)[:, None]).ravel()
    ready = call_end.ravel()[op_call] + 1_600 + rng.integers(0, 900, len(op_call))
    op_start = earliest + np.maximum.accumulate(ready - earliest)
    names, range_name, range_start, range_end = _ranges(recipe, call_start, call_end)
    node = np.where(graphed, (GRAPH << 32) + np.cumsum(graphed), 0)
    return Synthetic(
        recipe=recipe,
        work=work,
        op_work=np.tile(places, steps),
        op_start=op_start,
        op_end=op_start + duration.ravel(),
        op_call=op_call,
        op_node=np.tile(node, steps),
        calls=CALLS,
        call_name=np.tile(_call_names(work, places, graphed, call_of), steps),
        call_start=call_start.ravel(),
        call_end=call_end.ravel(),
        names=names,
        range_name=range_name,
        range_start=range_start,
        range_end=range_end,
    )


def _step_of(recipe: Recipe) -> tuple[tuple[Work, ...], Codes, npt.NDArray[np.bool_]]:
    """The distinct works, a step as numbers of them, and which of its operations a graph replays."""
    outside = [w for w in (*PREPARE, *SAMPLE) if w.bytes == 0]
    prepare, sample = ([w for w in part if recipe.memops or w.bytes == 0] for part in (PREPARE, SAMPLE))
    if recipe.kernels <= len(outside):
        prepare, sample, layers = [], [], [LAYER[i % len(LAYER)] for i in range(recipe.kernels)]
    else:
        layers = [LAYER[i % len(LAYER)] for i in range(recipe.kernels - len(outside))]
    step = [*prepare, *layers, *sample]
    numbers = {work: number for number, work in enumerate(dict.fromkeys(step))}
    graphed = np.zeros(len(step), bool)
    graphed[len(prepare) : len(prepare) + len(layers)] = recipe.mode == "graph"
    return tuple(numbers), np.array([numbers[w] for w in step], np.int32), graphed


def _call_of(graphed: npt.NDArray[np.bool_]) -> Ints:
    """For each operation of a step the call that launches it: one for all that the graph replays."""
    begins = np.ones(len(graphed), bool)
    begins[1:] = ~(graphed[1:] & graphed[:-1])
    return np.cumsum(begins) - 1


def _call_names(work: tuple[Work, ...], places: Codes, graphed: npt.NDArray[np.bool_], call_of: Ints) -> Codes:
    """For each call of a step which of CALLS it is."""
    copies = np.array([w.bytes > 0 for w in work])[places]
    of_operations = np.where(graphed, 1, np.where(copies, 2, 0)).astype(np.int32)
    return of_operations[np.unique(call_of, return_index=True)[1]]


def _host(recipe: Recipe, rng: np.random.Generator, call_of: Ints, step_at: Ints) -> tuple[Ints, Ints]:
    """When each call begins and ends. Eager, the host's own pace counts; as a graph, it stays a step ahead of the GPU."""
    shape = recipe.steps, int(call_of[-1]) + 1
    apart = (4_000 * rng.standard_gamma(3.0, shape, np.float32)).astype(np.int64) + 12_000
    inside = (900 * rng.standard_gamma(4.0, shape, np.float32)).astype(np.int64) + 1_500
    apart[:, 0] += 900_000
    if recipe.mode == "eager":
        end = np.cumsum(apart + inside).reshape(shape)
    else:
        inside[:, int(np.argmax(np.bincount(call_of)))] += 200_000
        length = int(step_at[-1] - step_at[0]) // max(recipe.steps - 1, 1)
        end = np.cumsum(apart + inside, axis=1) + np.concatenate([[step_at[0] - length], step_at[:-1]])[:, None]
    end += 2_000_000 - int(end[0, 0])
    return end - inside, end


def _ranges(recipe: Recipe, start: Ints, end: Ints) -> tuple[tuple[str, ...], Codes, Ints, Ints]:
    """vLLM-like ranges of every step: scheduling, then the step itself with three phases in it."""
    if not recipe.ranges:
        return (), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64)
    calls = start.shape[1]
    prepared = min(len(PREPARE), max(calls - 2, 1)) - 1
    sampled = max(calls - len(SAMPLE), prepared + 1) if calls > prepared + 1 else calls - 1
    names = (
        "schedule: allocate_slots",
        f"execute_context_0(0)_generation_{recipe.batch}({recipe.batch})",
        "gpu_model_runner: preprocess",
        "gpu_model_runner: forward",
        "gpu_model_runner: sample",
    )
    begin, finish = start[:, 0] - 60_000, end[:, -1] + 3_000
    spans = [
        (start[:, 0] - 400_000, start[:, 0] - 250_000),
        (begin, finish + 2_000),
        (begin + 1_000, start[:, prepared] - 500),
        (start[:, prepared] - 400, start[:, sampled] - 300),
        (start[:, sampled] - 200, finish),
    ]
    starts, ends = (np.stack(side, axis=1).ravel() for side in zip(*spans))
    return names, np.tile(np.arange(len(names), dtype=np.int32), recipe.steps), starts, ends
