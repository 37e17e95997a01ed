"""The microbenchmarks on a PyTorch that does nothing: what they hand over is what a calibration reads."""

from __future__ import annotations

import gc
import json
import shutil
import sys
import weakref
from collections.abc import Iterable
from functools import partial
from math import ceil, inf, prod
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from kerntrace.engines.microbench import attention as microbench_attention
from kerntrace.engines.microbench import child as microbench_child
from kerntrace.engines.microbench import cold as microbench_cold
from kerntrace.engines.microbench import groups as microbench_groups
from kerntrace.engines.microbench import kernels as microbench_kernels
from kerntrace.engines.microbench import launches as microbench_launches
from kerntrace.engines.microbench import load as microbench_load
from kerntrace.engines.microbench import small as microbench_small
from kerntrace.engines.microbench import stream as microbench_stream
from kerntrace.engines.microbench.bench import Bench
from kerntrace.hardware import find_gpu
from kerntrace.model.calibrate import fit_profile
from kerntrace.model.calibrate_checks import COMPARED, USED
from kerntrace.model.points import SCHEMA, Points, parse_points

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

ALL = tuple(group.name for group in microbench_groups.GROUPS)
_FAKED = {"launch_to_start", "graph_nodes", "graph_launch"}  # kinds whose group the fixture replaces

_ADDED_NS, _LOADED_NS = Bench.added_ns, Bench.loaded_ns


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
    modules: Any = sys.modules
    modules["vllm.v1.worker.gpu.sample.gumbel"].gumbel_sample = gumbel_sample
    event = MagicMock(device_type=modules["torch.autograd"].DeviceType.CUDA)
    event.time_range.elapsed_us.return_value = 1.0
    traced = modules["torch.profiler"].profile.return_value.__enter__.return_value
    traced.events.return_value = [event, MagicMock()]

    def slots(bench: Bench, body: Any, calls: int) -> list[float]:
        assert calls > 0
        body()
        return [5_000.0, 5_000.0, 5_100.0]

    def added(bench: Bench, without: Any, whole: Any) -> list[float]:
        return [24 * 5_000.0, 24 * 5_000.0, 24 * 5_100.0]

    monkeypatch.setattr(Bench, "slots", slots)
    monkeypatch.setattr(Bench, "added_ns", added)
    monkeypatch.setattr(Bench, "loaded_ns", lambda bench, without, whole: [1.1 * ns for ns in added(bench, without, whole)])
    monkeypatch.setattr(Bench, "replay_ns", lambda bench, graph, replays: 4e7)
    monkeypatch.setattr(microbench_kernels, "PRODUCTS", microbench_kernels.PRODUCTS[:3])
    monkeypatch.setattr(microbench_attention, "BATCHES", (1, 16))
    monkeypatch.setattr(microbench_small, "SMALL_ROWS", (1, 16))
    monkeypatch.setattr(microbench_stream, "STREAM_ROWS", (1, 16))
    monkeypatch.setattr(microbench_stream, "CALLS", 2)  # a mock's call takes as long as a thousand of a kernel
    monkeypatch.setattr(microbench_stream, "SAMPLES", 2)
    fake.cuda.Event.return_value.elapsed_time.return_value = 40.0  # ms, as a replay takes
    monkeypatch.setattr(microbench_launches, "launches", lambda bench: [{"what": "null_launch", "times_ns": [2_000.0]}])
    monkeypatch.setattr(microbench_launches, "graphs", lambda bench: [])
    return fake


def gumbel_sample(
    logits: Any,
    expanded_idx_mapping: Any,
    temperature: Any,
    seed: Any,
    pos: Any,
    apply_temperature: bool,
    output_processed_logits: Any = None,
    output_processed_logits_col: Any = None,
    use_fp64: bool = False,
) -> None:
    """The parameters of vLLM 0.24.0."""
    assert not apply_temperature


