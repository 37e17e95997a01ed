"""The formats a synthetic trace is written in, each as its own program writes it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from generate import CONTEXT, DEVICE, EPOCH_NS, GRAPH, PID, STREAM, TID, Synthetic

_GLOBAL_PID = (1 << 48) | (PID << 24)
_GLOBAL_TID = _GLOBAL_PID | TID
_COPY_KINDS = {"HtoD": 1, "DtoH": 2}
_SHIFT_NS = 5_209_872_990_427_235  # since Kineto's own base time, as large as real ones are


def write_ktrace(trace: Synthetic, path: Path) -> None:
    """A kerntrace bundle, through the one door into a trace."""
    from kerntrace.trace.builder import TraceBuilder
    from kerntrace.trace.bundle import write_bundle
    from kerntrace.trace.manifest import Capture, WorkloadInfo
    from kerntrace.trace.table import Names

    recipe = trace.recipe
    builder = TraceBuilder(
        producer="kerntrace synthetic",
        epoch_ns=EPOCH_NS,
        clock="synthetic",
        capture=Capture(collector="synthetic", kinds=("kernel", "memcpy", "api", "range"), graph_granularity="node"),
        workload=WorkloadInfo(mode=recipe.mode, batches=(recipe.batch,), dtype="bfloat16"),
    )
    texts = tuple(work.name for work in trace.work)
    is_kernel = trace.is_kernel
    for table, rows in (("kernels", np.flatnonzero(is_kernel)), ("memops", np.flatnonzero(~is_kernel))):
        if len(rows):
            own = _own_columns(trace, rows, texts) if table == "kernels" else _copy_columns(trace, rows, texts)
            builder.add(table, {
                "start_ns": trace.op_start[rows], "end_ns": trace.op_end[rows], "pid": PID, "device_id": DEVICE,
                "stream_id": STREAM, "correlation_id": trace.op_call[rows] + 1, **own,
            })  # fmt: skip
    builder.add("api_calls", {
        "start_ns": trace.call_start, "end_ns": trace.call_end, "pid": PID, "tid": TID, "domain": "runtime",
        "correlation_id": np.arange(1, len(trace.call_start) + 1), "name": Names(trace.call_name, trace.calls),
    })  # fmt: skip
    if len(trace.range_start):
        builder.add("ranges", {
            "start_ns": trace.range_start, "end_ns": trace.range_end, "pid": PID, "tid": TID,
            "name": Names(trace.range_name, trace.names),
        })  # fmt: skip
    write_bundle(builder.build(), path, force=True)


def _own_columns(trace: Synthetic, rows: Any, texts: tuple[str, ...]) -> dict[str, Any]:
    from kerntrace.trace.table import Names

    work, node = trace.op_work[rows], trace.op_node[rows]
    shapes = np.array([(*w.grid, *w.block) for w in trace.work], np.int32)
    columns = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
    return {
        "context_id": CONTEXT,
        "name": Names(work, texts),
        "graph_id": np.where(node, GRAPH, 0),
        "graph_node_id": node,
        "registers_per_thread": 64,
        **{name: shapes[work, column] for column, name in enumerate(columns)},
    }


def _copy_columns(trace: Synthetic, rows: Any, texts: tuple[str, ...]) -> dict[str, Any]:
    from kerntrace.trace.table import Names

    work = trace.op_work[rows]
    return {"kind": Names(work, texts), "bytes": np.array([w.bytes for w in trace.work])[work]}


_NSYS = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
 contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
 demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER,
 registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
 blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
 dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL,
 gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
 contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
 bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
 globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
 category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
"""
_INSERT_KERNEL = (
    f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?1, ?2, {DEVICE}, {CONTEXT}, 0, {STREAM}, ?3, {_GLOBAL_PID}, ?4, ?4,"
    " ?4, 1, 1, 64, ?5, ?6, ?7, ?8, ?9, ?10, 0, 0, 0, 250871808, 0, 0, ?11, 0)"
)
_INSERT_COPY = (
    f"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, {DEVICE}, {CONTEXT}, 0, {STREAM}, ?, {_GLOBAL_PID}, ?, ?,"
    " 1, 2, NULL)"
)
_INSERT_CALL = f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, {_GLOBAL_TID}, ?, ?, 0, NULL)"
_INSERT_RANGE = f"INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, NULL, NULL, NULL, {_GLOBAL_TID}, NULL, ?, 0)"


