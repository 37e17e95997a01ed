"""NVTX ranges end to end: from programs that use NVTX's own headers or the `nvtx` package, through the injection, no GPU."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kerntrace.trace.shards import read_shards

Native = Any
HEADERS = [path for path in (Path("/usr/local/cuda/include"), Path("/usr/include")) if (path / "nvtx3/nvToolsExt.h").is_file()]


def rows(directory: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_shards(directory).ranges.arrow_table().to_pylist()
    return found


def run_python(environment: dict[str, str], script: str) -> None:
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not HEADERS or not shutil.which("gcc"), reason="needs NVTX's headers and a C compiler")
def test_a_c_program_with_nvtx_headers(native: Native, shards: Path, tmp_path: Path) -> None:
    client = tmp_path / "client"
    source = Path(__file__).with_name("nvtx_client.c")
    options = [f"-fsanitize={native.sanitized}"] if native.sanitized else []
    subprocess.run(["gcc", *options, "-I", HEADERS[0], source, "-o", client, "-ldl"], check=True)
    before = time.time_ns()
    done = subprocess.run([client], env=native.environment(shards), capture_output=True, text=True, timeout=120, check=True)
    after = time.time_ns()
    assert done.stdout == "0110\n"  # NVTX's levels: of the ranges pushed, then of those popped
    trace = read_shards(shards)
    found = {row["name"]: row for row in trace.ranges.arrow_table().to_pylist()}
    assert list(found) == [
        *("ascii", "wïde", "u64", "i64", "u32", "i32", "double", "float", "in a", "registered", "registered w"),
        *("first", "second", "third", "after a pop too many", "left open"),
    ]
    payloads = {name: row["payload"] for name, row in found.items() if row["payload"] is not None}
    assert payloads == {"i64": -7, "u32": 4_000_000_000, "i32": -3}
    domains = {name: row["domain"] for name, row in found.items() if row["domain"] is not None}
    assert domains == {"in a": "domain a", "registered": "domain w", "registered w": "domain a"}
    assert [name for name, row in found.items() if row["end_ns"] is None] == ["left open"]
    assert found["ascii"]["end_ns"] >= found["wïde"]["end_ns"]
    assert found["first"]["end_ns"] < found["third"]["end_ns"] < found["second"]["end_ns"]
    assert found["registered w"]["end_ns"] > found["registered"]["end_ns"]
    epoch = trace.manifest.epoch_ns
    assert epoch is not None
    assert before <= epoch <= epoch + found["left open"]["start_ns"] <= after  # on CLOCK_REALTIME, as CUPTI's records are


NVTX_SCRIPT = """
import nvtx, threading
@nvtx.annotate("decorated", domain="app")
def work(): pass
work()
with nvtx.annotate("managed", payload=42): work()
nvtx.push_range("pushed"); nvtx.pop_range()
loose = nvtx.start_range("loose", domain="app")
thread = threading.Thread(target=work); thread.start(); thread.join()
nvtx.end_range(loose)
domain = nvtx.get_domain("fast")
attributes = domain.get_event_attributes(message="step", payload=7)
for _ in range(1000):
    domain.push_range(attributes); domain.pop_range()
"""


@pytest.mark.skipif(importlib.util.find_spec("nvtx") is None, reason="needs the nvtx package")
def test_the_nvtx_package(native: Native, shards: Path) -> None:
    if native.sanitized:
        pytest.skip("Python itself is not built with the sanitizer")
    run_python(native.environment(shards), NVTX_SCRIPT)
    found = rows(shards)
    names = [row["name"] for row in found]
    assert {name: names.count(name) for name in names} == {"decorated": 3, "managed": 1, "pushed": 1, "loose": 1, "step": 1000}
    assert all(row["end_ns"] is not None for row in found)
    assert {row["payload"] for row in found if row["name"] == "step"} == {7}
    assert {(row["name"], row["domain"]) for row in found} >= {("decorated", "app"), ("loose", "app"), ("step", "fast")}
    assert len({row["tid"] for row in found if row["name"] == "decorated"}) == 2


def test_every_range_of_many_is_kept(native: Native, shards: Path) -> None:
    native.run(shards, "nvtx", "nvtxload:30000")
    found = rows(shards)
    assert [row["name"] for row in found] == [f"load {i}" for i in range(30000)]
    assert all(row["end_ns"] is not None for row in found)


def test_ranges_in_threads_are_paired_by_thread(native: Native, shards: Path) -> None:
    native.run(shards, "nvtx", "push:outer", "wpush:in", "payload:12", "pop", "pop", "rpush:d/x", "pop", "rpop:d")
    found = {row["name"]: row for row in rows(shards)}
    assert list(found) == ["outer", "iné😀", "with payload", "x"]
    assert found["outer"]["end_ns"] > found["x"]["start_ns"]
    assert found["x"]["end_ns"] > found["outer"]["end_ns"]
    assert found["with payload"]["payload"] == 12


OWN_SCRIPT = """
import ctypes, os
kt = ctypes.CDLL(os.environ["KERNTRACE_LIBRARY"])
kt.kt_push.argtypes = [ctypes.c_char_p, ctypes.c_int64]
kt.kt_push(b"unheard", 0); kt.kt_pop()
assert kt.kt_recording() == 0
kt.kt_start.argtypes = [ctypes.c_char_p]
settings = f"directory={os.environ['OUT']}\\nkinds=ranges\\n"
assert kt.kt_start(settings.encode()) == 0 and kt.kt_recording() == 1
for step in range(3):
    kt.kt_push(f"step {step}".encode(), step)
    kt.kt_push(b"forward", -1)
    kt.kt_pop(); kt.kt_pop()
kt.kt_timestamp.restype = ctypes.c_uint64
import time
before = time.time_ns(); now = kt.kt_timestamp(); assert before <= now <= time.time_ns()
kt.kt_shard.restype = ctypes.c_char_p
assert os.path.exists(kt.kt_shard())
assert kt.kt_stop(10000) == 0 and kt.kt_recording() == 0
kt.kt_push(b"unheard", 0); kt.kt_pop()
"""


def test_own_ranges_need_neither_nvtx_nor_cupti(native: Native, shards: Path) -> None:
    if native.sanitized:
        pytest.skip("Python itself is not built with the sanitizer")
    run_python(native.environment(None, OUT=str(shards)), OWN_SCRIPT)
    found = rows(shards)
    assert [(row["name"], row["payload"]) for row in found] == [
        *(("step 0", 0), ("forward", -1), ("step 1", 1), ("forward", -1), ("step 2", 2), ("forward", -1))
    ]
    assert {row["domain"] for row in found} == {"kerntrace"}