def measured(names: Iterable[str] = ALL, deadline: float = inf) -> dict[str, Any]:
    """What one process hands over, as a document; `status` and `groups` beside it."""
    lines: list[dict[str, Any]] = []
    status = microbench_groups.run(list(names), lines.append, deadline)

    def of(key: str) -> list[Any]:
        return [line[key] for line in lines if key in line]

    document = {"schema": SCHEMA, "machine": of("machine")[0], "points": of("point"), "warnings": of("warning")}
    return document | {"status": status, "begun": of("begin"), "ended": of("end")}


def points_from(document: dict[str, Any]) -> Points:
    return parse_points({key: document[key] for key in ("schema", "machine", "points", "warnings")})


def test_what_is_measured_is_what_a_calibration_reads(torch: Any) -> None:
    document = measured()
    assert document["status"] == microbench_groups.DONE
    assert document["ended"] == list(ALL)
    assert document["warnings"] == []
    points = points_from(document)
    assert {point.what for point in points.points} == (USED | COMPARED) - _FAKED
    assert {point.family.partition(".")[0] for point in points.of("small")} == {"torch", "copy", "vllm", "triton"}
    assert all(point.rows and point.outputs and point.inputs for point in points.of("gemm"))
    assert all(point.how.startswith("vLLM") and point.length and point.kv_heads for point in points.of("attention"))
    profile = fit_profile(points, find_gpu("H200"))
    assert profile.measured["null_launch_us"].value == 2.0
    assert profile.measured["slower_after_load_ratio"].value == 1.0
    assert not any("does not use" in warning or "taken as rested" in warning for warning in profile.warnings)
    # What a profile cannot do without comes first.
    seen = [point["what"] for point in document["points"]]
    firsts = [
        seen.index(what) for what in ("dram_copy", "gemm", "attention", "small", "recovery", "gemm_loaded", "stream_small")
    ]
    assert firsts == sorted(firsts)
    # A rested time right after large products would be none.
    rested = [number for number, what in enumerate(seen) if what in ("gemm", "attention")]
    assert max(rested) < min(number for number, what in enumerate(seen) if what.endswith("_loaded"))


