"""A small writer of files shaped like Nsight Systems' exports, for tests."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET"
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
GRAPH_TRACE = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
NVTX = "NVTX_EVENTS"
PUSH_POP, START_END, MARK, DOMAIN = 59, 60, 34, 75

_TEXT_COLUMNS = {"value", "text", "jsonText", "devStateName", "utcTime", "localTime"}
_UNSIGNED = {"globalTid", "globalPid", "globalVid", "uint64Value", "domainId"}


def serialised(pid: int, tid: int = 0, vm: int = 1, hardware: int = 0) -> int:
    """nsys' serialised id as SQLite stores it: a signed 64-bit integer."""
    raw = hardware << 56 | vm << 48 | pid << 24 | tid
    return raw - (1 << 64) if raw >> 63 else raw


class Export:
    """The tables of an export, filled row by row and then written in one of the formats.

    Attributes:
        tables: rows by table name, free to be changed before writing.
        ids: the id that StringIds has for a text.
    """

    def __init__(self, schema_version: str = "3.20.3", product_version: str = "2025.3.2.0") -> None:
        self.tables: dict[str, list[Row]] = {
            "META_DATA_EXPORT": [
                {"name": "EXPORT_PRODUCT_NAME", "value": "NVIDIA Nsight Systems"},
                {"name": "EXPORT_PRODUCT_VERSION", "value": product_version},
                {"name": "EXPORT_SCHEMA_VERSION", "value": schema_version},
            ]
        }
        self.ids: dict[str, int] = {}

    def text(self, value: str) -> int:
        return self.ids.setdefault(value, 200 + 3 * len(self.ids))

    def row(self, table: str, **row: Any) -> Row:
        self.tables.setdefault(table, []).append(row)
        return row

    def kernel(self, start: int, end: int, correlation: int = 1, name: str = "gemm", pid: int = 42, **more: Any) -> Row:
        row = {
            "start": start,
            "end": end,
            "deviceId": 0,
            "contextId": 1,
            "streamId": 7,
            "correlationId": correlation,
            "globalPid": serialised(pid),
            "demangledName": self.text(name),
            "shortName": self.text(name.partition("<")[0]),
            "registersPerThread": 32,
            "gridX": 132,
            "gridY": 2,
            "gridZ": 1,
            "blockX": 384,
            "blockY": 1,
            "blockZ": 1,
            "staticSharedMemory": 16,
            "dynamicSharedMemory": 4096,
            "graphNodeId": None,
        }
        return self.row(KERNEL, **{**row, **more})

    def memcpy(self, start: int, end: int, kind: int | None = 1, size: int = 256, correlation: int = 1, **more: Any) -> Row:
        row = {
            "start": start,
            "end": end,
            "deviceId": 0,
            "streamId": 7,
            "correlationId": correlation,
            "globalPid": serialised(42),
            "bytes": size,
            "copyKind": kind,
        }
        return self.row(MEMCPY, **{**row, **more})

    def call(
        self,
        start: int,
        end: int,
        correlation: int = 1,
        name: str = "cudaLaunchKernel_v7000",
        pid: int = 42,
        tid: int = 43,
        kind: int | None = 0,
        **more: Any,
    ) -> Row:
        row = {
            "start": start,
            "end": end,
            "eventClass": kind,
            "globalTid": serialised(pid, tid),
            "correlationId": correlation,
            "nameId": self.text(name),
            "returnValue": 0,
        }
        return self.row(RUNTIME, **{**row, **more})

    def range(self, start: int, end: int | None, name: str | None, pid: int = 42, tid: int = 43, **more: Any) -> Row:
        row = {
            "start": start,
            "end": end,
            "eventType": PUSH_POP,
            "text": name,
            "textId": None,
            "domainId": 0,
            "globalTid": serialised(pid, tid),
        }
        return self.row(NVTX, **{**row, **more})

    def overhead(self, start: int, end: int, name: str, table: str = "PROFILER_OVERHEAD", tid: int = 43) -> Row:
        return self.row(table, start=start, end=end, globalTid=serialised(42, tid), nameId=self.text(name))

    def drop(self, table: str, *columns: str) -> None:
        """Take columns out of a table."""
        for row in self.tables[table]:
            for column in columns:
                row.pop(column, None)

    def complete(self) -> dict[str, list[Row]]:
        """All tables, StringIds among them unless the test made its own."""
        strings = [{"id": number, "value": value} for value, number in self.ids.items()]
        return {**({"StringIds": strings} if strings else {}), **self.tables}

    def sqlite(self, path: Path) -> Path:
        """Write an SQLite file. Columns are nullable and of INTEGER or TEXT affinity, as nsys declares them."""
        db = sqlite3.connect(path)
        for table, rows in self.complete().items():
            names = _columns(rows)
            declared = ", ".join(f'"{name}" {"TEXT" if _is_text(table, name) else "INTEGER"}' for name in names)
            db.execute(f'CREATE TABLE "{table}" ({declared})')
            places = ", ".join("?" * len(names))
            db.executemany(f'INSERT INTO "{table}" VALUES ({places})', [[row.get(name) for name in names] for row in rows])
        db.commit()
        db.close()
        return path

    def parquet(self, folder: Path) -> Path:
        """Write a directory of Parquet files, serialised ids unsigned as nsys has them."""
        folder.mkdir()
        for table, rows in self.complete().items():
            columns = {name: _array(table, name, [row.get(name) for row in rows]) for name in _columns(rows)}
            pq.write_table(pa.table(columns), folder / f"{table}.parquet")
        return folder


def small_export() -> Export:
    """Two eager launches and a copy on one thread, inside a range."""
    export = Export()
    export.range(1_000, 9_000, "step")
    export.call(1_100, 1_200, correlation=11)
    export.call(1_300, 1_450, correlation=12, name="cuLaunchKernelEx", kind=1)
    export.call(1_500, 1_600, correlation=13, name="cudaMemcpyAsync_v3020")
    export.kernel(2_000, 2_500, correlation=11, name="void gemm<float>(int)")
    export.kernel(2_600, 2_800, correlation=12, name="norm")
    export.memcpy(2_900, 3_000, kind=2, correlation=13)
    return export


def _columns(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _is_text(table: str, name: str) -> bool:
    return name in _TEXT_COLUMNS or (name == "name" and table != "ThreadNames")


def _array(table: str, name: str, values: list[Any]) -> pa.Array:
    if _is_text(table, name):
        return pa.array(values, pa.string())
    if name in _UNSIGNED:
        return pa.array([None if value is None else value % (1 << 64) for value in values], pa.uint64())
    return pa.array(values, pa.int64())
