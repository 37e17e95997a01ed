"""The reference recorder: the same CUPTI records through NVIDIA's `cupti` package, for short windows. Room: capture.

A record costs it tens of microseconds under the GIL, so it slows what it records; it is here to check the native recorder
against. It keeps records in memory and writes them as JSON columns when it stops.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.metadata
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kerntrace.errors import KerntraceError, UnreadableError
from kerntrace.trace.builder import TraceBuilder
from kerntrace.trace.manifest import Capture
from kerntrace.trace.model import Trace

_FILE = "cupti-python.json"
_BUFFER_BYTES = 8 << 20
_SYSTEM_THREADS = 1  # CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
_FLUSH_FORCED = 1
# Calls that launch kernels or graphs, each with its per-thread-stream twin.
_RUNTIME_LAUNCHES = (211, 214, 269, 270, 430, 431, 505, 506, 311, 312)
_DRIVER_LAUNCHES = (307, 442, 477, 478, 652, 653, 514, 515)
_RUNTIME_COPIES = (31, 41, 49, 51)  # cudaMemcpy, cudaMemcpyAsync, cudaMemset, cudaMemsetAsync
_LAST_CALL = 1500  # more than any CUPTI has
_KERNEL = (
    "start", "end", "device_id", "context_id", "stream_id", "correlation_id", "graph_id", "graph_node_id", "name",
    "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers_per_thread",
    "static_shared_memory", "dynamic_shared_memory",
)  # fmt: skip
_MEMOP = ("start", "end", "device_id", "stream_id", "correlation_id", "bytes", "graph_id", "graph_node_id")
_CALL = ("start", "end", "thread_id", "correlation_id", "cbid")
_OURS = {
    "start": "start_ns", "end": "end_ns", "thread_id": "tid",
    "static_shared_memory": "static_shared_bytes", "dynamic_shared_memory": "dynamic_shared_bytes",
}  # fmt: skip
_COPIES = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}


class CuptiPythonRecorder:
    """Records this process through the cupti package."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        try:
            from cupti import cupti
        except ImportError as error:
            raise KerntraceError(
                f"cupti-python cannot be imported: {error}", "Install it with `pip install 'kerntrace[cupti]'`."
            ) from None
        self._cupti: Any = cupti
        self._directory = Path(settings["directory"])
        kinds = cupti.ActivityKind
        self._kinds = (kinds.CONCURRENT_KERNEL, kinds.MEMCPY, kinds.MEMSET, kinds.RUNTIME, kinds.DRIVER)
        self._rows: dict[str, list[tuple[Any, ...]]] = {"kernels": [], "memops": [], "api_calls": [], "ranges": []}
        self._open_ranges: list[tuple[int, str, int]] = []
        self._windows: list[list[int]] = []

    def start(self) -> None:
        self._cupti.set_thread_id_type(_SYSTEM_THREADS)
        self._cupti.activity_register_callbacks(lambda: (_BUFFER_BYTES, 0), self._take)

    def ready(self) -> None:
        """Switch the kinds on; they stay on, for a process has one session. Windows choose what is kept."""
        self._enable()

    def open(self) -> None:
        self._windows.append([int(self._cupti.get_timestamp()), 0])

    def close(self) -> None:
        self._cupti.activity_flush_all(0)
        self._windows[-1][1] = int(self._cupti.get_timestamp())

    def stop(self) -> None:
        self._cupti.activity_flush_all(0)
        for kind in self._kinds:
            self._cupti.activity_disable(kind)
        self._cupti.activity_flush_all(_FLUSH_FORCED)
        kept = {name: [row for row in rows if self._kept(row[0])] for name, rows in self._rows.items()}
        said = {"pid": os.getpid(), "package": _package(), "rows": kept, "names": self._call_names()}
        (self._directory / _FILE).write_text(json.dumps(said), encoding="utf-8")

    def push(self, name: str, payload: int) -> None:
        self._open_ranges.append((int(self._cupti.get_timestamp()), name, payload))

    def pop(self) -> None:
        start, name, payload = self._open_ranges.pop()
        end = int(self._cupti.get_timestamp())
        self._rows["ranges"].append((start, end, threading.get_native_id(), name, payload))

    def _enable(self) -> None:
        """Kernels, copies and the calls that launch them.

        All calls are switched on and the others off again: switched on one by one they record nothing once CUDA is in use
        (CUPTI 13.0).
        """
        for kind in self._kinds:
            self._cupti.activity_enable(kind)
        wanted = {*_RUNTIME_LAUNCHES, *_RUNTIME_COPIES}
        for cbid in range(1, _LAST_CALL):
            if cbid not in wanted:
                self._mute(self._cupti.activity_enable_runtime_api, cbid)
            if cbid not in _DRIVER_LAUNCHES:
                self._mute(self._cupti.activity_enable_driver_api, cbid)

    def _mute(self, enable: Callable[[int, int], None], cbid: int) -> None:
        with contextlib.suppress(Exception):  # the package's own class: this CUPTI does not know the number
            enable(cbid, 0)

    def _take(self, records: Sequence[Any]) -> None:
        """Copy what is needed out of a buffer's records, which keep the whole buffer alive."""
        kinds = self._cupti.ActivityKind
        for record in records:
            kind = record.kind
            if kind == kinds.CONCURRENT_KERNEL:
                self._rows["kernels"].append(tuple(getattr(record, name) for name in _KERNEL))
            elif kind == kinds.MEMCPY:
                self._rows["memops"].append((*(getattr(record, name) for name in _MEMOP), int(record.copy_kind)))
            elif kind == kinds.MEMSET:
                self._rows["memops"].append((*(getattr(record, name) for name in _MEMOP), 0))
            elif kind in (kinds.RUNTIME, kinds.DRIVER):
                row = (*(getattr(record, name) for name in _CALL), int(kind == kinds.DRIVER))
                self._rows["api_calls"].append(row)

    def _kept(self, time: int) -> bool:
        return any(begin <= time <= (end or time) for begin, end in self._windows)

    def _call_names(self) -> dict[str, str]:
        """Names of the calls that were recorded, by `domain cbid`."""
        domains = (self._cupti.CallbackDomain.RUNTIME_API, self._cupti.CallbackDomain.DRIVER_API)
        used = {(row[5], row[4]) for row in self._rows["api_calls"]}
        return {f"{driver} {cbid}": str(self._cupti.get_callback_name(domains[driver], cbid)) for driver, cbid in used}


