"""A generation after a prefill pays part of what large products slow down, and kernels outside a graph their own slot."""

from __future__ import annotations

from math import exp
from pathlib import Path

import pytest
from tests.support.calibration import Json, Machine, points_of

from kerntrace.hardware import find_gpu
from kerntrace.model.architecture import load_model
from kerntrace.model.calibrate import fit_profile
from kerntrace.model.calibrate_load import GENERATION_NS, load_of
from kerntrace.model.inventory import take_inventory
from kerntrace.model.kernels import Phase
from kerntrace.model.operations import Kind
from kerntrace.model.points import parse_points
from kerntrace.model.profile import Profile, load_profile, timing
from kerntrace.model.profile_text import profile_text
from kerntrace.model.roofline import time_kernels
from kerntrace.workload import Cell, Mode

H200 = find_gpu("H200")
SLOW = Machine(slower=1.1)


def fit(document: Json) -> Profile:
    return fit_profile(parse_points(document), H200)


def without(document: Json, *whats: str) -> Json:
    return document | {"points": [point for point in document["points"] if point["what"] not in whats]}


def test_the_weight_is_the_mean_of_the_recovery_over_the_generation() -> None:
    load = load_of(parse_points(points_of(SLOW)))
    assert load is not None
    expected = SLOW.settles_ns / GENERATION_NS * (1 - exp(-GENERATION_NS / SLOW.settles_ns))
    assert load.weight == pytest.approx(expected, rel=0.08)  # the first 4 ms of the curve are its height
    assert load.slower == pytest.approx(1.1, rel=0.01)


@pytest.mark.parametrize("settles", [20e6, 80e6])
def test_every_kind_takes_that_share_of_its_own_difference(settles: float) -> None:
    machine = Machine(slower=1.2, settles_ns=settles)
    document = points_of(machine)
    load = load_of(parse_points(document))
    assert load is not None
    weight = load.weight
    profile = fit(document)
    slower = 1 + 0.2 * weight
    assert profile.measured["share_of_load"].value == weight
    for kind, family, rested in (
        (Kind.GEMM, "cublas.gemm", machine.product_ns),
        (Kind.ATTENTION, "fa3.forward", machine.attention_ns),
        (Kind.NORM, "vllm.rms_norm", 3_000.0),
    ):
        assert timing(profile, H200, kind, "bfloat16", family).t0_ns == pytest.approx(slower * rested, rel=0.005)


def test_a_gpu_that_large_products_do_not_slow_down_is_taken_as_rested() -> None:
    load = load_of(parse_points(points_of(Machine())))
    assert load is not None
    assert load.weight == 0.0


def test_points_without_the_loaded_state_are_rested_and_a_warning_says_so() -> None:
    profile = fit(without(points_of(SLOW), "recovery", "gemm_loaded", "attention_loaded", "small_loaded"))
    assert not {"share_of_load", "slower_after_load_ratio"} & set(profile.measured)  # not measured, so not said
    assert any("rested clocks" in warning for warning in profile.warnings)
    product = timing(profile, H200, Kind.GEMM, "bfloat16", "cublas.gemm")
    assert product.t0_ns == pytest.approx(SLOW.product_ns, abs=1)


def test_points_that_lack_the_loaded_state_are_counted() -> None:
    document = points_of(SLOW)
    loaded = [point for point in document["points"] if point["what"] == "gemm_loaded"]
    document["points"] = [point for point in document["points"] if point not in loaded[1:]]
    expected = f"{len(loaded) - 1} of {len(loaded)} gemm points were not timed after large products: those are taken as rested"
    assert expected in fit(document).warnings


def test_a_recovery_that_was_cut_short_says_nothing_of_rested_clocks() -> None:
    document = points_of(SLOW)
    document["points"] = [point for point in document["points"] if point.get("after_ns", 0.0) < GENERATION_NS / 2]
    profile = fit(document)
    assert load_of(parse_points(document)) is None
    assert any("rested clocks" in warning for warning in profile.warnings)


@pytest.mark.parametrize("mode", [Mode.GRAPH, Mode.EAGER])
def test_kernels_outside_the_graph_take_the_streams_slot(mode: Mode) -> None:
    profile = fit(points_of(Machine()))
    inventory = take_inventory(load_model("llama-3.1-8b"), H200, Cell(mode, 1, 528))
    slots = {entry.kernel.name: entry for entry in time_kernels(inventory, profile)}
    machine = Machine()
    assert slots["sampled_fill"].slot_ns == pytest.approx(1_300 + machine.stream_ns, rel=0.01)
    assert slots["post_update"].slot_ns == pytest.approx(machine.torch_ns + machine.stream_ns, rel=0.01)
    assert slots["gumbel_sample"].slot_ns > 6_000 + machine.stream_ns
    gap = slots["post_update"].slot_ns - slots["post_update"].busy_ns
    assert gap == pytest.approx(machine.gap_ns + machine.stream_ns, rel=0.01)
    inside = next(entry for entry in slots.values() if entry.kernel.phase is Phase.FORWARD and entry.kernel.kind is Kind.NORM)
    assert inside.slot_ns - inside.busy_ns == pytest.approx(machine.gap_ns, rel=0.01)


def test_without_the_streams_points_they_are_timed_as_nodes_and_a_warning_says_so() -> None:
    profile = fit(without(points_of(Machine()), "stream_small", "stream_slot"))
    inventory = take_inventory(load_model("llama-3.1-8b"), H200, Cell(Mode.GRAPH, 1, 528))
    slots = {entry.kernel.name: entry.slot_ns for entry in time_kernels(inventory, profile)}
    assert slots["post_update"] == pytest.approx(Machine().torch_ns, rel=0.01)
    assert any("launched one by one" in warning for warning in profile.warnings)


def test_a_profile_keeps_how_its_kernels_were_launched(tmp_path: Path) -> None:
    profile = fit(points_of(SLOW))
    path = tmp_path / "mine.toml"
    path.write_text(profile_text(profile))
    assert load_profile(str(path)) == profile
