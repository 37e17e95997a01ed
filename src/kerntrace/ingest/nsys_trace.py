"""An Nsight Systems export as a trace, whichever its file format. Room: ingest."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kerntrace.errors import UnreadableError
from kerntrace.ingest import nsys_about
from kerntrace.ingest.nsys_ids import pid_of, tid_of
from kerntrace.ingest.nsys_names import Strings, dictionary, read_strings, require_strings
from kerntrace.ingest.nsys_own import Own, add_walls, read_own
from kerntrace.ingest.nsys_ranges import add_ranges
from kerntrace.ingest.nsys_schema import (
    API_CALLS,
    API_DOMAINS,
    COPY_KINDS,
    CUPTI_OVERHEADS,
    KERNEL_NAMES,
    KERNELS,
    MEMCPYS,
    MEMSETS,
    OWN_API_CALLS,
    PROFILER_OVERHEADS,
    actual_name,
    is_nsys,
)
from kerntrace.ingest.nsys_source import NsysSource, Rows, read_rows
from kerntrace.trace.builder import TraceBuilder
from kerntrace.trace.model import Trace

_KERNEL_COLUMNS = {
    "context_id": "contextId",
    "grid_x": "gridX",
    "grid_y": "gridY",
    "grid_z": "gridZ",
    "block_x": "blockX",
    "block_y": "blockY",
    "block_z": "blockZ",
    "registers_per_thread": "registersPerThread",
    "static_shared_bytes": "staticSharedMemory",
    "dynamic_shared_bytes": "dynamicSharedMemory",
}
_CLOCK = "nsys session"
_KINDS = ("api", "kernel", "memcpy", "memset", "overhead", "nvtx")
_COPIES = pa.array([None if kind is None else kind.encode() for kind in COPY_KINDS], pa.large_binary())
_DOMAINS = pa.array([domain.encode() for domain in API_DOMAINS], pa.large_binary())

# CUPTI also reports waits of CUDA itself as "overhead": they are there without a profiler too, so they are not the profiler's.
_CUDAS_OWN = r"(?i)command buffer full|module loading|function loading|driver compiler|\bJIT\b"


def nsys_trace(source: NsysSource) -> Trace:
    """The trace in an Nsight Systems export.

    Raises:
        UnreadableError: if it is not such an export, lacks a required column, or holds what its columns cannot hold.
    """
    if not is_nsys(source.tables()):
        raise UnreadableError(
            f"{source.shown} is not an Nsight Systems export: it has none of its tables",
            "Name an export (nsys export -t sqlite REPORT.nsys-rep), a Kineto JSON or a NAME.ktrace.",
        )
    about = nsys_about.About(source)
    builder = TraceBuilder(producer=about.profiler, epoch_ns=nsys_about.epoch_ns(source), clock=_CLOCK)
    own = read_own(source)
    reading = _Reading(builder, source, read_strings(source), own)
    reading.add_calls_and_kernels()
    reading.add_memops()
    reading.add_overheads()
    add_walls(builder, source)
    if add_ranges(builder, source, reading.strings, own.findings_domain):
        reading.kinds.append("nvtx")
    builder.environment = nsys_about.environment(source, about.profiler, sorted(reading.devices))
    kinds = [kind for kind in _KINDS if kind in reading.kinds]  # two threads note them, in whatever order
    builder.capture = nsys_about.capture(source, about.source_format(source), kinds, reading.saw_graph_nodes)
    return own.on(builder.build())


class _Reading:
    """Adds an export's rows to a builder and notes, on the way, what the manifest will say of them."""

    def __init__(self, builder: TraceBuilder, source: NsysSource, strings: Strings, own: Own) -> None:
        self.builder = builder
        self._own = own
        self.source = source
        self.strings = strings
        self.kinds: list[str] = []
        self.devices: set[int] = set()
        self.saw_graph_nodes = False
        self._pids: set[int] = set()

    def add_calls_and_kernels(self) -> None:
        """The two large tables, at once where neither needs to know what is in the other."""
        name = actual_name(KERNELS, self.source.tables())
        if name is None or "globalPid" not in self.source.columns(name):
            self.add_api_calls()
            self.add_kernels()
            return
        with ThreadPoolExecutor(1) as pool:
            kernels = pool.submit(self.add_kernels)
            self.add_api_calls()
            kernels.result()

    def add_api_calls(self) -> None:
        for rows in chain(read_rows(self.source, API_CALLS), read_rows(self.source, OWN_API_CALLS)):
            require_strings(self.source, self.strings)
            pids = pid_of(rows.get("globalTid"))
            self._pids |= _distinct(pids)
            self.builder.add(
                "api_calls",
                {
                    "start_ns": rows.get("start"),
                    "end_ns": rows.get("end"),
                    "pid": pids,
                    "tid": tid_of(rows.get("globalTid")),
                    "correlation_id": rows.get("correlationId"),
                    "domain": _coded(rows, "eventClass", _DOMAINS),
                    "name": self.strings.column(rows, "nameId"),
                },
            )
            self._saw("api")

    def add_kernels(self) -> None:
        for rows in read_rows(self.source, KERNELS):
            require_strings(self.source, self.strings)
            columns = self._operation(rows)
            columns |= {ours: rows.get(theirs) for ours, theirs in _KERNEL_COLUMNS.items()}
            self.builder.add("kernels", {**columns, "name": self._kernel_names(rows)})
            self._saw("kernel")

    def add_memops(self) -> None:
        for table, kind in ((MEMCPYS, "memcpy"), (MEMSETS, "memset")):
            for rows in read_rows(self.source, table):
                what = _coded(rows, "copyKind", _COPIES) if kind == "memcpy" else kind
                self.builder.add("memops", {**self._operation(rows), "kind": what, "bytes": rows.get("bytes")})
                self._saw(kind)

    def add_overheads(self) -> None:
        for table in (PROFILER_OVERHEADS, CUPTI_OVERHEADS):
            for rows in read_rows(self.source, table):
                if table is CUPTI_OVERHEADS and self._own.manifest is None:
                    rows = self._profilers_own(rows)
                self.builder.add(
                    "overheads",
                    {
                        "start_ns": rows.get("start"),
                        "end_ns": rows.get("end"),
                        "pid": pid_of(rows.get("globalTid")),
                        "tid": tid_of(rows.get("globalTid")),
                        "kind": self.strings.column(rows, "nameId"),
                    },
                )
                self._saw("overhead")

    def _operation(self, rows: Rows) -> dict[str, Any]:
        """The columns that kernels and memops share."""
        node = rows.get("graphNodeId")
        if node is not None and not self.saw_graph_nodes and node.null_count < len(rows):
            self.saw_graph_nodes = bool(pc.any(pc.not_equal(node, 0)).as_py())
        self.devices |= _distinct(rows.get("deviceId"))
        return {
            "start_ns": rows.get("start"),
            "end_ns": rows.get("end"),
            "pid": pid_of(rows.get("globalPid")) if "globalPid" in rows else self._only_pid(),
            "device_id": rows.get("deviceId"),
            "stream_id": rows.get("streamId"),
            "correlation_id": rows.get("correlationId"),
            "graph_id": _graph_id(rows.get("graphId"), node),
            "graph_node_id": node,
        }

    def _only_pid(self) -> int | None:
        """The one process that made API calls: an export that does not name the processes of device work has only one."""
        return next(iter(self._pids)) if len(self._pids) == 1 else None

    def _kernel_names(self, rows: Rows) -> pa.DictionaryArray:
        """The demangled name; where there is none, the short or the mangled one."""
        codes = np.full(len(rows), -1, np.int32)
        for column in KERNEL_NAMES:
            if column in rows:
                codes = np.where(codes < 0, self.strings.codes(rows, column), codes)
                if (codes >= 0).all():
                    break
        return dictionary(codes, self.strings.values)

    def _profilers_own(self, rows: Rows) -> Rows:
        kinds = self.strings.column(rows, "nameId")
        cudas = pc.match_substring_regex(kinds.dictionary, _CUDAS_OWN)
        keep = pc.invert(cudas).take(kinds.indices) if len(cudas) else pa.nulls(len(rows), pa.bool_())
        return Rows(rows.batch.filter(pc.fill_null(keep, True)))

    def _saw(self, kind: str) -> None:
        if kind not in self.kinds:
            self.kinds.append(kind)


def _coded(rows: Rows, column: str, texts: pa.Array) -> pa.DictionaryArray | None:
    """A column of small numbers as the texts they stand for; null where a number stands for none."""
    if column not in rows:
        return None
    numbers = rows.ints(column, null=-1)
    known = (numbers >= 0) & (numbers < len(texts))
    return dictionary(np.where(known, numbers, -1).astype(np.int32), texts)


def _graph_id(graph: Any, node: Any) -> Any:
    """The executable graph: `graphId` where the export has it, else the upper half of the node's id, which names it too."""
    if node is None:
        return graph
    upper = pc.shift_right(node, 32)
    if graph is None:
        return upper
    return pc.coalesce(pc.if_else(pc.equal(graph, 0), pa.scalar(None, pa.int64()), graph), upper)


def _distinct(array: Any) -> set[int]:
    """The values of an integer column but null."""
    if array is None or array.null_count == len(array):
        return set()
    limits = pc.min_max(array)
    low, high = limits["min"].as_py(), limits["max"].as_py()
    return {low} if low == high else {int(value) for value in pc.unique(array).to_pylist() if value is not None}
