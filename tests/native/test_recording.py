"""What the recorder writes is what the program did: counts, fields, kinds, windows, over the mock libcupti."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerntrace.errors import UnreadableError
from kerntrace.trace.launches import join_launches
from kerntrace.trace.model import Trace
from kerntrace.trace.shard_file import Shard, read_shard
from kerntrace.trace.shards import read_shards
from kerntrace.trace.table import Table

Native = Any


def only_shard(directory: Path) -> Shard:
    (file,) = directory.glob("*.ktshard")
    return read_shard(file)


def texts(table: Table, column: str) -> list[str | None]:
    values: list[str | None] = table.arrow(column).to_pylist()
    return values


def said(trace: Trace) -> str:
    return trace.manifest.capture.truncated or ""


@pytest.mark.parametrize(
    ("does", "kernels", "launch_calls"),
    [
        (["launch:250"], 250, 250),
        (["graph:7x40"], 280, 7),
        (["graph:3x40", "graph:2x11", "launch:5"], 147, 10),
        (["threads:2x300"], 600, 600),
        (["launch:0"], 0, 0),
    ],
)
def test_counts_are_exact(native: Native, shards: Path, does: list[str], kernels: int, launch_calls: int) -> None:
    native.run(shards, "init", "memset:1", *does)
    trace = read_shards(shards)
    assert len(trace.kernels) == kernels
    joined = join_launches(trace)
    assert (joined.of_kernels >= 0).all()
    outer = joined.is_outermost & trace.api_calls.mask("is_launch")
    assert outer.sum() == launch_calls
    assert len(np.unique(joined.of_kernels)) == launch_calls
    assert trace.manifest.capture.dropped_records == 0
    assert said(trace) == ""


def test_two_processes_leave_a_shard_each(native: Native, shards: Path) -> None:
    native.run(shards, "fork", "init", "launch:30", "join", "fork", "init", "launch:12", "join")
    trace = read_shards(shards)
    pids, counts = np.unique(trace.kernels.ints("pid"), return_counts=True)
    assert sorted(counts) == [12, 30]
    assert len(pids) == 2
    assert (join_launches(trace).of_kernels >= 0).all()


@pytest.mark.parametrize("version", [9, 10, 11, 12, 13])
def test_kernel_records_of_every_version_read_alike(native: Native, shards: Path, version: int) -> None:
    native.run(shards, "init", "graph:1x3", "launch:1", MOCK_CUPTI_KERNEL=str(version))
    rows = (
        read_shards(shards)
        .kernels.arrow_table()
        .select(["grid_x", "graph_node_id", "dynamic_shared_bytes", "name"])
        .to_pylist()
    )
    assert rows[2] == {"grid_x": 3, "graph_node_id": (7 << 32) + 2, "dynamic_shared_bytes": 1024, "name": "graph_kernel"}
    assert rows[3] == {
        "grid_x": 1,
        "graph_node_id": None,
        "dynamic_shared_bytes": 1024,
        "name": "vecAdd(float const*, float const*, float*, int)",
    }


def test_copies_overheads_and_the_gpu_are_recorded(native: Native, shards: Path) -> None:
    kinds = "kernels,memops,launches,syncs,overheads"
    native.run(shards, "init", "memcpy:3", "memset:2", "sync:1", "overhead:4", "launch:1", KERNTRACE_KINDS=kinds)
    trace = read_shards(shards)
    assert sorted(str(k) for k in texts(trace.memops, "kind")) == ["DtoH"] * 3 + ["memset"] * 2
    assert trace.memops.ints("bytes").tolist() == [4096] * 5
    assert texts(trace.overheads, "kind") == ["buffer flush"] * 4
    assert len(only_shard(shards).rows("sync")) == 1
    assert "cudaStreamSynchronize" in texts(trace.api_calls, "name")
    assert (trace.manifest.environment.gpu, trace.manifest.environment.sm_count) == ("Mock H200", 132)
    assert trace.manifest.environment.memory_bytes_per_s == 4_814_304_000_000
    assert trace.manifest.environment.cupti == "13.0.1"


def test_only_calls_that_matter_are_recorded_unless_all_are_asked_for(native: Native, tmp_path: Path) -> None:
    found = []
    for kinds in ("kernels,launches", "kernels,api", "kernels"):
        directory = tmp_path / kinds
        directory.mkdir()
        native.run(directory, "init", "launch:1", "malloc:1", KERNTRACE_KINDS=kinds)
        found.append(texts(read_shards(directory).api_calls, "name"))
    assert found == [["cudaLaunchKernel"], ["cudaLaunchKernel", "cuLaunchKernel", "cudaMalloc"], []]


def test_whole_graphs_are_a_level_of_their_own(native: Native, shards: Path) -> None:
    native.run(shards, "init", "graph:5x40", KERNTRACE_KINDS="graphs,launches")
    trace = read_shards(shards)
    assert len(trace.kernels) == 0
    assert trace.manifest.capture.whole_graph_replays == 5
    assert trace.manifest.capture.graph_granularity == "graph"
    assert len(only_shard(shards).rows("graph_span")) == 5


def test_graph_level_with_node_level_is_refused(native: Native, shards: Path) -> None:
    native.run(shards, "init", "launch:5", KERNTRACE_KINDS="graphs,kernels")
    with pytest.raises(UnreadableError, match="graphs and kernels exclude each other"):
        read_shards(shards)


def test_records_that_find_no_buffer_are_counted(native: Native, shards: Path) -> None:
    native.run(shards, "init", "bulk:300000", "launch:1", KERNTRACE_BUFFER_BYTES="8192", KERNTRACE_MAX_BUFFERS="2")
    trace = read_shards(shards)
    dropped = trace.manifest.capture.dropped_records
    assert dropped is not None
    assert dropped > 0
    assert len(trace.kernels) + dropped == 300001
    assert len(trace.api_calls) == 1  # calls need none of CUPTI's buffers
    assert only_shard(shards).rows("status")[-1]["refused_buffers"] > 0


def test_what_cupti_says_it_dropped_is_passed_on(native: Native, shards: Path) -> None:
    native.run(shards, "init", "launch:1", MOCK_CUPTI_DROPPED="17")
    assert read_shards(shards).manifest.capture.dropped_records == 17


def test_kernels_without_timestamps_are_kept_and_counted(native: Native, shards: Path) -> None:
    native.run(shards, "init", "launch:2", "untimed:3", "launch:1")
    trace = read_shards(shards)
    assert (len(trace.kernels), int((~trace.kernels.valid("start_ns")).sum())) == (6, 3)
    assert only_shard(shards).rows("status")[-1]["zero_timestamps"] == 3


def test_a_buffer_that_cannot_be_walked_costs_only_its_rest(native: Native, shards: Path) -> None:
    native.run(shards, "init", "launch:4", "garbage", "launch:2")
    trace = read_shards(shards)
    assert len(trace.kernels) == 6
    assert "1 buffers could not be read to their end" in said(trace)


def test_buffers_come_back_zeroed(native: Native, shards: Path) -> None:
    does = ["bulk:20000", "flush"] * 5
    assert native.run(shards, "init", *does, "dirty", KERNTRACE_BUFFER_BYTES="65536") == "dirty buffers: 0\n"
    assert len(read_shards(shards).kernels) == 100000
    status = only_shard(shards).rows("status")[-1]
    assert status["peak_buffers"] < status["buffers"]


def test_a_million_kernels(native: Native, shards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    native.run(shards, "init", "bulk:1000000")
    shard = only_shard(shards)
    status = shard.rows("status")[-1]
    assert (shard.count("kernel"), status["dropped"]) == (1_000_000, 0)
    assert set(shard.names.values()) >= {"add(float*, float*, int)", "void gemm::kernel<float, 128>(float*)", "plain_kernel"}
    with capsys.disabled():
        rate = 1e3 / (int(status["decode_ns"]) + int(status["write_ns"])) * 1e6
        size = shard.path.stat().st_size / 1_000_000
        print(f"\n  recorder: {rate:.1f} M kernel records/s decoded and written, {size:.0f} bytes each", end=" ")


def test_a_cuda_range_keeps_what_was_launched_in_it(native: Native, shards: Path) -> None:
    # What still runs when a window opens is in it: the device is done before, as a program that wants a count has it.
    does = [
        "launch:3",
        "sleep:1",
        "start",
        "launch:5",
        "stop",
        "launch:7",
        "sleep:1",
        "start",
        "graph:2x10",
        "stop",
        "memcpy:4",
    ]
    native.run(shards, "init", "nvtx", "push:before", "pop", *does, KERNTRACE_RANGE="cuda")
    trace = read_shards(shards)
    assert len(trace.kernels) == 25
    assert (join_launches(trace).of_kernels >= 0).all()
    assert len(trace.memops) == 0
    assert len(trace.ranges) == 0
    opened = only_shard(shards).rows("window")["opened"].tolist()
    assert opened == [1, 0, 1, 0]


def test_what_a_window_launched_may_run_after_it(native: Native, shards: Path) -> None:
    native.run(shards, "init", "start", "launch:1", "late:3", "stop", "late:5", KERNTRACE_RANGE="cuda")
    trace = read_shards(shards)
    assert texts(trace.kernels, "name").count("late") == 3
    assert len(trace.kernels) == 4


def test_names_are_told_by_their_content(native: Native, shards: Path) -> None:
    native.run(shards, "init", "renamed:first", "flush", "renamed:second", "flush", "renamed:first")
    assert texts(read_shards(shards).kernels, "name") == ["first", "second", "first"]


def test_an_nvtx_range_opens_the_window(native: Native, shards: Path) -> None:
    does = ["launch:3", "sleep:1", "push:step", "push:step", "launch:5", "pop", "pop", "launch:7", "sleep:1", "rpush:d/step"]
    loose = ["launch:1", "rpop:d", "from:step", "launch:2", "to", "push:other", "launch:9", "pop"]
    native.run(shards, "nvtx", "init", *does, *loose, KERNTRACE_RANGE="nvtx:step")
    trace = read_shards(shards)
    assert len(trace.kernels) == 8
    assert texts(trace.ranges, "name") == ["step", "step", "step", "step"]


def test_a_window_left_open_lasts_to_the_end(native: Native, shards: Path) -> None:
    native.run(shards, "init", "launch:3", "sleep:1", "start", "launch:5", KERNTRACE_RANGE="cuda")
    assert len(read_shards(shards).kernels) == 5


def test_recording_by_call(native: Native, shards: Path) -> None:
    settings = f"call:directory={shards};range=manual;cupti={native.mock}"
    printed = native.run(None, settings, "launch:4", "open", "launch:6", "flush", "close", "launch:9", "end", "launch:2")
    assert printed == ""
    trace = read_shards(shards)
    assert len(trace.kernels) == 6
    assert said(trace) == ""


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (["call:kinds=kernels"], "bad-setting: directory: not set\n"),
        (["call:colour=red"], "bad-setting: 'colour' is not a setting\n"),
        (["call:kinds=kernels,colours"], "bad-setting: kinds: 'colours' is no kind of record\n"),
        (["call:range=nvtx:"], "bad-setting: range: 'nvtx:' is not all, cuda, manual or nvtx:NAME\n"),
        (["call:max_buffers=0"], "bad-setting: max_buffers: '0' is not a number from 1 to 65536\n"),
        (["call:buffer_bytes=-1"], "bad-setting: buffer_bytes: '-1' is not a number from 4096 to 1073741824\n"),
        (["call:directory"], "bad-setting: 'directory' is not name=value\n"),
        (["call:directory=/nowhere/at/all"], "disk: no shard can be written in /nowhere/at/all: No such file or directory\n"),
        (["flush"], "state: this process is not being recorded\n"),
        (["end"], "state: this process is not being recorded\n"),
        (["open"], "state: this process is not being recorded\n"),
    ],
)
def test_calls_that_make_no_sense_say_why(native: Native, does: list[str], expected: str) -> None:
    assert native.run(None, *does) == expected


def test_a_process_is_recorded_once(native: Native, shards: Path) -> None:
    call = f"call:directory={shards};cupti={native.mock}"
    assert native.run(None, call, call, "launch:1", "end", call) == (
        "state: this process is being recorded already\nstate: this process has had its CUPTI session; record another process\n"
    )


FAILURES = [
    (
        {"MOCK_CUPTI_TAKEN": "CUPTI for Some Profiler"},
        "cupti-taken",
        "tool holds CUPTI in this process: CUPTI for Some Profiler",
    ),
    ({"MOCK_CUPTI_FAIL": "35"}, "no-permission", "does not let this user profile"),
    ({"MOCK_CUPTI_CLOCK": "100000000000"}, "foreign-clock", "CUPTI's clock is not CLOCK_REALTIME"),
    ({"MOCK_CUPTI_VERSION": "17"}, "old-cupti", "is older than CUDA 12"),
]


@pytest.mark.parametrize(("trouble", "code", "message"), FAILURES)
def test_trouble_with_cupti_is_named(native: Native, shards: Path, trouble: dict[str, str], code: str, message: str) -> None:
    printed = native.run(None, f"call:directory={shards};cupti={native.mock}", "launch:1", **trouble)
    assert printed.startswith(f"{code}: ")
    assert message in printed
    assert list(shards.iterdir()) == []


@pytest.mark.parametrize(("trouble", "code", "message"), FAILURES)
def test_injected_trouble_is_left_in_the_shard(
    native: Native, shards: Path, trouble: dict[str, str], code: str, message: str
) -> None:
    native.run(shards, "init", "launch:1", **trouble)
    with pytest.raises(UnreadableError) as raised:
        read_shards(shards)
    assert message in raised.value.what
    native.run(shards, "nvtx", "init", "push:step", "pop", **trouble)
    trace = read_shards(shards)
    assert len(trace.ranges) == 1
    assert message in said(trace)


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="there is a driver here")
def test_without_a_driver_or_cupti_the_error_says_which(native: Native, shards: Path) -> None:
    printed = native.run(None, f"call:directory={shards};cupti=/nowhere/libcupti.so.13")
    assert printed.startswith(("no-cupti: no libcupti was found: /nowhere/libcupti.so.13", "no-driver: the NVIDIA driver"))
