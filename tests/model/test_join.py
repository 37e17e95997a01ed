"""Which recorded kernel carried which operation, whatever is missing, added, out of order or cut elsewhere."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.step_names import COPIES, NAMES, recorded_families

from kerntrace.hardware import find_gpu
from kerntrace.model.architecture import known_models, load_model
from kerntrace.model.carriers import CARRIERS, carrier_of
from kerntrace.model.inventory import Inventory, take_inventory
from kerntrace.model.join import join
from kerntrace.model.operations import Kind
from kerntrace.steps.families import family_of
from kerntrace.workload import Cell, Mode


def inventory(mode: Mode = Mode.GRAPH, model: str = "llama-3.2-1b", gpu: str = "H200", batch: int = 1) -> Inventory:
    return take_inventory(load_model(model), find_gpu(gpu), Cell(mode, batch, 512))


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("model", known_models())
def test_a_step_as_predicted_is_recognised_whole(mode: Mode, model: str) -> None:
    kernels = inventory(mode, model).kernels
    found = join(recorded_families(kernels), kernels)
    assert found.of.tolist() == list(range(len(kernels)))
    assert found.missing == ()


@pytest.mark.parametrize("gpu", ["A100-40GB-SXM", "H100-SXM", "B200", "RTX-4090"])
def test_on_other_gpus_as_well(gpu: str) -> None:
    kernels = inventory(Mode.EAGER, gpu=gpu).kernels
    assert join(recorded_families(kernels), kernels).of.tolist() == list(range(len(kernels)))


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(0, 6), st.integers(0, 6))
def test_what_is_missing_or_added_does_not_move_the_rest(seed: int, missing: int, added: int) -> None:
    rng = random.Random(seed)
    kernels = inventory().kernels
    left_out = sorted(rng.sample(range(len(kernels)), missing))
    kept = [place for place in range(len(kernels)) if place not in left_out]
    recorded = [recorded_families(kernels)[place] for place in kept]
    for _ in range(added):
        at = rng.randrange(len(recorded) + 1)
        recorded.insert(at, "a kernel nobody knows")
        kept.insert(at, -1)
    found = join(recorded, kernels)
    # Of two neighbours of one family either may be taken for the one that is left, so family and layer are compared.
    said = [(kernels[place].family, kernels[place].layer) if place >= 0 else None for place in found.of.tolist()]
    assert said == [(kernels[place].family, kernels[place].layer) if place >= 0 else None for place in kept]
    assert len(found.missing) == missing
    assert sorted([*found.of[found.of >= 0].tolist(), *found.missing]) == list(range(len(kernels)))


@settings(max_examples=15)
@given(st.integers(0, 300))
def test_a_step_cut_elsewhere_is_turned(cut: int) -> None:
    kernels = inventory(Mode.EAGER).kernels
    recorded = recorded_families(kernels)
    cut %= len(recorded)
    found = join(recorded[cut:] + recorded[:cut], kernels, may_turn=True)
    assert found.of.tolist() == [*range(cut, len(kernels)), *range(cut)]


def test_a_copy_that_ran_late_is_still_recognised() -> None:
    kernels = inventory().kernels
    order = list(range(len(kernels)))
    names = [kernel.name for kernel in kernels]
    order.append(order.pop(names.index("post_update")))  # recorded after the copies back to the host
    found = join([recorded_families(kernels)[place] for place in order], kernels)
    assert found.of.tolist() == order


def test_a_product_is_a_product_whichever_way_it_was_cut() -> None:
    kernels = inventory().kernels
    recorded = recorded_families(kernels)
    swapped = {family_of(NAMES["cublas.gemm"]): family_of(NAMES["cublas.gemm_splitk"])}
    found = join([swapped.get(family, family) for family in recorded], kernels)
    assert found.missing == ()


def test_kernels_of_another_writer_take_the_same_place() -> None:
    """A recording of vLLM's own kernels beside the inventory of Inductor's: what does the same work is paired."""
    recorded, kernels = recorded_families(inventory(Mode.EAGER).kernels), inventory(Mode.COMPILE).kernels
    found = join(recorded, kernels)
    paired = {kernels[place].kind for place in found.of[found.of >= 0].tolist()}
    assert {Kind.GEMM, Kind.ATTENTION, Kind.NORM, Kind.ROPE, Kind.ACTIVATION} <= paired
    assert {kernels[place].name for place in found.missing} <= {"rope.q", "rope.k"}


def test_nothing_recorded_is_everything_missing() -> None:
    kernels = inventory().kernels
    found = join([], kernels, may_turn=True)
    assert len(found.of) == 0
    assert found.missing == tuple(range(len(kernels)))


@pytest.mark.parametrize(
    ("name", "carries", "kind"),
    [
        ("nvjet_sm90_tst_256x8_64x6_2x1_v_bz_TNT", "cublas.gemm", Kind.GEMM),
        ("nvjet_sm90_tst_128x16_64x11_2x1_v_bz_splitK_TNT", "cublas.gemm_splitk", Kind.GEMM),
        ("sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_stage4_warpsize2x2x1", "cublas.gemm", Kind.GEMM),
        ("ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x6_tn", "cublas.gemm", Kind.GEMM),
        ("void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, float, 128, 16, 4>(T1)", "cublas.gemm", Kind.GEMM),
        ("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2>(T1)", "cublas.gemm", Kind.GEMM),
        ("triton_tem_fused_mm_5", "cublas.gemm", Kind.GEMM),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>(T1)", "cublas.splitk_reduce", Kind.GEMM_REDUCE),
        ("triton_red_fused__to_copy_embedding_rms_norm_0", "triton.embedding_rms_norm", Kind.NORM),
        ("triton_red_fused__to_copy_add_embedding_mean_mul_pow_rsqrt_0", "triton.embedding_rms_norm", Kind.NORM),
        ("triton_per_fused__to_copy_add_mean_mul_pow_rsqrt_3", "triton.rms_norm", Kind.NORM),
        ("triton_poi_fused_mul_silu_slice_1", "triton.act_and_mul", Kind.ACTIVATION),
        ("triton_poi_fused_mul_silu_1", "triton.act_and_mul", Kind.ACTIVATION),
        ("triton_poi_fused_1", "triton.rope", Kind.ROPE),
        ("triton_poi_fused_cat_mul_sub_4", "triton.rope", Kind.ROPE),
        ("void at::native::vectorized_gather_kernel<(int)16, long>(char *, char *)", "torch.index", Kind.EMBEDDING),
        ("memcpy32_post", "graph.copy_node", Kind.COPY),
    ],
)
def test_names_that_libraries_and_compilers_give(name: str, carries: str, kind: Kind) -> None:
    carrier = carrier_of(family_of(name))
    assert carrier is not None
    assert (carrier.carries[0], carrier.kind) == (carries, kind)


def test_a_name_that_no_rule_knows_is_not_guessed() -> None:
    assert carrier_of(family_of("my_own_kernel")) is None


def test_every_family_of_the_inventory_has_a_rule_and_every_rule_a_use() -> None:
    carried = {family for carrier in CARRIERS for family in carrier.carries}
    launched = {
        kernel.family
        for model in known_models()
        for mode in Mode
        for gpu in ("H200", "A100-40GB-SXM")
        for kernel in inventory(mode, model, gpu).kernels
    }
    assert launched == carried
    assert launched == NAMES.keys() | COPIES.keys()


def test_copies_are_told_apart() -> None:
    found = {kind: carrier_of(f"copy {kind}") for kind in ("HtoD", "DtoH", "DtoD", "memset", "DtoD in a graph", "PtoP")}
    assert all(carrier is not None and carrier.kind is Kind.COPY for carrier in found.values())
    firsts = {kind: carrier.carries[:1] for kind, carrier in found.items() if carrier is not None}
    assert firsts["DtoD in a graph"] == ("graph.copy_node",)
    assert firsts["PtoP"] == ()
    assert len({firsts[kind] for kind in ("HtoD", "DtoH", "DtoD", "memset")}) == 4


def test_joins_are_positions_of_the_inventory() -> None:
    kernels = inventory().kernels
    assert join(recorded_families(kernels), kernels).of.dtype == np.intp
