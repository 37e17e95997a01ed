from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerntrace.errors import UsageError
from kerntrace.hardware import find_gpu
from kerntrace.model.architecture import Architecture, known_models, load_model
from kerntrace.model.inventory import CAPTURE_SIZES, Inventory, padded_batch, take_inventory
from kerntrace.model.kernels import Phase
from kerntrace.model.layer import Variant
from kerntrace.model.operations import Kind
from kerntrace.workload import Cell, Mode

H200 = find_gpu("H200")
LLAMA = load_model("llama-3.1-8b")


def inventory(mode: Mode, batch: int = 1, context: int = 512, model: Architecture = LLAMA) -> Inventory:
    return take_inventory(model, H200, Cell(mode, batch, context))


@pytest.mark.parametrize(
    ("mode", "batch", "count"),
    [
        (Mode.EAGER, 1, 438),
        (Mode.EAGER, 16, 438),
        (Mode.GRAPH, 1, 470),  # the graph's last copy runs as a kernel at 8 kB
        (Mode.GRAPH, 16, 470),  # and at 128 kB
        (Mode.GRAPH_NOCOMPILE, 1, 440),
        (Mode.COMPILE, 1, 468),
    ],
)
def test_kernels_of_a_step_are_as_many_as_were_recorded_on_an_h200(mode: Mode, batch: int, count: int) -> None:
    assert inventory(mode, batch).kernel_count == count


def test_the_count_is_layers_and_the_rest() -> None:
    assert inventory(Mode.EAGER).formula() == "438 = 32 x 13 + 22"
    assert inventory(Mode.GRAPH).formula() == "470 = 32 x 14 + 22"
    assert inventory(Mode.GRAPH).layers() == (14,) * 32


def test_an_eager_layer_in_order() -> None:
    second = [kernel.name for kernel in inventory(Mode.EAGER).kernels if kernel.layer == 1]
    assert second == [
        "input_norm",
        "qkv_proj",
        "rope",
        "kv_write",
        "attention",
        "attention.combine",
        "o_proj",
        "o_proj.reduce",
        "post_attention_norm",
        "gate_up_proj",
        "act_and_mul",
        "down_proj",
        "down_proj.reduce",
    ]


def test_inductor_rotates_in_two_kernels_and_fuses_the_embedding() -> None:
    kernels = inventory(Mode.GRAPH).kernels
    first = next(kernel for kernel in kernels if kernel.layer == 0)
    assert first.operations == ("embedding", "input_norm")
    rotations = [kernel for kernel in kernels if kernel.layer == 5 and kernel.kind is Kind.ROPE]
    whole = next(kernel for kernel in inventory(Mode.EAGER).kernels if kernel.layer == 5 and kernel.kind is Kind.ROPE)
    assert [kernel.name for kernel in rotations] == ["rope.q", "rope.k"]
    assert sum(kernel.bytes for kernel in rotations) == pytest.approx(whole.bytes, abs=2)


def test_a_graph_leaves_bookkeeping_and_sampler_to_the_host() -> None:
    graph, eager = inventory(Mode.GRAPH), inventory(Mode.EAGER)
    assert eager.host_launches == eager.kernel_count
    outside = [kernel for kernel in graph.kernels if not kernel.is_copy and kernel.phase is not Phase.FORWARD]
    assert graph.host_launches == len(outside) == 20


# GB of weights that products read in a step of batch 1, worked out by hand from the shapes:
# layers x hidden x (qkv + heads x head size + 3 x intermediate) x 2 bytes, plus vocabulary x hidden x 2.
WEIGHTS = {
    "llama-3.1-8b": 32 * 4096 * (6144 + 4096 + 3 * 14_336) * 2 + 128_256 * 4096 * 2,
    "llama-3.2-1b": 16 * 2048 * (3072 + 2048 + 3 * 8192) * 2 + 128_256 * 2048 * 2,
    "llama-3.2-3b": 28 * 3072 * (5120 + 3072 + 3 * 8192) * 2 + 128_256 * 3072 * 2,
    "qwen2.5-7b": 28 * (3584 * (4608 + 3584 + 3 * 18_944) + 4608) * 2 + 152_064 * 3584 * 2,  # and 4608 biases
    "qwen3-8b": 36 * 4096 * (6144 + 4096 + 3 * 12_288) * 2 + 151_936 * 4096 * 2,
    "mistral-7b": 32 * 4096 * (6144 + 4096 + 3 * 14_336) * 2 + 32_768 * 4096 * 2,
    "gemma-2-9b": 42 * 3584 * (8192 + 4096 + 3 * 14_336) * 2 + 256_000 * 3584 * 2,
    "gemma-3-4b": 34 * 2560 * (4096 + 2048 + 3 * 10_240) * 2 + 262_208 * 2560 * 2,
    "phi-3-mini": 32 * 3072 * (9216 + 3072 + 3 * 8192) * 2 + 32_064 * 3072 * 2,
    # two of eight experts, and a router of eight outputs
    "mixtral-8x7b": 32 * 4096 * (6144 + 4096 + 2 * 3 * 14_336 + 8) * 2 + 32_000 * 4096 * 2,
}


