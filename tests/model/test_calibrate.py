"""A calibration finds the constants of a machine again, says what is doubtful, and writes what a prediction reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.calibration import Json, Machine, points_of

from kerntrace.errors import KerntraceError, UnreadableError
from kerntrace.hardware import find_gpu
from kerntrace.model.architecture import load_model
from kerntrace.model.calibrate import fit_profile
from kerntrace.model.operations import Kind
from kerntrace.model.points import parse_points, read_points
from kerntrace.model.predict import predict_step
from kerntrace.model.profile import Constant, Profile, find_constants, load_profile, timing
from kerntrace.model.profile_text import profile_text
from kerntrace.workload import Cell, Mode

H200 = find_gpu("H200")


def fit(document: Json) -> Profile:
    return fit_profile(parse_points(document), H200)


def changed(change: Callable[[Json], None]) -> Json:
    document = points_of(Machine())
    change(document)
    return document


def of(document: Json, what: str) -> list[Json]:
    return [point for point in document["points"] if point["what"] == what]


@pytest.mark.parametrize("machine", [Machine(), Machine(product_ns=2_000, product_bandwidth=3_000, attention_ns=9_000)])
def test_the_constants_of_the_machine_are_found_again(machine: Machine) -> None:
    profile = fit(points_of(machine))
    product = timing(profile, H200, Kind.GEMM, "bfloat16", "cublas.gemm")
    assert product.t0_ns == pytest.approx(machine.product_ns, abs=1)
    assert product.bytes_per_ns == pytest.approx(machine.product_bandwidth, rel=1e-3)
    attention = timing(profile, H200, Kind.ATTENTION, "bfloat16", "fa3.forward")
    assert attention.t0_ns == pytest.approx(machine.attention_ns, abs=1)
    assert attention.bytes_per_ns == pytest.approx(machine.attention_bandwidth, rel=1e-3)
    assert product.l2_bytes_per_ns == pytest.approx(machine.cache_bandwidth, rel=1e-3)
    assert product.node_gap_ns == pytest.approx(machine.gap_ns, abs=0.1)
    assert profile.warnings == ()


def test_small_kernels_go_by_who_wrote_them() -> None:
    profile = fit(points_of(Machine()))

    def fixed(kind: Kind, family: str) -> float:
        return timing(profile, H200, kind, "bfloat16", family).t0_ns

    assert fixed(Kind.NORM, "vllm.rms_norm") == pytest.approx(3_000, abs=1)
    assert fixed(Kind.NORM, "triton.rms_norm") == pytest.approx(2_500, abs=1)
    assert fixed(Kind.SAMPLER, "vllm.gumbel_sample") == pytest.approx(3_000, abs=1)  # of 2.0 and 4.0 us
    assert fixed(Kind.METADATA, "vllm.post_update") == pytest.approx(2_000, abs=1)  # the median of PyTorch's
    assert fixed(Kind.ROPE, "triton.rope") == pytest.approx(2_000, abs=1)  # not measured here: the median as well


def test_what_launching_costs_stands_beside_the_constants() -> None:
    measured = {name: constant.value for name, constant in fit(points_of(Machine())).measured.items()}
    assert measured == pytest.approx(
        {
            "small_kernel_us": 2.0,
            "dram_read_gb_s": 4400,
            "dram_copy_gb_s": 4320,
            "gemm_peak_tflops": 791.52,
            "null_launch_us": 2.2,
            "launch_to_start_us": 7.7,
            "graph_node_us": 1.1,
            "graph_launch_us": 5.0,
            "graph_launch_per_node_us": 0.004,
            "share_of_load": 0.0,
            "slower_after_load_ratio": 1.0,
        },
        rel=1e-3,
    )


def test_a_point_that_went_wrong_is_left_out_and_named() -> None:
    def disturb(document: Json) -> None:
        of(document, "gemm")[5]["times_ns"] = [300_000.0] * 3  # 16 x 6144 x 4096, twenty times too slow

    profile = fit(changed(disturb))
    constants = find_constants(profile, H200, Kind.GEMM)
    assert constants["t0_us"].value == pytest.approx(4.5, abs=0.01)
    assert any("1 of 12 gemm points are off the line: gemm 16 x 6144 x 4096" in warning for warning in profile.warnings)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: of(d, "dram_read_again")[0].update(times_ns=[(4 << 30) / 3_900.0]), "throttled or shared"),
        (
            lambda d: d["machine"].update(clocks_event_reasons_active="0x0000000000000044"),
            "power cap, thermal limit (hardware)",
        ),
        (lambda d: d["machine"].update(clocks_sm="1200"), "1200 MHz under load, of 1980"),
        (lambda d: of(d, "gemm")[0].update(times_ns=[5_000.0, 6_452.0, 9_000.0]), "vary by more than 5 %"),
        (lambda d: [p.update(how="torch, SDPA") for p in of(d, "attention")], "not what an engine runs"),
        (
            lambda d: d.update(points=[p for p in d["points"] if p.get("family", "")[:4] != "vllm"]),
            "vLLM's own kernels were not",
        ),
        (lambda d: d.update(points=[p for p in d["points"] if p["what"] != "node_slot"]), "gap between two nodes"),
        (lambda d: d.update(points=[p for p in d["points"] if p["what"] != "l2"]), "L2 cache was not measured"),
        (lambda d: d.update(warnings=["attention: no kernel"]), "attention: no kernel"),
        (lambda d: d["points"].append({"what": "gemm_tilted", "times_ns": [1.0]}), "does not use: gemm_tilted"),
    ],
)
def test_what_is_doubtful_is_said(change: Callable[[Json], None], said: str) -> None:
    assert any(said in warning for warning in fit(changed(change)).warnings)


def test_being_idle_or_asked_for_a_clock_is_no_throttling() -> None:
    assert fit(changed(lambda d: d["machine"].update(clocks_event_reasons_active="0x0000000000000003"))).warnings == ()


def test_a_bandwidth_above_the_nominal_one_is_cut_and_said() -> None:
    constant = find_constants(fit(points_of(Machine(product_bandwidth=5_000.0))), H200, Kind.GEMM)["efficiency"]
    assert constant.value == 1.0
    assert "cut to 1" in constant.source


def test_a_profile_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    odd = changed(lambda d: d["machine"].update(vllm='0.24 "dev" \\ \x7f\n\u00b5', **{"a key": "x"}))
    profile = fit(odd)
    path = tmp_path / "mine.toml"
    path.write_text(profile_text(profile, "a comment\nof two lines"), encoding="utf-8")
    assert load_profile(str(path)) == profile


def test_a_step_is_predicted_from_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(profile_text(fit(points_of(Machine()))), encoding="utf-8")
    step = predict_step(load_model("llama-3.1-8b"), H200, Cell(Mode.GRAPH, 1, 512), load_profile(str(path)))
    machine = Machine()
    # 129 products whose weights are 15.01 GB, 32 times attention over 529 keys: their own lines, whatever the parts take out.
    lines = 129 * machine.product_ns + 15_009_316_864 / machine.product_bandwidth
    lines += 32 * (machine.attention_ns + 529 * 4_096 / machine.attention_bandwidth)
    # Per layer two norms, two rotations and an activation by Inductor; once more a norm; cache traffic is small.
    small = 32 * (2 * 2_500 + 2 * 2_000 + 1_900) + 2_500
    assert step.t_blocks_ns == pytest.approx(lines + small, rel=0.02)
    assert step.t_blocks_ns > lines + small - 2_500


@pytest.mark.parametrize("missing", ["gemm", "attention", "small", "dram_copy"])
def test_without_a_kind_of_point_there_is_no_profile(missing: str) -> None:
    document = changed(lambda d: d.update(points=[p for p in d["points"] if p["what"] != missing], warnings=["it broke"]))
    with pytest.raises(KerntraceError, match=f"no {missing}.*it broke"):
        fit(document)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("[]", "Expected `object`"),
        ('{"schema": "x", "machine": {}, "points": []}', "schema 'x'"),
        (
            '{"schema": "kerntrace.calibration-points/1", "machine": {}, "points": [{"what": "gemm", "times_ns": []}]}',
            "no time that could be measured",
        ),
        (
            '{"schema": "kerntrace.calibration-points/1", "machine": {}, "points": [{"what": "gemm", "times_ns": [-1]}]}',
            "no time that could be measured",
        ),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_not_of_points_is_refused_in_a_line(tmp_path: Path, content: str | None, said: str) -> None:
    path = tmp_path / "points.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UnreadableError) as refused:
        read_points(path)
    assert said in refused.value.what
    assert "\n" not in refused.value.what


def test_constants_say_where_they_come_from() -> None:
    profile = fit(points_of(Machine()))
    constants: list[Any] = [entry.t0_us for entry in profile.constant] + [entry.efficiency for entry in profile.constant]
    known = [constant for constant in constants if constant is not None]
    assert known
    assert all(isinstance(one, Constant) and one.kind == "microbenchmark" and one.source and one.date for one in known)