def write_nsys_sqlite(trace: Synthetic, path: Path) -> None:
    """An export of Nsight Systems 2025.3 (schema 3.20), with the tables and columns that a reader of kernels looks at."""
    path.unlink(missing_ok=True)
    texts = [*(work.name for work in trace.work), *(f"{call}_v7000" for call in trace.calls), *trace.names]
    calls_at, names_at = len(trace.work), len(trace.work) + len(trace.calls)
    is_kernel = trace.is_kernel
    kernel, copy = np.flatnonzero(is_kernel), np.flatnonzero(~is_kernel)
    work = trace.op_work[kernel]
    shape = np.array([(*w.grid, *w.block) for w in trace.work])[work]
    node = [n or None for n in trace.op_node[kernel].tolist()]
    times = (trace.op_start, trace.op_end, trace.op_call + 1)
    kernels = zip(*_lists(*(t[kernel] for t in times), work, *shape.T), node)
    kinds = np.array([_COPY_KINDS.get(w.name, 0) for w in trace.work])[trace.op_work[copy]]
    sizes = np.array([w.bytes for w in trace.work])[trace.op_work[copy]]
    copies = zip(*_lists(*(t[copy] for t in times), sizes, kinds))
    number = np.arange(1, len(trace.call_start) + 1)
    calls = zip(*_lists(trace.call_start, trace.call_end, number, trace.call_name + calls_at))
    ranges = zip(*_lists(trace.range_start, trace.range_end, trace.range_name + names_at))
    with sqlite3.connect(path) as db:
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _NSYS)
        db.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(texts))
        versions = [("EXPORT_PRODUCT_VERSION", "2025.3.2.0"), ("EXPORT_SCHEMA_VERSION", "3.20.3")]
        db.executemany("INSERT INTO META_DATA_EXPORT VALUES (?, ?)", versions)
        db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, NULL, NULL)", (EPOCH_NS,))
        db.executemany(_INSERT_KERNEL, kernels)
        db.executemany(_INSERT_COPY, copies)
        db.executemany(_INSERT_CALL, calls)
        db.executemany(_INSERT_RANGE, ranges)
    db.close()


def _lists(*arrays: Any) -> list[list[int]]:
    return [array.tolist() for array in arrays]


_KINETO_HEAD = f"""{{
  "schemaVersion": 1,
  "deviceProperties": [
    {{
      "id": 0, "name": "synthetic", "numSms": 132
    }}
  ],
  "cuda_runtime_version": 13000,
  "distributedInfo": {{"backend": "nccl", "rank": 0, "world_size": 1}},
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": {EPOCH_NS},
  "traceEvents": [
"""


def write_kineto(trace: Synthetic, path: Path) -> None:
    """A file of torch.profiler, laid out over lines as it does, with the arrows between calls and kernels."""
    with path.open("w") as file:
        file.write(_KINETO_HEAD)
        for number, event in enumerate(_events(trace)):
            file.write((",\n" if number else "") + event)
        file.write(f'\n  ],\n  "traceName": "{path.name}"\n}}\n')


def _events(trace: Synthetic) -> Iterator[str]:
    for start, end, name in zip(*_lists(trace.range_start, trace.range_end, trace.range_name)):
        yield _complete("user_annotation", trace.names[name], PID, TID, start, end, '"Record function id": 0')
    launches = zip(*_lists(trace.call_start, trace.call_end, trace.call_name))
    for number, (start, end, name) in enumerate(launches, 1):
        yield _complete("cuda_runtime", trace.calls[name], PID, TID, start, end, f'"cbid": 211, "correlation": {number}')
        yield _arrow("s", number, PID, TID, start)
    operations = zip(*_lists(trace.op_start, trace.op_end, trace.op_work, trace.op_call + 1, trace.op_node))
    for start, end, number, call, node in operations:
        work = trace.work[number]
        place = f'"device": {DEVICE}, "context": {CONTEXT},\n      "stream": {STREAM}, "correlation": {call}'
        if work.bytes:
            name = f"Memcpy {work.name} ({'Pinned -> Device' if work.name == 'HtoD' else 'Device -> Pinned'})"
            yield _complete("gpu_memcpy", name, DEVICE, STREAM, start, end, f'{place},\n      "bytes": {work.bytes}')
        else:
            more = f',\n      "graph node id": {node}' if node else ""
            yield _complete("kernel", work.name, DEVICE, STREAM, start, end, (
                f'"queued": 0, {place},\n      "registers per thread": 64,\n      "shared memory": 0,\n'
                f'      "grid": [{", ".join(map(str, work.grid))}],\n      "block": [{", ".join(map(str, work.block))}]{more}'
            ))  # fmt: skip
        yield _arrow("f", call, DEVICE, STREAM, start)


def _complete(category: str, name: str, pid: int, tid: int, start: int, end: int, arguments: str) -> str:
    return (
        f'  {{\n    "ph": "X", "cat": "{category}", "name": "{name}", "pid": {pid}, "tid": {tid},\n'
        f'    "ts": {_us(start + _SHIFT_NS)}, "dur": {_us(end - start)},\n    "args": {{\n      {arguments}\n    }}\n  }}'
    )


def _arrow(phase: str, number: int, pid: int, tid: int, at: int) -> str:
    bound = ', "bp": "e"' if phase == "f" else ""
    return (
        f'  {{\n    "ph": "{phase}", "id": {number}, "pid": {pid}, "tid": {tid}, "ts": {_us(at + _SHIFT_NS)},\n'
        f'    "cat": "ac2g", "name": "ac2g"{bound}\n  }}'
    )


def _us(ns: int) -> str:
    """Nanoseconds as the decimal microseconds that Kineto writes."""
    return f"{ns // 1000}.{ns % 1000:03d}"
