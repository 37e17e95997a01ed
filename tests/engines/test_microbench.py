"""The microbenchmarks on a PyTorch that does nothing: what they hand over is what a calibration reads."""

from __future__ import annotations

import gc
import shutil
import sys
import weakref
from functools import partial
from statistics import median
from typing import Any
from unittest.mock import MagicMock

import pytest

from kerntrace.engines import (
    microbench,
    microbench_attention,
    microbench_cold,
    microbench_launches,
    microbench_load,
    microbench_small,
    microbench_stream,
)
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
    "vllm.v1.worker.gpu.buffer_utils",
    "vllm.v1.worker.gpu.sample.gumbel",
)

_ADDED_NS, _LOADED_NS = microbench.Bench.added_ns, microbench.Bench.loaded_ns


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

    def added(bench: microbench.Bench, without: Any, whole: Any) -> list[float]:
        return [24 * 5_000.0, 24 * 5_000.0, 24 * 5_100.0]

    monkeypatch.setattr(microbench.Bench, "slots", slots)
    monkeypatch.setattr(microbench.Bench, "added_ns", added)
    monkeypatch.setattr(
        microbench.Bench, "loaded_ns", lambda bench, without, whole: [1.1 * ns for ns in added(bench, without, whole)]
    )
    monkeypatch.setattr(microbench.Bench, "replay_ns", lambda bench, graph, replays: 4e7)
    monkeypatch.setattr(microbench_stream, "CALLS", 2)  # a mock's call takes as long as a thousand of a kernel
    monkeypatch.setattr(microbench_stream, "SAMPLES", 2)
    fake.cuda.Event.return_value.elapsed_time.return_value = 0.1
    monkeypatch.setattr(microbench_launches, "launches", lambda bench: [{"what": "null_launch", "times_ns": [2_000.0]}])
    monkeypatch.setattr(microbench_launches, "graphs", lambda bench: [])
    return fake


def test_what_is_measured_is_what_a_calibration_reads(torch: Any) -> None:
    document = microbench.measure()
    points = parse_points(document)
    for what in (
        "dram_read",
        "dram_read_again",
        "dram_copy",
        "l2",
        "gemm_peak",
        "gemm",
        "attention",
        "small",
        "null_launch",
        "gemm_loaded",
        "attention_loaded",
        "small_loaded",
        "recovery",
        "stream_small",
    ):
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


