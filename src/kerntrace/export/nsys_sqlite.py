"""A trace as an Nsight Systems SQLite export, for `nsys stats`, `nsys analyze`, sqlite3 and DuckDB. Room: export.

The reports join by correlation id, so that of the API calls that share one only the outermost stands in nsys's own table; the
others, and calls that had not returned when recording ended, stand in KERNTRACE_API_CALLS. What the analysis found is NVTX
ranges of a domain of its own, whose number KERNTRACE_EXPORT tells, on threads of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from kerntrace.export.findings import Findings
from kerntrace.export.nsys_file import NsysFile
from kerntrace.export.nsys_numbers import VM, Ids, global_pids, global_tids
from kerntrace.export.nsys_ranges import Domains, write_findings, write_ranges
from kerntrace.export.nsys_tables import ARRAY_MEMORY, DEVICE_MEMORY, SCHEMA_VERSION
from kerntrace.export.nsys_texts import UNNAMED, Texts
from kerntrace.export.shift import Shift, shift_of
from kerntrace.ingest.nsys_schema import API_DOMAINS, COPY_KINDS
from kerntrace.steps.cxx_names import function_family
from kerntrace.trace.launches import join_launches
from kerntrace.trace.manifest import encode
from kerntrace.trace.model import Trace, devices
from kerntrace.trace.table import Ints, Names, Table

Columns = Mapping[str, Any]

_KERNEL_COLUMNS = {
    "deviceId": "device_id",
    "contextId": "context_id",
    "streamId": "stream_id",
    "correlationId": "correlation_id",
    "graphId": "graph_id",
    "graphNodeId": "graph_node_id",
    "registersPerThread": "registers_per_thread",
    **{f"{what}{axis.upper()}": f"{what}_{axis}" for what in ("grid", "block") for axis in "xyz"},
    "staticSharedMemory": "static_shared_bytes",
    "dynamicSharedMemory": "dynamic_shared_bytes",
}
_MEMORY_OF = {"D": DEVICE_MEMORY, "A": ARRAY_MEMORY, "P": DEVICE_MEMORY}  # the host's may be of several kinds
_SHORTEST = 200


def write_nsys_sqlite(trace: Trace, findings: Findings, path: Path) -> None:
    """Write the export to a path where no file is yet."""
    with NsysFile(path) as file:
        writing = _Writing(file, trace)
        writing.kernels()
        writing.memops()
        writing.calls()
        writing.overheads()
        domains = Domains(trace)
        write_ranges(file, trace, writing.ids, writing.shift, domains, writing.texts)
        own = write_findings(file, findings, writing.ids, writing.shift, domains, writing.texts)
        writing.about(own)


class _Writing:
    """Writes a trace's tables one by one; texts are gathered on the way."""

    def __init__(self, file: NsysFile, trace: Trace) -> None:
        self.file = file
        self.trace = trace
        self.ids = Ids(trace)
        self.shift = shift_of(trace)
        self.texts = Texts()

    def kernels(self) -> None:
        table = self.trace.kernels
        names = table.names("name")
        columns: dict[str, Any] = {theirs: _ints(table, ours) for theirs, ours in _KERNEL_COLUMNS.items()}
        columns |= {
            **_device_times(table, self.shift),
            "globalPid": global_pids(self.ids, table),
            "demangledName": self.texts.ids(names),
            "shortName": self.texts.ids(names, _short),
            "greenContextId": 0,
            "launchType": 1,
        }
        self.file.add("CUPTI_ACTIVITY_KIND_KERNEL", columns, len(table))

    def memops(self) -> None:
        whole = self.trace.memops
        is_set = whole.names("kind").where(lambda kind: kind == "memset")
        for name, table in (("MEMCPY", whole.where(~is_set)), ("MEMSET", whole.where(is_set))):
            there = {theirs: ours for theirs, ours in _KERNEL_COLUMNS.items() if ours in table.schema.names}
            columns: dict[str, Any] = {theirs: _ints(table, ours) for theirs, ours in there.items()}
            columns |= {
                **_device_times(table, self.shift),
                "globalPid": global_pids(self.ids, table),
                "contextId": self._contexts(table),
                "greenContextId": 0,
                "bytes": _ints(table, "bytes"),
            }
            columns |= _copy(table.names("kind")) if name == "MEMCPY" else {"memKind": DEVICE_MEMORY}
            self.file.add(f"CUPTI_ACTIVITY_KIND_{name}", columns, len(table))

    def _contexts(self, table: Table) -> Any:
        """A memop's context is not recorded: it is the one that its device's kernels ran in, if that is one."""
        kernels = self.trace.kernels
        pairs = np.unique(np.stack([kernels.ints("device_id", null=-1), kernels.ints("context_id", null=-1)]), axis=1)
        of = {device: context for device, context in pairs.T.tolist() if context >= 0}
        return np.array([of.get(device, 1) for device in table.ints("device_id", null=-1).tolist()], np.int64)

    def calls(self) -> None:
        table = self.trace.api_calls
        domain, names = table.names("domain"), table.names("name")
        class_of = [API_DOMAINS.index(value) if value in API_DOMAINS else 0 for value in domain.values]
        columns = {
            "start": self.shift(table, "start_ns"),
            "end": self.shift(table, "end_ns"),
            "eventClass": np.array([*class_of, 0])[domain.codes],
            "globalTid": global_tids(self.ids, table),
            "correlationId": _ints(table, "correlation_id"),
            "nameId": self.texts.ids(names).filled(self.texts.id(UNNAMED)),
        }
        seen = join_launches(self.trace).is_outermost & table.valid("end_ns")
        self.file.add("CUPTI_ACTIVITY_KIND_RUNTIME", columns | {"returnValue": 0}, len(table), seen)
        self.file.add("KERNTRACE_API_CALLS", columns, len(table), ~seen)

    def overheads(self) -> None:
        table = self.trace.overheads
        columns = {
            "start": self.shift(table, "start_ns"),
            "end": self.shift(table, "end_ns"),
            "globalTid": global_tids(self.ids, table),
            "nameId": self.texts.ids(table.names("kind")).filled(self.texts.id(UNNAMED)),
        }
        self.file.add("CUPTI_ACTIVITY_KIND_OVERHEAD", columns, len(table))

    def about(self, own_domain: int) -> None:
        """What the export says of itself, the machine and the processes."""
        walls = self.trace.walls
        self.file.add("KERNTRACE_WALLS", {name: _column(walls, name) for name in walls.schema.names}, len(walls))
        self._machine()
        manifest = self.trace.manifest
        if manifest.epoch_ns is not None:
            self.file.rows("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs": [manifest.epoch_ns - self.shift.ns]})
        major, minor, micro = SCHEMA_VERSION.split(".")
        said = {
            "EXPORT_PRODUCT_NAME": "kerntrace",
            "EXPORT_SCHEMA_VERSION": SCHEMA_VERSION,
            "EXPORT_SCHEMA_VERSION_MAJOR": major,
            "EXPORT_SCHEMA_VERSION_MINOR": minor,
            "EXPORT_SCHEMA_VERSION_MICRO": micro,
        }
        self.file.rows("META_DATA_EXPORT", {"name": list(said), "value": list(said.values())})
        granularity = manifest.capture.graph_granularity
        if granularity is not None:
            self.file.rows(
                "META_DATA_CAPTURE", {"name": ["CUDA_GRAPH_TRACE_OPTIONS:MODE"], "value": [granularity.capitalize()]}
            )
        bare = encode(msgspec.structs.replace(manifest, tables={})).decode()
        own = {"format": "1", "findings_domain": str(own_domain), "shift_ns": str(self.shift.ns), "manifest": bare}
        self.file.rows("KERNTRACE_EXPORT", {"name": list(own), "value": list(own.values())})
        self.file.rows("StringIds", self.texts.rows())

    def _machine(self) -> None:
        """GPUs, contexts and processes."""
        said = self.trace.manifest.environment
        gpus = [int(device) for device in devices(self.trace) if device >= 0]
        major, _, minor = (said.compute_capability or "").partition(".")
        columns = {
            "name": said.gpu or "GPU",
            "smCount": said.sm_count,
            "l2CacheSize": said.l2_bytes,
            "totalMemory": said.memory_bytes,
            "memoryBandwidth": said.memory_bytes_per_s,
            "computeMajor": int(major) if major.isdecimal() else None,
            "computeMinor": int(minor) if minor.isdecimal() else None,
        }
        once = {name: [value] * len(gpus) for name, value in columns.items()}
        self.file.rows("TARGET_INFO_GPU", {"vmId": [VM] * len(gpus), "id": gpus, "cuDevice": gpus, **once})
        pairs = self._pairs("pid", "device_id")
        pids = [self.ids.pid(pid) for pid, _ in pairs]
        self.file.rows(
            "TARGET_INFO_CUDA_DEVICE", {"gpuId": [d for _, d in pairs], "cudaId": [d for _, d in pairs], "pid": pids}
        )
        threes = self._pairs("pid", "device_id", "context_id")
        contexts = {
            "nullStreamId": [7] * len(threes),
            "hwId": [0] * len(threes),
            "vmId": [VM] * len(threes),
            "processId": [self.ids.pid(pid) for pid, _, _ in threes],
            "deviceId": [device for _, device, _ in threes],
            "contextId": [context for _, _, context in threes],
        }
        self.file.rows("TARGET_INFO_CUDA_CONTEXT_INFO", contexts)
        processes = sorted({self.ids.pid(int(pid)) for pid in self._every_pid()})
        globals_ = [VM << 48 | pid << 24 for pid in processes]
        names = [f"process {pid}" for pid in processes]
        self.file.rows("PROCESSES", {"globalPid": globals_, "pid": processes, "name": names})

    def _pairs(self, *columns: str) -> list[tuple[int, ...]]:
        """The distinct values that kernels have in some columns, where all are known."""
        table = self.trace.kernels
        if not len(table):
            return []
        rows = np.unique(np.stack([table.ints(column, null=-1).astype(np.int64) for column in columns]), axis=1)
        return [tuple(row) for row in rows.T.tolist() if min(row) >= 0]

    def _every_pid(self) -> Ints:
        tables = (self.trace.kernels, self.trace.api_calls, self.trace.ranges)
        found = [np.unique(table.ints("pid")[table.valid("pid")]) for table in tables if len(table)]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *found]))


