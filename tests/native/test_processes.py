"""The program under test is never hurt, and what it did is kept, however it ends: exit, kill, fork, exec, a full disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerntrace.trace.launches import join_launches
from kerntrace.trace.shard_file import read_shard
from kerntrace.trace.shards import read_shards

Native = Any


def said(directory: Path) -> str:
    return read_shards(directory).manifest.capture.truncated or ""


def test_the_tail_is_written_at_exit(native: Native, shards: Path) -> None:
    assert native.run(shards, "init", "launch:100", "print:done", "exit:3", code=3) == "done\n"
    assert len(read_shards(shards).kernels) == 100
    assert said(shards) == ""


def test_loaded_but_not_told_to_record_it_does_nothing(native: Native, shards: Path) -> None:
    assert native.run(None, "nvtx", "init", "push:a", "launch:10", "pop", "print:done", "exit:5", code=5) == "done\n"
    assert list(shards.iterdir()) == []


def test_kill_loses_only_what_was_not_yet_written(native: Native, shards: Path) -> None:
    native.run(
        shards, "nvtx", "push:outer", "init", "launch:100", "flush", "launch:50", "kill", code=-9, KERNTRACE_FLUSH_MS="0"
    )
    trace = read_shards(shards)
    assert len(trace.kernels) == 100
    assert trace.ranges.arrow_table().select(["name", "end_ns"]).to_pylist() == [{"name": "outer", "end_ns": None}]
    assert "ended without closing its shard" in said(shards)


def test_records_are_written_while_the_program_runs(native: Native, shards: Path) -> None:
    native.run(shards, "init", "launch:100", "sleep:400", "kill", code=-9, KERNTRACE_FLUSH_MS="20")
    assert len(read_shards(shards).kernels) == 100


def test_leaving_without_exit_handlers_is_like_being_killed(native: Native, shards: Path) -> None:
    native.run(shards, "_fork", "init", "launch:10", "flush", "launch:5", "join", KERNTRACE_FLUSH_MS="0")
    assert len(read_shards(shards).kernels) == 10
    assert "ended without closing its shard" in said(shards)


@pytest.mark.parametrize("step", ["flush", "disable"])
def test_a_cupti_that_hangs_does_not_hang_the_exit(native: Native, shards: Path, step: str) -> None:
    settings = f"call:directory={shards};cupti={native.mock};exit_ms=200"
    does = ["init", "launch:100", "exit:4"] if step == "flush" else [settings, "launch:100", "end:300", "exit:4"]
    directory = shards if step == "flush" else None
    printed = native.run(directory, *does, code=4, KERNTRACE_EXIT_MS="200", MOCK_CUPTI_HANG=step)
    assert printed == ("" if step == "flush" else "timeout: the recorder did not finish within 300 ms\n")
    assert len(read_shards(shards).kernels) == 100


def test_a_cupti_that_gives_up_is_left_alone(native: Native, shards: Path) -> None:
    assert native.run(shards, "init", "launch:3", "flush", "fatal", "launch:2", "print:alive", "exit:2", code=2) == "alive\n"
    assert len(read_shards(shards).kernels) == 3
    assert "CUPTI met a fatal error" in said(shards)


def test_a_forked_child_of_a_recorded_process_leaves_it_alone(native: Native, shards: Path) -> None:
    native.run(shards, "init", "launch:5", "fork", "print:child", "join", "launch:2")
    assert len(list(shards.glob("*.ktshard"))) == 1
    assert len(read_shards(shards).kernels) == 7
    assert said(shards) == ""


def test_a_child_forked_after_cuda_began_says_why_it_is_not_recorded(native: Native, shards: Path) -> None:
    native.run(shards, "init", "launch:5", "fork", "init", "launch:3", "join", "launch:2")
    trace = read_shards(shards)
    assert len(trace.kernels) == 7
    assert "CUPTI was in use when this process was forked" in said(shards)


def test_a_child_forked_before_cuda_is_recorded_for_itself(native: Native, shards: Path) -> None:
    does = ["nvtx", "push:parent", "pop", "fork", "init", "launch:3", "push:child", "pop", "join", "init", "launch:2"]
    native.run(shards, *does)
    trace = read_shards(shards)
    assert sorted(np.unique(trace.kernels.ints("pid"), return_counts=True)[1]) == [2, 3]
    names = dict(zip(trace.ranges.arrow("name").to_pylist(), trace.ranges.ints("pid").tolist()))
    assert names["parent"] != names["child"]
    assert said(shards) == ""


def test_a_forked_child_keeps_its_ranges_apart(native: Native, shards: Path) -> None:
    does = ["nvtx", "rpush:dom/before", "fork", "rpush:dom/inside", "rpop:dom", "join", "rpop:dom"]
    native.run(shards, *does)
    rows = read_shards(shards).ranges.arrow_table().select(["name", "domain", "pid", "tid"]).to_pylist()
    assert [(r["name"], r["domain"]) for r in rows] == [("before", "dom"), ("inside", "dom")]
    assert all(r["pid"] == r["tid"] for r in rows)
    assert rows[0]["pid"] != rows[1]["pid"]
    forked = {shard.pid: int(shard.session["forked"]) for shard in map(read_shard, shards.glob("*.ktshard"))}
    assert forked == {rows[0]["pid"]: 0, rows[1]["pid"]: 1}


def test_exec_begins_a_shard_of_its_own_under_the_same_pid(native: Native, shards: Path) -> None:
    native.run(shards, "init", "launch:4", "flush", "exec", "init", "launch:3", "graph:1x5")
    assert len(list(shards.glob("*.ktshard"))) == 2
    trace = read_shards(shards)
    assert len(np.unique(trace.kernels.ints("pid"))) == 1
    calls = join_launches(trace).of_kernels
    assert (calls >= 0).all()
    assert len(np.unique(calls)) == 8  # correlation ids of the two programs are not mixed up


def test_a_full_disk_ends_the_recording_and_not_the_program(native: Native, shards: Path) -> None:
    does = ["filesize:4000000", "init", "bulk:200000", "flush", "launch:5", "print:alive", "exit:6"]
    printed = native.run(shards, *does, code=6)
    assert printed == "disk: the shard cannot be written: File too large\nalive\n"
    trace = read_shards(shards)
    assert len(trace.kernels) > 0
    assert "the shard cannot be written: File too large" in said(shards)


def test_a_disk_full_from_the_start_leaves_the_program_alone(native: Native, shards: Path) -> None:
    assert native.run(shards, "filesize:10", "init", "launch:5", "print:alive") == "alive\n"
    assert list(shards.iterdir()) == []
    assert native.run(shards / "missing", "init", "nvtx", "push:a", "launch:5", "print:alive") == "alive\n"


def test_a_wrong_variable_is_reported_and_hurts_nobody(native: Native, shards: Path) -> None:
    does = ["nvtx", "init", "push:a", "launch:5", "pop", "print:alive"]
    assert native.run(shards, *does, KERNTRACE_KINDS="all") == "alive\n"
    assert "kinds: 'all' is no kind of record" in said(shards)


UNTOLD = """
import ctypes, os
library = ctypes.CDLL(os.environ["KERNTRACE_LIBRARY"])
assert library.InitializeInjection() == 1
with open("/proc/self/maps") as maps:
    assert os.path.basename(os.environ["KERNTRACE_CUPTI"]) not in maps.read()
assert len(os.listdir("/proc/self/task")) == 1
assert os.listdir(".") == []
"""


@pytest.mark.parametrize("directory", [False, True])
def test_loaded_but_not_told_to_record_it_opens_no_cupti_and_starts_no_thread(
    native: Native, tmp_path: Path, directory: bool
) -> None:
    if native.sanitized:
        pytest.skip("Python itself is not built with the sanitizer")
    shards = tmp_path / "shards"
    shards.mkdir()
    here = tmp_path / "here"
    here.mkdir()
    environment = native.environment(shards if directory else None)
    done = subprocess.run(
        [sys.executable, "-c", UNTOLD], env=environment, cwd=here, capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) != directory, done.stderr  # told to, it does both
    assert bool(list(shards.iterdir())) == directory
