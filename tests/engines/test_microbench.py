"""The microbenchmarks on a PyTorch that does nothing: what they hand over is what a calibration reads."""

from __future__ import annotations

import shutil
import sys
from typing import Any
from unittest.mock import MagicMock

import pytest

from kerntrace.engines import microbench, microbench_attention, microbench_launches
from kerntrace.hardware import find_gpu
from kerntrace.model.calibrate import fit_profile
from kerntrace.model.points import parse_points

_MODULES = (
    "torch",
    "torch.autograd",
    "torch.profiler",
    "vllm",
    "vllm.vllm_flash_attn",
    "vllm.vllm_flash_attn.flash_attn_interface",
)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A PyTorch and a vLLM that accept everything, and a clock that always says the same."""
    fake = MagicMock(name="torch", __version__="2.11.0")
    fake.version.cuda = "13.0"
    properties = fake.cuda.get_device_properties.return_value
    properties.configure_mock(name="NVIDIA H200", major=9, minor=0, multi_processor_count=132, L2_cache_size=62_914_560)
    properties.name, properties.total_memory = "NVIDIA H200", 150_000_000_000
    fake.randn.return_value.unbind.return_value = (MagicMock(), MagicMock())
    for name in _MODULES:
        monkeypatch.setitem(sys.modules, name, fake if name == "torch" else MagicMock())
    monkeypatch.setattr(shutil, "which", lambda program: None)

    def slots(bench: microbench.Bench, body: Any, calls: int) -> list[float]:
        assert calls > 0
        body()
        return [5_000.0, 5_000.0, 5_100.0]

    monkeypatch.setattr(microbench.Bench, "slots", slots)
    monkeypatch.setattr(microbench_launches, "launches", lambda bench: [{"what": "null_launch", "times_ns": [2_000.0]}])
    monkeypatch.setattr(microbench_launches, "graphs", lambda bench: [])
    return fake


def test_what_is_measured_is_what_a_calibration_reads(torch: Any) -> None:
    document = microbench.measure()
    points = parse_points(document)
    for what in ("dram_read", "dram_read_again", "dram_copy", "l2", "gemm_peak", "gemm", "attention", "small", "null_launch"):
        assert points.of(what), what
    assert {point.family.partition(".")[0] for point in points.of("small")} == {"torch", "copy", "vllm", "triton"}
    assert all(point.rows and point.outputs and point.inputs for point in points.of("gemm"))
    assert all(point.how.startswith("vLLM") and point.length and point.kv_heads for point in points.of("attention"))
    profile = fit_profile(points, find_gpu("H200"))
    assert profile.measured["null_launch_us"].value == 2.0


def test_a_part_that_fails_becomes_a_warning_and_what_it_measured_counts(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def attention(bench: microbench.Bench) -> Any:
        yield {"what": "attention", "times_ns": [1.0]}
        raise RuntimeError("no kernel image is available\nfor execution")

    monkeypatch.setattr(microbench_attention, "attention", attention)
    saved: list[int] = []
    document = microbench.measure(save=lambda so_far: saved.append(len(so_far["points"])))
    assert any(warning == "attention: RuntimeError: no kernel image is available" for warning in document["warnings"])
    assert [point["what"] for point in document["points"]].count("attention") == 1
    assert document["points"][-1]["what"] == "dram_read_again"
    assert saved == sorted(saved)
    assert saved[0] > 0


def test_without_vllm_pytorchs_attention_stands_in(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("vllm", "vllm.vllm_flash_attn", "vllm.vllm_flash_attn.flash_attn_interface"):
        monkeypatch.setitem(sys.modules, name, None)
    document = microbench.measure()
    hows = {point["how"] for point in document["points"] if point["what"] == "attention"}
    assert hows == {microbench_attention.TORCH_ATTENTION}
    assert any(warning.startswith("small kernels of vLLM: ") for warning in document["warnings"])


def test_buffers_rotate_through_several_times_the_cache(torch: Any) -> None:
    bench = microbench.Bench()
    assert bench.copies(1 << 30) == 2
    assert bench.copies(50 << 20) * (50 << 20) >= 8 * 62_914_560
    assert bench.copies(1) == 256