def _ints(table: Table, name: str) -> np.ma.MaskedArray:
    return np.ma.array(table.ints(name), mask=~table.valid(name))


def _column(table: Table, name: str) -> Any:
    return table.arrow(name).combine_chunks() if name == "mode" else _ints(table, name)


def _device_times(table: Table, shift: Shift) -> dict[str, Any]:
    """Start and end of device work; an operation without both has neither, which is written as 0."""
    known = table.valid("start_ns") & table.valid("end_ns")
    return {theirs: np.where(known, shift(table, ours).data, 0) for theirs, ours in (("start", "start_ns"), ("end", "end_ns"))}


def _copy(kinds: Names) -> dict[str, Any]:
    """Direction and memories of each memcpy, null where its kind is not one that nsys knows."""
    codes = [COPY_KINDS.index(kind) if kind in COPY_KINDS else 0 for kind in kinds.values]
    columns: dict[str, Any] = {"copyKind": np.array([*codes, 0])[kinds.codes]}
    for name, letter in (("srcKind", 0), ("dstKind", -1)):
        memory = np.array([*(_MEMORY_OF.get(kind[letter], -1) if kind else -1 for kind in kinds.values), -1])[kinds.codes]
        columns[name] = np.ma.array(memory, mask=memory < 0)
    return columns


def _short(name: str) -> str:
    return function_family(name) or name[:_SHORTEST]