def _package() -> str:
    """The package and its version, from its metadata: no release of it (13.0.1 to 13.4.0) can be asked, nor for CUPTI's own."""
    try:
        return f"cupti-python {importlib.metadata.version('cupti-python')}"
    except importlib.metadata.PackageNotFoundError:
        return "cupti-python"


def read_records(directory: Path) -> Trace:
    """The trace in what the recorder wrote.

    Raises:
        UnreadableError: if it wrote nothing.
    """
    try:
        said = json.loads((directory / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UnreadableError("cupti-python left no records", "Run `kerntrace doctor`.") from None
    kinds = ("kernels", "memops", "launches", "ranges")
    builder = TraceBuilder(
        producer="cupti-python",
        epoch_ns=0,
        clock="CLOCK_REALTIME",
        capture=Capture(collector="cupti-python", source=said["package"], kinds=kinds, graph_granularity="node"),
    )
    rows, pid = said["rows"], said["pid"]
    kernels = _columns(rows["kernels"], _KERNEL)
    kernels["name"] = [demangled(name) for name in kernels["name"]]
    memops = _columns(rows["memops"], (*_MEMOP, "kind"))
    memops["kind"] = ["memset" if not kind else _COPIES.get(kind, "other") for kind in memops["kind"]]
    calls = _columns(rows["api_calls"], (*_CALL, "driver"))
    pairs = list(zip(calls.pop("driver"), calls.pop("cbid")))
    calls["name"] = [said["names"][f"{driver} {cbid}"] for driver, cbid in pairs]
    calls["domain"] = ["driver" if driver else "runtime" for driver, _ in pairs]
    ranges = _columns(rows["ranges"], ("start", "end", "tid", "name", "payload")) | {"domain": "kerntrace"}
    for table, columns in (("kernels", kernels), ("memops", memops), ("api_calls", calls), ("ranges", ranges)):
        if any(len(column) for column in columns.values() if not isinstance(column, str)):
            builder.add(table, columns | {"pid": pid})
    return builder.build()


def _columns(rows: list[list[Any]], names: Sequence[str]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for place, name in enumerate(names):
        values = [row[place] for row in rows]
        if name in ("name", "kind", "cbid", "driver"):
            columns[_OURS.get(name, name)] = values
        else:
            columns[_OURS.get(name, name)] = np.array(values, dtype=np.uint64).view(np.int64)
    return columns


def demangled(name: str) -> str:
    """A kernel's name as C++ writes it; unchanged where it is not a mangled one or no C++ runtime is there."""
    if not name.startswith("_Z"):
        return name
    try:
        runtime = ctypes.CDLL("libstdc++.so.6")
        libc = ctypes.CDLL(None)
    except OSError:
        return name
    demangle = runtime.__cxa_demangle
    demangle.restype, demangle.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    status = ctypes.c_int(0)
    text = demangle(name.encode(), None, None, ctypes.byref(status))
    if not text:
        return name
    found = ctypes.string_at(text).decode("utf-8", "replace")
    libc.free(ctypes.c_void_p(text))
    return found
