from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerntrace.errors import UsageError
from kerntrace.hardware import GpuSpec, find_gpu, known_gpus
from kerntrace.model.architecture import known_models, load_model
from kerntrace.model.inventory import take_inventory
from kerntrace.model.operations import Kind
from kerntrace.model.profile import find_constants, load_profile, shipped_profiles, timing, with_efficiency
from kerntrace.model.roofline import Bound, faster_than_ideal, ideal_ns, time_kernels, total_ns
from kerntrace.workload import Cell, Mode

H200 = find_gpu("H200")
LLAMA = load_model("llama-3.1-8b")

# Untraced decode steps of vLLM 0.24.0 on an H200, Llama-3.1-8B shape, (wall(33 tokens) - wall(1)) / 32, medians of 5, in ms.
# Under a graph a step is GPU busy and device gaps, nothing else.
BATCHES = (1, 2, 4, 8, 16, 32)
WALLS_MS = {
    (Mode.GRAPH, 512): (4.9844, 4.9915, 5.0922, 5.2058, 5.3739, 5.8322),
    (Mode.GRAPH, 2048): (5.0534, 5.1024, 5.2962, 5.5635, 6.1743, 7.2657),
    (Mode.GRAPH_NOCOMPILE, 512): (5.1203, 5.0801, 5.2420, 5.3053, 5.4982, 5.9869),
    (Mode.GRAPH_NOCOMPILE, 2048): (5.1293, 5.2195, 5.4364, 5.7846, 6.2685, 7.3636),
}


def predicted_ms(mode: Mode, batch: int, context: int, profile: str) -> float:
    inventory = take_inventory(LLAMA, H200, Cell(mode, batch, context), kv_length=context + 17)
    return total_ns(time_kernels(inventory, load_profile(profile))) / 1e6


@pytest.mark.parametrize("mode", [Mode.GRAPH, Mode.GRAPH_NOCOMPILE])
def test_the_affine_profile_meets_measured_steps_it_was_not_fitted_on(mode: Mode) -> None:
    ratios = [
        predicted_ms(mode, batch, context, "affine") / wall
        for context in (512, 2048)
        for batch, wall in zip(BATCHES, WALLS_MS[mode, context], strict=True)
    ]
    assert abs(median(ratios) - 1) < 0.05
    assert all(abs(ratio - 1) < 0.10 for ratio in ratios)


@pytest.mark.parametrize("mode", [Mode.GRAPH, Mode.GRAPH_NOCOMPILE])
def test_the_ideal_profile_is_below_every_measured_step(mode: Mode) -> None:
    for context in (512, 2048):
        for batch, wall in zip(BATCHES, WALLS_MS[mode, context], strict=True):
            assert predicted_ms(mode, batch, context, "ideal") < wall


@pytest.mark.parametrize(
    ("gpu", "batch", "context", "expected"),
    [("H200", 1, 512, 3.14), ("H200", 32, 2048, 5.00), ("H100", 16, 8192, 9.66), ("A100-40GB", 4, 2048, 10.38)],
)
def test_the_ideal_profile_against_a_hand_calculation(gpu: str, batch: int, context: int, expected: float) -> None:
    inventory = take_inventory(LLAMA, find_gpu(gpu), Cell(Mode.EAGER, batch, context))
    assert total_ns(time_kernels(inventory, load_profile("ideal"))) / 1e6 == pytest.approx(expected, rel=0.01)


@given(
    st.sampled_from(known_gpus()),
    st.sampled_from(known_models()),
    st.sampled_from(list(Mode)),
    st.integers(1, 300),
    st.integers(1, 4096),
    st.sampled_from(["flat", "affine"]),
)
@settings(max_examples=60, deadline=None)
def test_no_profile_is_faster_than_the_ideal_one(
    gpu: GpuSpec, name: str, mode: Mode, batch: int, context: int, profile: str
) -> None:
    timed = time_kernels(take_inventory(load_model(name), gpu, Cell(mode, batch, context)), load_profile(profile))
    for entry in timed:
        assert entry.slot_ns >= entry.ideal_ns >= 0
        assert entry.slot_ns >= entry.busy_ns >= entry.ideal_ns
        assert entry.ideal_ns == pytest.approx(ideal_ns(entry.kernel, gpu))


def test_an_operations_fixed_time_is_shared_out_to_its_kernels() -> None:
    profile = load_profile("affine")
    timed = {entry.kernel.name: entry for entry in time_kernels(take_inventory(LLAMA, H200, Cell(Mode.EAGER, 1, 512)), profile)}
    product, reduce = timed["o_proj"], timed["o_proj.reduce"]
    whole = find_constants(profile, H200, Kind.GEMM)
    fixed_us = whole["t0_us"].value
    bytes_ns = (product.kernel.bytes + 0) / (whole["efficiency"].value * 4800)
    moved_ns = reduce.kernel.bytes / (0.8 * 4800)
    assert product.slot_ns + reduce.slot_ns == pytest.approx(1000 * fixed_us + bytes_ns + moved_ns)


