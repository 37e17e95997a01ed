"""The tables of a trace: every column, its type, unit and meaning. The one definition; docs/trace-format.md is made from it.

Room: trace. Times are int64 nanoseconds since the manifest's `epoch_ns`. Null means unknown, never 0 or -1.

Format history
    1.0  first format
A new *major* means that an older reader would be wrong; a new *minor* adds nullable columns or manifest keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

FORMAT_NAME = "kerntrace"
FORMAT_MAJOR = 1
FORMAT_MINOR = 0

TEXT = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name: with its unit as a suffix where it has one.
        type: its Arrow type.
        about: what a value means.
        required: whether a source without this column cannot be read. A required column may still hold nulls.
    """

    name: str
    type: pa.DataType
    about: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table: what a row is, its columns, and the columns that put its rows in their one order.

    In `order` a minus says descending: of two calls or ranges that begin together the longer one is the outer and comes
    first, and a runtime call comes before a driver call of the same times.
    """

    name: str
    about: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]

    def column(self, name: str) -> Column:
        return next(c for c in self.columns if c.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)


def _c(name: str, kind: pa.DataType, about: str) -> Column:
    return Column(name, kind, about)


def _r(name: str, kind: pa.DataType, about: str) -> Column:
    return Column(name, kind, about, required=True)


_BOOL, _I32, _I64 = pa.bool_(), pa.int32(), pa.int64()

_GRAPH = (
    _c("graph_id", _I64, "executable graph it was replayed from; null when launched eagerly or not recorded"),
    _c("graph_node_id", _I64, "node of that graph; null when launched eagerly or not recorded"),
)

KERNELS = TableSchema(
    "kernels",
    "one execution of a kernel on a device",
    (
        _r("start_ns", _I64, "start on the device; null where the recorder left no timestamp"),
        _r("end_ns", _I64, "end on the device; null where the recorder left no timestamp"),
        _c("pid", _I32, "process that launched it"),
        _c("device_id", _I32, "CUDA ordinal of the device"),
        _c("context_id", _I32, "CUDA context"),
        _c("stream_id", _I64, "CUDA stream"),
        _r("correlation_id", _I64, "joins it, within its pid, to the API call that launched it"),
        *_GRAPH,
        _r("name", TEXT, "demangled name"),
        _c("grid_x", _I32, "grid size in blocks, x"),
        _c("grid_y", _I32, "grid size in blocks, y"),
        _c("grid_z", _I32, "grid size in blocks, z"),
        _c("block_x", _I32, "block size in threads, x"),
        _c("block_y", _I32, "block size in threads, y"),
        _c("block_z", _I32, "block size in threads, z"),
        _c("registers_per_thread", _I32, "registers a thread uses"),
        _c("static_shared_bytes", _I32, "static shared memory a block uses"),
        _c("dynamic_shared_bytes", _I32, "dynamic shared memory a block uses"),
    ),
    ("start_ns", "end_ns", "pid", "device_id", "stream_id", "correlation_id", "graph_node_id", "name"),
)

MEMOPS = TableSchema(
    "memops",
    "one memcpy or memset on a device",
    (
        _r("start_ns", _I64, "start on the device; null where the recorder left no timestamp"),
        _r("end_ns", _I64, "end on the device; null where the recorder left no timestamp"),
        _c("pid", _I32, "process that issued it"),
        _c("device_id", _I32, "CUDA ordinal of the device"),
        _c("stream_id", _I64, "CUDA stream"),
        _r("correlation_id", _I64, "joins it, within its pid, to the API call that issued it"),
        _r("kind", TEXT, "HtoD, DtoH, DtoD, PtoP, HtoH, ... for a memcpy, or memset"),
        _c("bytes", _I64, "bytes moved or set"),
        *_GRAPH,
    ),
    ("start_ns", "end_ns", "pid", "device_id", "stream_id", "correlation_id", "graph_node_id", "kind"),
)

API_CALLS = TableSchema(
    "api_calls",
    "one CUDA (or HIP) API call on a host thread",
    (
        _r("start_ns", _I64, "entry into the call"),
        _r("end_ns", _I64, "return from the call; null where it was still open when recording ended"),
        _c("pid", _I32, "process"),
        _c("tid", _I64, "operating-system thread"),
        _r("correlation_id", _I64, "unique within the process; a runtime call and the driver call inside it may share one"),
        _c("domain", TEXT, "runtime or driver"),
        _r("name", TEXT, "function, without version suffix"),
        _c("is_launch", _BOOL, "whether the function launches kernels or a graph, by its name"),
    ),
    ("start_ns", "-end_ns", "-domain", "pid", "tid", "correlation_id", "name"),
)

RANGES = TableSchema(
    "ranges",
    "one NVTX range",
    (
        _r("start_ns", _I64, "push or start"),
        _r("end_ns", _I64, "pop or end; null where it was still open when recording ended"),
        _c("pid", _I32, "process"),
        _c("tid", _I64, "operating-system thread that began it"),
        _c("domain", TEXT, "NVTX domain; null for the default one"),
        _r("name", TEXT, "message"),
        _c("payload", _I64, "integer payload, where one was given"),
    ),
    ("start_ns", "-end_ns", "pid", "tid", "name"),
)

OVERHEADS = TableSchema(
    "overheads",
    "a stretch of the profiler's own time on a host thread",
    (
        _r("start_ns", _I64, "start"),
        _r("end_ns", _I64, "end"),
        _c("pid", _I32, "process"),
        _c("tid", _I64, "operating-system thread"),
        _c("kind", TEXT, "what the profiler did, e.g. a buffer flush"),
    ),
    ("start_ns", "end_ns", "pid", "tid", "kind"),
)

WALLS = TableSchema(
    "walls",
    "an untraced repetition of a generation call, timed by the host clock",
    (
        _r("mode", TEXT, "eager, graph, graph-nocompile or compile"),
        _r("batch", _I32, "sequences"),
        _r("context", _I32, "tokens of context a sequence"),
        _r("tokens", _I32, "tokens generated a sequence"),
        _r("repetition", _I32, "counts from 0"),
        _r("wall_ns", _I64, "wall-clock duration of the call"),
    ),
    ("mode", "batch", "context", "tokens", "repetition", "wall_ns"),
)

TABLES: dict[str, TableSchema] = {t.name: t for t in (KERNELS, MEMOPS, API_CALLS, RANGES, OVERHEADS, WALLS)}


def arrow_schema(table: TableSchema) -> pa.Schema:
    """The Arrow schema of a table, with the format's version in its metadata so that a stray file still says what it is."""
    said = {"kerntrace.format": f"{FORMAT_MAJOR}.{FORMAT_MINOR}", "kerntrace.table": table.name}
    return pa.schema([pa.field(c.name, c.type) for c in table.columns], metadata=said)
