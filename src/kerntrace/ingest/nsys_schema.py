"""The parts of an Nsight Systems export that are read: tables, columns, and the codes in them. Room: ingest.

NVIDIA changes the schema with every release, so nothing here knows a version: a table or column that is there is used, one that
is missing is unknown, and only a *required* column is worth refusing a file for. The SQLite file and the directory of Parquet
files hold the same tables.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NsysColumn:
    """A column that is read if it is there.

    Attributes:
        is_text: it holds text; otherwise integers.
        required: an export without it cannot be read.
        filled: a null in it is damage, because nsys always writes it.
    """

    name: str
    is_text: bool = False
    required: bool = False
    filled: bool = False


@dataclass(frozen=True, slots=True)
class NsysTable:
    """A table and its columns; of the columns in `one_of` at least one has to be there."""

    name: str
    columns: tuple[NsysColumn, ...]
    one_of: tuple[str, ...] = ()


def _columns(spec: str) -> tuple[NsysColumn, ...]:
    """Columns from a short notation: `name!` is required and filled, `name?` is required, `name:` holds text."""
    return tuple(
        NsysColumn(word.rstrip("!?:"), is_text=":" in word, required=word[-1] in "!?", filled=word.endswith("!"))
        for word in spec.split()
    )


def _operations(name: str, spec: str, one_of: tuple[str, ...] = ()) -> NsysTable:
    common = "start! end! correlationId? globalPid deviceId streamId graphId graphNodeId"
    return NsysTable(name, _columns(f"{common} {spec}"), one_of)


KERNEL_NAMES = ("demangledName", "shortName", "mangledName")

KERNELS = _operations(
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "contextId demangledName shortName mangledName gridX gridY gridZ blockX blockY blockZ registersPerThread staticSharedMemory"
    " dynamicSharedMemory",
    one_of=KERNEL_NAMES,
)
MEMCPYS = _operations("CUPTI_ACTIVITY_KIND_MEMCPY", "bytes copyKind")
MEMSETS = _operations("CUPTI_ACTIVITY_KIND_MEMSET", "bytes")
API_CALLS = NsysTable("CUPTI_ACTIVITY_KIND_RUNTIME", _columns("start! end! correlationId? globalTid? nameId! eventClass"))
NVTX = NsysTable(
    "NVTX_EVENTS",
    _columns("start! end? eventType! globalTid text: textId domainId int64Value uint64Value int32Value uint32Value"),
    one_of=("text", "textId"),
)
PROFILER_OVERHEADS = NsysTable("PROFILER_OVERHEAD", _columns("start! end! globalTid nameId"))
CUPTI_OVERHEADS = NsysTable("CUPTI_ACTIVITY_KIND_OVERHEAD", _columns("start! end! globalTid nameId"))
GRAPH_REPLAYS = NsysTable("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", ())
STRINGS = NsysTable("StringIds", _columns("id! value:?"))
GPUS = NsysTable(
    "TARGET_INFO_GPU", _columns("id name: smCount l2CacheSize totalMemory memoryBandwidth computeMajor computeMinor")
)
CUDA_DEVICES = NsysTable("TARGET_INFO_CUDA_DEVICE", _columns("gpuId cudaId pid"))
SESSION_START = NsysTable("TARGET_INFO_SESSION_START_TIME", _columns("utcEpochNs"))
DIAGNOSTICS = NsysTable("DIAGNOSTIC_EVENT", _columns("text:"))
EXPORT_FACTS = tuple(NsysTable(name, _columns("name: value:")) for name in ("META_DATA_EXPORT", "EXPORT_META_DATA"))
OWN_FACTS = NsysTable("KERNTRACE_EXPORT", _columns("name: value:"))  # these three kerntrace's own export adds
OWN_API_CALLS = NsysTable("KERNTRACE_API_CALLS", _columns("start! end globalTid correlationId nameId! eventClass"))
WALLS = NsysTable("KERNTRACE_WALLS", _columns("mode:? batch? context? tokens? repetition? wall_ns?"))
CAPTURE_FACTS = NsysTable("META_DATA_CAPTURE", _columns("name: value:"))

# Every export has at least one of these; StringIds alone proves nothing.
_TELLING = re.compile(r"(CUPTI_ACTIVITY_KIND_\w+|NVTX_EVENTS(_V\d+)?|META_DATA_EXPORT|EXPORT_META_DATA|TARGET_INFO_\w+)")

PUSH_POP_RANGE, START_END_RANGE, DOMAIN_CREATE = 59, 60, 75  # NVTX_EVENTS.eventType; marks, categories and the rest are others
API_DOMAINS = ("runtime", "driver")  # CUPTI_ACTIVITY_KIND_RUNTIME.eventClass 0 and 1
COPY_KINDS: tuple[str | None, ...] = (  # CUPTI_ACTIVITY_KIND_MEMCPY.copyKind from 0 on
    None, "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP", "unified HtoD", "unified DtoH",
    "unified DtoD",
)  # fmt: skip


def is_nsys(tables: Collection[str]) -> bool:
    """Whether these are the tables of an Nsight Systems export."""
    return any(_TELLING.fullmatch(name) for name in tables)


def actual_name(table: NsysTable, tables: Collection[str]) -> str | None:
    """The table's name among `tables`: its own, else the highest of NAME_V2, NAME_V3, ...; None where it is not there."""
    if table.name in tables:
        return table.name
    versions = [int(found[1]) for name in tables if (found := re.fullmatch(rf"{table.name}_V(\d{{1,9}})", name))]
    return f"{table.name}_V{max(versions)}" if versions else None