def bounds(batch: int, context: int) -> dict[str, Bound]:
    inventory = take_inventory(LLAMA, H200, Cell(Mode.EAGER, batch, context))
    return {entry.kernel.name: entry.bound for entry in time_kernels(inventory, load_profile("affine"))}


def test_what_binds_a_kernel() -> None:
    few, many = bounds(1, 512), bounds(512, 2048)
    assert {few[name] for name in ("qkv_proj", "gate_up_proj", "down_proj", "lm_head")} == {Bound.MEMORY}
    assert {few[name] for name in ("input_norm", "rope", "kv_write", "attention", "act_and_mul")} == {Bound.LATENCY}
    assert many["gate_up_proj"] is Bound.COMPUTE  # 512 rows are beyond the ridge of 206 operations a byte
    assert many["attention"] is Bound.MEMORY  # 4 operations a byte at any batch
    assert many["act_and_mul"] is Bound.L2


def test_a_kernel_faster_than_its_bytes_allow_is_a_violation() -> None:
    kernels = [
        k for k in take_inventory(LLAMA, H200, Cell(Mode.EAGER, 1, 512)).kernels if k.name in ("gate_up_proj", "input_norm")
    ]
    gate = next(k for k in kernels if k.name == "gate_up_proj")
    assert not faster_than_ideal(kernels, [2.0 * ideal_ns(k, H200) + 1 for k in kernels], H200)
    (found,) = faster_than_ideal([gate], [40_000], H200)  # 235 MB in 40 us would be 5.9 TB/s
    assert (found.kernel, found.measured_ns) == (gate, 40_000)
    assert found.ideal_ns == pytest.approx(48_947, abs=50)
    norm = next(k for k in kernels if k.name == "input_norm")
    assert not faster_than_ideal([norm], [1.0], H200)  # short, and it fits the cache


def test_shipped_constants_have_a_kind_and_a_source() -> None:
    assert shipped_profiles() == ("affine", "flat", "h200-calibrated", "ideal")
    for name in shipped_profiles():
        assert load_profile(name).name == name
        for constants in load_profile(name).constant:
            for constant in (constants.t0_us, constants.efficiency, constants.compute_efficiency):
                assert constant is None or (constant.source and len(constant.date) == 10)
                assert constant is None or constant.kind in (
                    ("microbenchmark",) if name == "h200-calibrated" else ("published", "assumed")
                )


def test_the_more_specific_constant_wins() -> None:
    profile = load_profile("affine")
    values = {name: find_constants(profile, find_gpu(name), Kind.GEMM)["efficiency"].value for name in ("H200", "H100", "L4")}
    assert values == {"H200": 0.866, "H100": 0.876, "L4": 0.8}
    small = find_constants(profile, H200, Kind.NORM, "vllm.rms_norm")["t0_us"].value
    assert small > find_constants(profile, H200, Kind.NORM, "triton.rms_norm")["t0_us"].value


def test_activations_in_l2_are_timed_by_its_bandwidth_where_it_is_known(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = (
        'name = "mine"\nform = "calibrated"\n'
        'l2_bandwidth_gb_s = { value = 9600, kind = "microbenchmark", source = "here" }\n'
        '[[constant]]\napplies_to = ["*"]\nkinds = ["*"]\n'
        'efficiency = { value = 1.0, kind = "microbenchmark", source = "here" }\n'
    )
    path.write_text(text)
    inventory = take_inventory(LLAMA, H200, Cell(Mode.EAGER, 16, 512))
    timed = next(entry for entry in time_kernels(inventory, load_profile(str(path))) if entry.kernel.name == "logits_to_fp32")
    assert timed.slot_ns == pytest.approx(timed.kernel.l2_bytes / 9600)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name = "x"\nform = "guess"\n', "form"),
        ('name = "x"\nform = "flat"\n[[constant]]\napplies_to = ["*"]\nkinds = ["gem"]\n', "no kind of kernel 'gem'"),
        (
            'name = "x"\nform = "flat"\n[[constant]]\napplies_to = ["*"]\nkinds = ["*"]\n'
            'efficiency = { value = 1.5, kind = "assumed", source = "s" }\n',
            "efficiency of 1.5",
        ),
    ],
)
def test_a_broken_profile_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / f"{abs(hash(text))}.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        load_profile(str(path))


def test_a_profile_without_constants_for_a_gpu_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.toml"
    path.write_text('name = "empty"\nform = "calibrated"\n')
    with pytest.raises(UsageError, match="no constants for gemm kernels on H200"):
        timing(load_profile(str(path)), H200, Kind.GEMM, "bfloat16")
    with pytest.raises(UsageError, match=r"known are affine, flat, h200-calibrated, ideal"):
        load_profile("none")


def test_which_efficiency_a_prediction_would_need() -> None:
    inventory = take_inventory(LLAMA, H200, Cell(Mode.GRAPH, 1, 512))
    half = total_ns(time_kernels(inventory, with_efficiency(load_profile("flat"), 0.5)))
    ideal = total_ns(time_kernels(inventory, load_profile("ideal")))
    assert half == pytest.approx(2 * ideal)
    with pytest.raises(UsageError, match=r"efficiency of 1\.01"):
        with_efficiency(load_profile("flat"), 1.01)