def test_a_device_that_answers_nothing_any_more_ends_it_and_what_was_measured_is_kept(
    torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def free(bench: microbench.Bench) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nmore")

    monkeypatch.setattr(microbench.Bench, "free", free)
    saved: list[int] = []
    document = microbench.measure(save=lambda so_far: saved.append(len(so_far["points"])))
    assert saved == [len(document["points"])]
    assert parse_points(document).one("dram_copy")
    expected = "stopped after memory: RuntimeError: CUDA error: an illegal memory access was encountered"
    assert document["warnings"][-1] == expected


def test_what_a_graph_writes_to_lives_as_long_as_the_graph(torch: Any) -> None:
    class Tensor:
        pass

    tensor = Tensor()
    alive = weakref.ref(tensor)
    graph = microbench.Bench().capture(partial(id, tensor))
    del tensor
    gc.collect()
    assert alive() is not None
    graph.replay()
    del graph
    gc.collect()
    assert alive() is None


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


class Gpu:
    """Replays advance a clock by what the graph's calls cost; now and then the machine is slower for a while."""

    def __init__(self, costs: dict[str, float]) -> None:
        self.costs, self.now, self.replays = costs, 0.0, 0
        self.held, self.recovers = 0.0, 1.0  # how much slower the next replay is, and what is left of that after it
        self.calls: list[str] = []

    def call(self, name: str) -> Any:
        return lambda *args, **kwargs: self.calls.append(name)

    def launch(self, name: str) -> Any:
        return lambda *args, **kwargs: setattr(self, "now", self.now + self.costs[name])

    def load(self, length_ns: float) -> None:
        self.held = 0.1

    def capture(self, bench: Any, body: Any) -> Any:
        body()  # warming up comes first
        self.calls.clear()
        body()
        captured = list(self.calls)

        def replay() -> None:
            self.replays += 1
            slow = 1.5 if self.recovers == 1.0 and self.replays % 40 < 3 else 1.0
            slow *= 1 + self.held
            self.held *= self.recovers
            self.now += slow * sum(self.costs[name] for name in captured)

        return MagicMock(replay=replay)

    def event(self, enable_timing: bool) -> Any:
        mark = MagicMock()
        mark.record.side_effect = lambda: setattr(mark, "at", self.now)
        mark.elapsed_time.side_effect = lambda other: (other.at - mark.at) / 1e6
        return mark


@pytest.fixture
def gpu(torch: Any, monkeypatch: pytest.MonkeyPatch) -> Gpu:
    gpu = Gpu({"mm": 50_000.0, "small": 1_700.0, "heat": 900.0, "end": 2_000.0})
    monkeypatch.setattr(microbench.Bench, "added_ns", _ADDED_NS)
    monkeypatch.setattr(microbench.Bench, "loaded_ns", _LOADED_NS)
    monkeypatch.setattr(microbench.Bench, "load", gpu.load)
    monkeypatch.setattr(microbench.Bench, "capture", lambda bench, body: gpu.capture(bench, body))
    torch.cuda.Event = gpu.event
    torch.mm = gpu.call("mm")
    return gpu


def test_a_kernel_costs_what_it_adds_after_a_product(gpu: Gpu) -> None:
    sweep = microbench_cold.Sweep(microbench.Bench(), 1)
    times = sweep.added(gpu.call("small"))
    assert len(times) == 9
    assert median(times) == pytest.approx(1_700, rel=1e-6)


def test_what_makes_inputs_hot_and_what_runs_instead_is_not_counted(gpu: Gpu) -> None:
    sweep = microbench_cold.Sweep(microbench.Bench(), 1)
    heat, end, small = gpu.call("heat"), gpu.call("end"), gpu.call("small")
    work = microbench_small.Work("sampler", "x", 4, microbench_cold.in_order(small, end), before=heat, instead=end)
    rested, loaded = microbench_small._small(microbench.Bench(), sweep, 1, [work])
    assert median(rested["times_ns"]) == pytest.approx(1_700, rel=1e-6)
    assert (rested["what"], loaded["what"]) == ("small", "small_loaded")
    assert median(loaded["times_ns"]) == pytest.approx(1.1 * 1_700, rel=1e-6)


def test_right_after_large_products_is_told_from_rested_whichever_graph_comes_first(gpu: Gpu) -> None:
    gpu.recovers = 0.5  # the second graph of a pair runs at half of what held the first one down
    sweep = microbench_cold.Sweep(microbench.Bench(), 1)
    rested, loaded = sweep.points({"what": "gemm"}, gpu.call("small"))
    assert median(rested["times_ns"]) == pytest.approx(1_700, rel=1e-6)
    assert median(loaded["times_ns"]) == pytest.approx(1.075 * 1_700, rel=1e-6)
    assert len(loaded["times_ns"]) == 9


def test_recovery_is_timed_from_the_end_of_large_products(gpu: Gpu) -> None:
    gpu.recovers = 0.5
    points = [point for point in microbench_load.recovery(microbench.Bench()) if point["rows"] == 16]
    assert points[0]["after_ns"] == 0
    assert [round(point["times_ns"][0]) for point in points[:3]] == [55_000, 52_500, 51_250]
    assert points[1]["after_ns"] == pytest.approx(24 * 55_000, rel=1e-6)


def test_a_kernel_launched_one_by_one_costs_what_it_adds_to_the_stream(gpu: Gpu, torch: Any) -> None:
    torch.mm = gpu.launch("mm")
    work = microbench_small.Work("copy", "copy.x", 4, gpu.launch("small"), before=gpu.launch("heat"))
    (point,) = microbench_stream._streamed(microbench.Bench(), microbench_cold.Sweep(microbench.Bench(), 1), 1, [work])
    assert point["what"] == "stream_small"
    assert median(point["times_ns"]) == pytest.approx(1_700, rel=1e-6)


def test_the_sampler_reads_temperatures_where_the_engine_keeps_them(torch: Any) -> None:
    buffers: Any = sys.modules["vllm.v1.worker.gpu.buffer_utils"]
    gumbel: Any = sys.modules["vllm.v1.worker.gpu.sample.gumbel"]
    given: dict[str, Any] = {}

    def sample(logits: Any, temperature: Any, seed: Any) -> None:
        given.update(temperature=temperature, seed=seed)

    gumbel.gumbel_sample = sample
    microbench_small.sampling_work(microbench.Bench(), 4).body()
    assert given["temperature"] is given["seed"] is buffers.UvaBackedTensor.return_value.gpu


def test_a_time_below_what_can_be_told_is_zero_and_can_be_read(gpu: Gpu) -> None:
    gpu.costs["small"] = -5.0
    times = microbench_cold.Sweep(microbench.Bench(), 1).added(gpu.call("small"))
    assert min(times) == 0.0


def test_long_kernels_are_called_less_often(gpu: Gpu) -> None:
    assert microbench_cold.calls_for(0) == microbench_cold.CALLS
    assert microbench_cold.calls_for(235_000_000) == 8
    assert microbench_cold.calls_for(10**12) == 4


def test_weights_sweep_the_cache_and_the_widest_input_fits(torch: Any) -> None:
    bench = microbench.Bench()
    for cache in (40 << 20, 60 << 20, 126 << 20):
        bench.l2_bytes = cache
        torch.empty.reset_mock()
        microbench_cold.Sweep(bench, 16)
        rows, outputs = torch.empty.call_args.args
        assert rows == 16
        assert 2 * 4096 * outputs >= 3 * cache
        assert outputs >= 2 * microbench_small.MLP


def test_weights_take_turns_through_the_whole_pool(torch: Any) -> None:
    bench = microbench.Bench()
    pool = microbench_cold.Pool(bench, 2 * 1000)
    values = torch.randn.return_value
    values.__getitem__.reset_mock()
    for _ in range(4):
        pool.weight(20, 20)
    parts = [call.args[0] for call in values.__getitem__.call_args_list]
    assert [(part.start, part.stop) for part in parts] == [(0, 400), (400, 800), (0, 400), (400, 800)]


def test_the_pool_leaves_room_on_a_small_gpu(torch: Any) -> None:
    bench = microbench.Bench()
    bench.memory_bytes = 10_000_000_000
    microbench_cold.Pool(bench)
    assert torch.randn.call_args.args == (1_500_000_000,)