@pytest.mark.parametrize("name", known_models())
def test_bytes_and_flops_of_ten_models_against_hand_computed_totals(name: str) -> None:
    model = load_model(name)
    kernels = inventory(Mode.EAGER, context=2048, model=model).kernels
    products = [kernel for kernel in kernels if kernel.kind is Kind.GEMM]
    assert sum(kernel.dram_bytes for kernel in products) == WEIGHTS[name]
    # One row: a multiplication and an addition for each two-byte weight; a bias only adds.
    biases = model.layers * model.qkv_width if model.qkv_bias else 0
    assert sum(kernel.flops for kernel in products) == WEIGHTS[name] - biases
    lengths = sum(min(2048, window or 2048) for window in model.windows)
    attention = [kernel for kernel in kernels if kernel.kind is Kind.ATTENTION]
    assert sum(kernel.dram_bytes for kernel in attention) == lengths * 4 * model.kv_heads * model.head_dim
    assert sum(kernel.flops for kernel in attention) == lengths * 4 * model.heads * model.head_dim


def test_llama_3_1_8b_reads_15_gb() -> None:
    assert pytest.approx(15.010e9, rel=1e-3) == WEIGHTS["llama-3.1-8b"]


@given(
    st.sampled_from(known_models()),
    st.sampled_from([Mode.EAGER, Mode.COMPILE]),
    st.integers(1, 64),
    st.integers(1, 4000),
)
@settings(max_examples=30, deadline=None)
def test_more_sequences_and_longer_contexts_never_need_less(name: str, mode: Mode, batch: int, context: int) -> None:
    model = load_model(name)
    less, more = inventory(mode, batch, context, model), inventory(mode, batch + 1, context + 1, model)
    assert len(less.kernels) == len(more.kernels) or batch == 64
    assert sum(k.flops for k in less.kernels) < sum(k.flops for k in more.kernels)
    assert sum(k.dram_bytes for k in less.kernels) <= sum(k.dram_bytes for k in more.kernels)


@pytest.mark.parametrize("name", known_models())
def test_both_dispatch_modes_of_one_kernel_set_do_the_same_work(name: str) -> None:
    model = load_model(name)
    for eager, graph in ((Mode.EAGER, Mode.GRAPH_NOCOMPILE), (Mode.COMPILE, Mode.GRAPH)):
        one = [k for k in inventory(eager, model=model).kernels if k.layer is not None]
        two = [k for k in inventory(graph, model=model).kernels if k.layer is not None]
        assert [(k.name, k.family, k.flops, k.dram_bytes) for k in one] == [
            (k.name, k.family, k.flops, k.dram_bytes) for k in two
        ]


def test_a_window_caps_what_a_layer_reads() -> None:
    kernels = inventory(Mode.EAGER, context=8000, model=load_model("gemma-2-9b")).kernels
    lengths = [kernel.shape[1] for kernel in kernels if kernel.kind is Kind.ATTENTION]
    assert lengths[:4] == [4096, 8000, 4096, 8000]


def test_a_batch_between_captured_sizes_is_padded_under_a_graph_only() -> None:
    assert padded_batch(3) == 4
    assert padded_batch(17) == 24
    assert all(padded_batch(size) == size for size in CAPTURE_SIZES)
    padded = inventory(Mode.GRAPH, batch=3)
    assert padded.step.rows == 4
    assert any("batch 4 is replayed for batch 3" in note for note in padded.notes)
    assert inventory(Mode.EAGER, batch=3).step.rows == 3
    with pytest.raises(UsageError, match="captured up to batch 512"):
        padded_batch(513)


def test_fp8_weights_halve_what_products_read() -> None:
    whole = inventory(Mode.EAGER)
    half = take_inventory(LLAMA, H200, Cell(Mode.EAGER, 1, 512), dtype="fp8", kv_dtype="bfloat16")
    for one, two in zip(whole.kernels, half.kernels, strict=True):
        assert two.dram_bytes * (2 if one.kind is Kind.GEMM else 1) == one.dram_bytes


def test_what_was_never_traced_is_said() -> None:
    assert not inventory(Mode.EAGER).notes
    assert "mixture of experts" in inventory(Mode.EAGER, model=load_model("mixtral-8x7b")).notes[0]


def test_a_context_beyond_the_model_and_an_unknown_dtype_are_refused() -> None:
    with pytest.raises(UsageError, match="131073 tokens are beyond its limit of 131072"):
        inventory(Mode.EAGER, context=131_073)
    with pytest.raises(UsageError, match="no dtype 'int4'"):
        take_inventory(LLAMA, H200, Cell(Mode.EAGER, 1, 512), dtype="int4")


def test_what_a_start_of_the_engine_decided_changes_kernels_not_work() -> None:
    model = load_model("llama-3.1-8b")
    usual = take_inventory(model, H200, Cell(Mode.GRAPH, 1, 512))
    other = take_inventory(model, H200, Cell(Mode.GRAPH, 1, 512), variant=Variant(rotations=1, biases=0))
    assert other.formula() == "437 = 32 x 13 + 21"

    def rotated(found: Inventory) -> int:
        return sum(kernel.bytes for kernel in found.kernels if kernel.layer == 3 and kernel.name.startswith("rope"))

    assert rotated(other) == rotated(usual)
