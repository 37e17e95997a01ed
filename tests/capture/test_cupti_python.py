"""The reference recorder over a stand-in for NVIDIA's `cupti` package."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from kerntrace.capture.cupti_python import CuptiPythonRecorder, demangled, read_records
from kerntrace.errors import KerntraceError, UnreadableError
from kerntrace.trace.model import Trace


class Kind(IntEnum):
    MEMCPY = 1
    MEMSET = 2
    DRIVER = 4
    RUNTIME = 5
    CONCURRENT_KERNEL = 10


# What a release's records have beyond what all have. A fill has no copy_kind in any; no release can be asked for a version.
RELEASES: dict[str, dict[str, int]] = {"13.0.1": {}, "13.4.0": {"source_graph_node_id": 0}}


class FakeCupti(ModuleType):
    """Hands over the records it was given whenever it is flushed. It has the functions that both releases have."""

    ActivityKind = Kind
    CallbackDomain = SimpleNamespace(DRIVER_API=1, RUNTIME_API=2)

    def __init__(self, release: str) -> None:
        super().__init__("cupti.cupti")
        self.release = release
        self.now = 1_000
        self.waiting: list[Any] = []
        self.enabled: set[int] = set()
        self.muted: set[tuple[str, int]] = set()
        self.completed: Callable[[list[Any]], None] = lambda records: None

    def get_timestamp(self) -> int:
        self.now += 10
        return self.now

    def set_thread_id_type(self, kind: int) -> None:
        assert kind == 1

    def activity_register_callbacks(self, requested: Callable[[], Any], completed: Callable[[list[Any]], None]) -> None:
        assert requested()[0] > 0
        self.completed = completed

    def activity_enable(self, kind: int) -> None:
        self.enabled.add(kind)

    def activity_disable(self, kind: int) -> None:
        self.enabled.remove(kind)

    def activity_enable_runtime_api(self, cbid: int, enable: int) -> None:
        self._switch("runtime", cbid, enable)

    def activity_enable_driver_api(self, cbid: int, enable: int) -> None:
        self._switch("driver", cbid, enable)

    def _switch(self, domain: str, cbid: int, enable: int) -> None:
        """Once CUDA is in use, switching a call on does nothing (CUPTI 13.0); switching it off does."""
        if cbid > 900:
            raise RuntimeError("CUPTI_ERROR_INVALID_PARAMETER")
        if not enable:
            self.muted.add((domain, cbid))

    def activity_flush_all(self, flag: int) -> None:
        self.completed(self.waiting)
        self.waiting = []

    def get_callback_name(self, domain: int, cbid: int) -> str:
        return {(2, 211): "cudaLaunchKernel_v7000", (1, 514): "cuGraphLaunch"}[domain, cbid]

    def launch(self, correlation: int, *, graph: int = 0) -> None:
        """A call and its kernel."""
        kind, cbid = (Kind.DRIVER, 514) if graph else (Kind.RUNTIME, 211)
        begin = self.get_timestamp()
        shape = {f"{what}_{axis}": 1 for what in ("grid", "block") for axis in "xyz"}
        if kind in self.enabled and ("driver" if graph else "runtime", cbid) not in self.muted:
            self.waiting.append(
                SimpleNamespace(kind=kind, cbid=cbid, start=begin, end=begin + 2, thread_id=7, correlation_id=correlation)
            )
        self.waiting += [
            SimpleNamespace(
                kind=Kind.CONCURRENT_KERNEL, start=begin + 3, end=begin + 5, device_id=0, context_id=1, stream_id=7,
                correlation_id=correlation, graph_id=graph, graph_node_id=graph << 32, name="_Z6vecAddPKfS0_Pfi",
                registers_per_thread=16, static_shared_memory=0, dynamic_shared_memory=64, **shape, **RELEASES[self.release],
            ),
        ]  # fmt: skip

    def move(self, kind: Kind, **said: int) -> None:
        """A copy or a fill, without its call."""
        begin = self.get_timestamp()
        self.waiting.append(
            SimpleNamespace(
                kind=kind, start=begin, end=begin + 1, device_id=0, stream_id=7, correlation_id=50, bytes=64, graph_id=0,
                graph_node_id=0, **said, **RELEASES[self.release],
            )
        )  # fmt: skip


@pytest.fixture(params=RELEASES)
def cupti(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> FakeCupti:
    package, fake = ModuleType("cupti"), FakeCupti(request.param)
    package.cupti = fake  # type: ignore[attr-defined]
    monkeypatch.setattr(importlib.metadata, "version", {"cupti-python": fake.release}.__getitem__)
    monkeypatch.setitem(sys.modules, "cupti", package)
    monkeypatch.setitem(sys.modules, "cupti.cupti", fake)
    return fake


def test_what_happens_in_windows_is_in_the_trace(cupti: FakeCupti, tmp_path: Path) -> None:
    recorder = CuptiPythonRecorder({"directory": str(tmp_path)})
    recorder.start()
    recorder.ready()
    assert {Kind.CONCURRENT_KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.RUNTIME, Kind.DRIVER} == cupti.enabled
    assert not {("runtime", 211), ("driver", 514)} & cupti.muted
    assert {("runtime", 20), ("driver", 211)} <= cupti.muted
    cupti.launch(1)
    recorder.open()
    recorder.push("kerntrace.step decode=1 prefill=0 prefill_tokens=0", 3)
    cupti.launch(2)
    cupti.launch(3, graph=9)
    recorder.pop()
    recorder.close()
    cupti.launch(4)
    recorder.stop()
    assert not cupti.enabled
    trace = read_records(tmp_path)
    assert trace.kernels.ints("correlation_id").tolist() == [2, 3]
    assert trace.kernels.ints("graph_id", null=-1).tolist() == [-1, 9]
    assert trace.kernels.ints("graph_node_id", null=-1).tolist() == [-1, 9 << 32]
    assert trace.kernels.ints("dynamic_shared_bytes").tolist() == [64, 64]
    assert (trace.kernels.ints("end_ns") - trace.kernels.ints("start_ns")).tolist() == [2, 2]
    calls = trace.api_calls.names("name")
    assert [calls.values[code] for code in calls.codes] == ["cudaLaunchKernel", "cuGraphLaunch"]
    assert trace.ranges.ints("payload").tolist() == [3]
    assert trace.manifest.capture.collector == "cupti-python"


def recorded(where: Path, during: Callable[[], None]) -> Trace:
    """The trace of one window."""
    recorder = CuptiPythonRecorder({"directory": str(where)})
    recorder.start()
    recorder.ready()
    recorder.open()
    during()
    recorder.close()
    recorder.stop()
    return read_records(where)


def test_the_source_names_the_release(cupti: FakeCupti, tmp_path: Path) -> None:
    trace = recorded(tmp_path, lambda: cupti.launch(1))
    assert trace.manifest.capture.source == f"cupti-python {cupti.release}"


def test_a_package_without_metadata_records_as_well(cupti: FakeCupti, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unknown(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", unknown)
    trace = recorded(tmp_path, lambda: cupti.launch(1))
    assert trace.manifest.capture.source == "cupti-python"
    assert len(trace.kernels) == 1


def test_copies_and_fills_are_told_apart(cupti: FakeCupti, tmp_path: Path) -> None:
    def during() -> None:
        cupti.move(Kind.MEMCPY, copy_kind=1)
        cupti.move(Kind.MEMCPY, copy_kind=2)
        cupti.move(Kind.MEMSET)

    kinds = recorded(tmp_path, during).memops.names("kind")
    assert [kinds.values[code] for code in kinds.codes] == ["HtoD", "DtoH", "memset"]


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "cupti", None)
    with pytest.raises(KerntraceError, match="cupti-python cannot be imported"):
        CuptiPythonRecorder({"directory": str(tmp_path)})


def test_no_records_are_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="left no records"):
        read_records(tmp_path)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("_Z6vecAddPKfS0_Pfi", "vecAdd(float const*, float const*, float*, int)"),
        ("triton_red", "triton_red"),
        ("_Zbad", "_Zbad"),
    ],
)
def test_names_are_as_cpp_writes_them(name: str, shown: str) -> None:
    assert demangled(name) == shown