def test_a_group_that_fails_becomes_a_warning_and_what_comes_after_it_asks_for_a_fresh_process(
    torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attention(bench: Bench) -> Any:
        yield {"what": "attention", "times_ns": [1.0]}
        raise RuntimeError("no kernel image is available\nfor execution")

    monkeypatch.setattr(microbench_attention, "attention", attention)
    document = measured()
    assert document["warnings"] == ["attention: RuntimeError: no kernel image is available"]
    assert document["status"] == microbench_groups.AGAIN
    assert [point["what"] for point in document["points"]].count("attention") == 1
    assert document["begun"] == ["memory", "products", "attention"]
    assert document["ended"] == ["memory", "products"]


def test_a_device_that_answers_nothing_any_more_is_found_out_after_the_group(
    torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.cuda.synchronize.side_effect = [None, RuntimeError("CUDA error: an illegal memory access was encountered\nmore")]
    monkeypatch.setattr(microbench_kernels, "memory", lambda bench: [{"what": "dram_copy", "times_ns": [1.0]}])
    monkeypatch.setattr(microbench_kernels, "products", lambda bench: [{"what": "gemm", "times_ns": [1.0]}])
    document = measured()
    expected = "products: what it launched went wrong: RuntimeError: CUDA error: an illegal memory access was encountered"
    assert document["warnings"] == [expected]
    assert (document["status"], document["ended"]) == (microbench_groups.AGAIN, ["memory"])
    assert [point["what"] for point in document["points"]] == ["dram_copy", "gemm"]


def test_a_group_ends_with_its_time_and_the_next_ones_are_named(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def products(bench: Bench) -> Any:
        for _ in range(1000):
            now[0] += 1.0
            yield {"what": "gemm", "times_ns": [1.0]}

    monkeypatch.setattr("kerntrace.engines.microbench.groups.time.monotonic", lambda: now[0])
    monkeypatch.setattr(microbench_kernels, "products", products)
    names = ("products", "attention", "memory again")
    document = measured(names, deadline=30.0)
    assert len(document["points"]) == 30 - microbench_groups.KEPT_BACK_S + 1 + 1  # and the last group's one
    assert document["warnings"] == ["products: cut short: its time was over", "attention: not measured: no time was left"]
    assert document["ended"] == ["products", "memory again"]
    now[0] = 0.0
    most = microbench_groups.GROUPS[1].most_s
    assert len(measured(("products",))["points"]) == most + 1


def test_without_pytorch_or_a_gpu_it_is_refused(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[dict[str, Any]] = []
    torch.cuda.is_available.return_value = False
    microbench_groups.run(list(ALL), said.append, inf)
    monkeypatch.setitem(sys.modules, "torch", None)
    microbench_groups.run(list(ALL), said.append, inf)
    no_gpu, no_torch = (line["refused"][0] for line in said)
    assert "PyTorch sees none" in no_gpu
    assert "needs PyTorch" in no_torch


def test_every_line_is_in_the_file_before_the_next_thing_is_measured(
    torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lines"
    seen: list[dict[str, Any]] = []

    def memory(bench: Bench) -> Any:
        yield {"what": "dram_copy", "times_ns": [1.0]}
        seen.extend(json.loads(line) for line in path.read_text().splitlines())
        raise KeyboardInterrupt

    monkeypatch.setattr(microbench_kernels, "memory", memory)
    assert microbench_child.main([str(path), "inf", "memory"]) == microbench_child.INTERRUPTED
    assert seen[-1] == {"point": {"what": "dram_copy", "times_ns": [1.0]}}
    assert [key for line in seen for key in line] == ["machine", "begin", "point"]


def test_what_a_graph_writes_to_lives_as_long_as_the_graph(torch: Any) -> None:
    class Tensor:
        pass

    tensor = Tensor()
    alive = weakref.ref(tensor)
    graph = Bench().capture(partial(id, tensor))
    del tensor
    gc.collect()
    assert alive() is not None
    graph.replay()
    del graph
    gc.collect()
    assert alive() is None


def test_without_vllm_pytorchs_attention_stands_in_and_the_rest_goes_on(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _MODULES:
        if name.startswith("vllm"):
            monkeypatch.setitem(sys.modules, name, None)
    document = measured()
    hows = {point["how"] for point in document["points"] if point["what"] == "attention"}
    assert hows == {microbench_attention.TORCH_ATTENTION}
    assert [warning.partition(":")[0] for warning in document["warnings"]] == [name for name in ALL if "of vLLM" in name]
    assert document["status"] == microbench_groups.DONE  # an import that fails leaves nothing behind
    assert any("not what an engine runs" in said for said in fit_profile(points_from(document), find_gpu("H200")).warnings)


def test_attention_that_does_not_take_a_call_on_this_gpu_is_pytorchs(torch: Any) -> None:
    modules: Any = sys.modules
    modules["vllm.vllm_flash_attn"].flash_attn_interface.flash_attn_varlen_func.side_effect = TypeError(
        "unexpected keyword argument 'fa_version'"
    )
    document = measured(("attention",))
    assert {point["how"] for point in document["points"]} == {microbench_attention.TORCH_ATTENTION}
    assert document["warnings"] == []


class Tensor:
    """As much of a tensor as page tables need, over NumPy."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def view(self, *shape: int) -> Tensor:
        return Tensor(self.values.reshape(shape))

    def long(self) -> Tensor:
        return Tensor(self.values.astype(np.int64))

    def __getitem__(self, which: Any) -> Tensor:
        return Tensor(self.values[which])

    def __mul__(self, factor: int) -> Tensor:
        return Tensor(self.values * factor)

    def __add__(self, more: int) -> Tensor:
        return Tensor(self.values + more)


@pytest.mark.parametrize("heads", microbench_attention.HEADS)
def test_tables_and_slots_stay_in_the_pages_and_inputs_in_what_the_product_wrote(
    torch: Any, heads: tuple[int, int, int]
) -> None:
    torch.randn = lambda *shape, **kind: Tensor(np.broadcast_to(np.int8(0), shape))
    torch.arange = lambda count, **kind: Tensor(np.arange(count, dtype=np.int32))
    bench = Bench()
    for length in microbench_attention.LENGTHS:
        for batch in (1, 2, 4, 8, 16, 32):
            sweep = MagicMock()
            copies = bench.copies(4 * batch * length * heads[1] * heads[2], most=24)
            paged: Any = microbench_attention._Paged(bench, microbench_attention.Shape(batch, length, *heads, copies), sweep)
            pages, page, kv_heads, head = paged.cache[0].values.shape
            assert (page, kv_heads, head) == (microbench_attention.PAGE, *heads[1:])
            tables, slots = paged.tables.values, paged.slots.values
            assert tables.shape == (copies, batch, ceil(length / page))
            assert (tables.min(), tables.max()) == (0, pages - 1)
            assert np.unique(tables).size == tables.size  # no sequence writes into another's page
            assert slots.dtype == np.int64
            assert (slots // page == tables[:, :, (length - 1) // page]).all()
            assert (slots % page == (length - 1) % page).all()
            asked = sweep.hot.call_args_list
            assert len(asked) == 3
            assert (
                max(call.kwargs.get("after", 0) + prod(call.args) for call in asked) <= batch * microbench_cold._LEAST_OUTPUTS
            )


def test_buffers_rotate_through_several_times_the_cache(torch: Any) -> None:
    bench = Bench()
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
    monkeypatch.setattr(Bench, "added_ns", _ADDED_NS)
    monkeypatch.setattr(Bench, "loaded_ns", _LOADED_NS)
    monkeypatch.setattr(Bench, "load", gpu.load)
    monkeypatch.setattr(Bench, "capture", lambda bench, body: gpu.capture(bench, body))
    torch.cuda.Event = gpu.event
    torch.mm = gpu.call("mm")
    return gpu


def test_a_kernel_costs_what_it_adds_after_a_product(gpu: Gpu) -> None:
    sweep = microbench_cold.Sweep(Bench(), 1)
    times = sweep.added(gpu.call("small"))
    assert len(times) == 9
    assert median(times) == pytest.approx(1_700, rel=1e-6)


def test_what_makes_inputs_hot_and_what_runs_instead_is_not_counted(gpu: Gpu) -> None:
    sweep = microbench_cold.Sweep(Bench(), 1)
    heat, end, small = gpu.call("heat"), gpu.call("end"), gpu.call("small")
    work = microbench_small.Work("sampler", "x", 4, microbench_cold.in_order(small, end), before=heat, instead=end)
    bench = Bench()

    def works(bench: Bench) -> Any:
        return iter([(sweep, 1, [work])])

    (rested,), (loaded,) = microbench_small.small(bench, works), microbench_small.small_loaded(bench, works)
    assert median(rested["times_ns"]) == pytest.approx(1_700, rel=1e-6)
    assert (rested["what"], loaded["what"]) == ("small", "small_loaded")
    assert median(loaded["times_ns"]) == pytest.approx(1.1 * 1_700, rel=1e-6)


def test_right_after_large_products_is_told_from_rested_whichever_graph_comes_first(gpu: Gpu) -> None:
    gpu.recovers = 0.5  # the second graph of a pair runs at half of what held the first one down
    sweep = microbench_cold.Sweep(Bench(), 1)
    case = microbench_cold.Case({"what": "gemm"}, sweep, gpu.call("small"))
    (rested,) = microbench_cold.rested(sweep.bench, [case])
    (loaded,) = microbench_cold.loaded([case])
    assert median(rested["times_ns"]) == pytest.approx(1_700, rel=1e-6)
    assert median(loaded["times_ns"]) == pytest.approx(1.075 * 1_700, rel=1e-6)
    assert len(loaded["times_ns"]) == 9


def test_recovery_is_timed_from_the_end_of_large_products(gpu: Gpu) -> None:
    gpu.recovers = 0.5
    points = [point for point in microbench_load.recovery(Bench()) if point["rows"] == 16]
    assert points[0]["after_ns"] == 0
    assert [round(point["times_ns"][0]) for point in points[:3]] == [55_000, 52_500, 51_250]
    assert points[1]["after_ns"] == pytest.approx(24 * 55_000, rel=1e-6)


def test_a_kernel_launched_one_by_one_costs_what_it_adds_to_the_stream(gpu: Gpu, torch: Any) -> None:
    torch.mm = gpu.launch("mm")
    work = microbench_small.Work("copy", "copy.x", 4, gpu.launch("small"), before=gpu.launch("heat"))
    (point,) = microbench_stream._streamed(Bench(), microbench_cold.Sweep(Bench(), 1), 1, [work])
    assert point["what"] == "stream_small"
    assert median(point["times_ns"]) == pytest.approx(1_700, rel=1e-6)


def test_the_sampler_reads_temperatures_where_the_engine_keeps_them(torch: Any) -> None:
    buffers: Any = sys.modules["vllm.v1.worker.gpu.buffer_utils"]
    gumbel: Any = sys.modules["vllm.v1.worker.gpu.sample.gumbel"]
    given: dict[str, Any] = {}

    def sample(logits: Any, temperature: Any, seed: Any) -> None:
        given.update(temperature=temperature, seed=seed)

    gumbel.gumbel_sample = sample
    microbench_small.sampling_work(Bench(), 4).body()
    assert given["temperature"] is given["seed"] is buffers.UvaBackedTensor.return_value.gpu


def test_a_sampler_of_another_version_is_a_warning_and_leaves_the_process_as_it_is(torch: Any) -> None:
    gumbel: Any = sys.modules["vllm.v1.worker.gpu.sample.gumbel"]
    gumbel.gumbel_sample = lambda logits, flavour: None
    document = measured(("sampler of vLLM", "memory again"))
    (warning,) = document["warnings"]
    assert warning.startswith("sampler of vLLM: ImportError: vLLM's gumbel_sample takes flavour")
    assert document["ended"] == ["sampler of vLLM", "memory again"]


def test_a_time_below_what_can_be_told_is_zero_and_can_be_read(gpu: Gpu) -> None:
    gpu.costs["small"] = -5.0
    times = microbench_cold.Sweep(Bench(), 1).added(gpu.call("small"))
    assert min(times) == 0.0


def test_long_kernels_are_called_less_often(gpu: Gpu) -> None:
    assert microbench_cold.calls_for(0) == microbench_cold.CALLS
    assert microbench_cold.calls_for(235_000_000) == 8
    assert microbench_cold.calls_for(10**12) == 4


def test_weights_sweep_the_cache_and_the_widest_input_fits(torch: Any) -> None:
    bench = Bench()
    for cache in (40 << 20, 60 << 20, 126 << 20):
        bench.l2_bytes = cache
        torch.empty.reset_mock()
        microbench_cold.Sweep(bench, 16)
        rows, outputs = torch.empty.call_args.args
        assert rows == 16
        assert 2 * 4096 * outputs >= 3 * cache
        assert outputs >= 2 * microbench_small.MLP


def test_weights_take_turns_through_the_whole_pool(torch: Any) -> None:
    bench = Bench()
    pool = microbench_cold.Pool(bench, 2 * 1000)
    values = torch.randn.return_value
    values.__getitem__.reset_mock()
    for _ in range(4):
        pool.weight(20, 20)
    parts = [call.args[0] for call in values.__getitem__.call_args_list]
    assert [(part.start, part.stop) for part in parts] == [(0, 400), (400, 800), (0, 400), (400, 800)]


def test_the_pool_leaves_room_on_a_small_gpu(torch: Any) -> None:
    bench = Bench()
    bench.memory_bytes = 10_000_000_000
    microbench_cold.Pool(bench)
    assert torch.randn.call_args.args == (1_500_000_000,)
