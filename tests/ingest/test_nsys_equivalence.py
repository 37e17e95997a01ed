"""Random exports: the reader against a slow row-by-row one, and the Parquet directory against the SQLite file."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ingest.nsys_files import DOMAIN, KERNEL, MEMCPY, NVTX, RUNTIME, START_END, Export, Row

from kerntrace.ingest.nsys_parquet import read_nsys_parquet
from kerntrace.ingest.nsys_sqlite import read_nsys_sqlite
from kerntrace.trace.model import Trace

times = st.integers(1, 10**6)
lengths = st.integers(0, 10**4)
pids = st.sampled_from([7, 8, 0xFFFFFF])
tids = st.sampled_from([1, 2, 0xFFFFFF])
small = st.integers(1, 9)
texts = st.sampled_from(["a", "b<c>", "", "ядро", "x\0y", "'\""])
nodes = st.sampled_from([None, 0, 5, 3 << 32 | 1, 4 << 32 | 2])
apis = st.sampled_from(["cudaLaunchKernel_v7000", "cuLaunchKernel", "cudaGraphLaunch_v10000", "cudaMalloc_v3020"])


@st.composite
def exports(draw: st.DrawFn) -> Export:
    export = Export()
    for start, length, correlation, name, pid, node in draw(
        st.lists(st.tuples(times, lengths, small, texts, pids, nodes), max_size=8)
    ):
        export.kernel(start, start + length, correlation, name, pid, graphNodeId=node)
    for start, length, kind, size in draw(st.lists(st.tuples(times, lengths, st.integers(0, 12), small), max_size=4)):
        export.memcpy(start, start + length, kind, size)
    for start, length, correlation, name, pid, tid in draw(
        st.lists(st.tuples(times, lengths, small, apis, pids, tids), max_size=8)
    ):
        export.call(start, start + length, correlation, name, pid, tid, kind=int(name.startswith("cu") and name[2].isupper()))
    for start, length, name, pid, tid, domain, how in draw(
        st.lists(st.tuples(times, lengths, texts, pids, tids, st.integers(0, 2), st.integers(0, 2)), max_size=8)
    ):
        named: Row = {"text": name} if how == 0 else {"text": None, "textId": export.text(name)}
        export.range(
            start, start + length, None, pid, tid, **{**named, "domainId": domain, "eventType": START_END if how == 2 else 59}
        )
    for pid, domain in draw(st.sets(st.tuples(pids, st.integers(1, 2)))):
        export.range(0, None, f"domain {domain} of {pid}", pid, eventType=DOMAIN, domainId=domain)
    return export


def slowly(export: Export) -> dict[str, Counter[tuple[Any, ...]]]:
    """The rows of a trace, worked out one by one, times as the export has them."""
    strings = {number: value for value, number in export.ids.items()}
    domains = {
        (row["globalTid"] >> 24 & 0xFFFFFF, row["domainId"]): row["text"]
        for row in export.tables.get(NVTX, [])
        if row["eventType"] == DOMAIN
    }
    kernels = [
        (
            row["start"],
            row["end"],
            row["globalPid"] >> 24 & 0xFFFFFF,
            row["correlationId"],
            strings[row["demangledName"]],
            (row["graphNodeId"] or 0) >> 32 or None,
            row["graphNodeId"] or None,
        )
        for row in export.tables.get(KERNEL, [])
    ]
    kinds = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
    kinds |= {11: "unified HtoD", 12: "unified DtoH"}
    memops = [(row["start"], row["end"], kinds.get(row["copyKind"]), row["bytes"]) for row in export.tables.get(MEMCPY, [])]
    calls = [
        (
            row["start"],
            row["end"],
            row["globalTid"] >> 24 & 0xFFFFFF,
            row["globalTid"] & 0xFFFFFF,
            row["correlationId"],
            strings[row["nameId"]].partition("_v")[0],
            "driver" if row["eventClass"] else "runtime",
        )
        for row in export.tables.get(RUNTIME, [])
    ]
    ranges = []
    for row in export.tables.get(NVTX, []):
        if row["eventType"] != DOMAIN:
            pid, domain = row["globalTid"] >> 24 & 0xFFFFFF, row["domainId"]
            name = row["text"] if row["text"] is not None else strings[row["textId"]]
            told = domains.get((pid, domain), f"domain {domain}") if domain else None
            ranges.append((row["start"], row["end"], pid, row["globalTid"] & 0xFFFFFF, told, name))
    return {
        name: Counter(rows)
        for name, rows in (("kernels", kernels), ("memops", memops), ("api_calls", calls), ("ranges", ranges))
    }


COLUMNS = {
    "kernels": ("start_ns", "end_ns", "pid", "correlation_id", "name", "graph_id", "graph_node_id"),
    "memops": ("start_ns", "end_ns", "kind", "bytes"),
    "api_calls": ("start_ns", "end_ns", "pid", "tid", "correlation_id", "name", "domain"),
    "ranges": ("start_ns", "end_ns", "pid", "tid", "domain", "name"),
}


def rows_of(trace: Trace, first: int) -> dict[str, Counter[tuple[Any, ...]]]:
    found = {}
    for table, columns in COLUMNS.items():
        values = [trace.table(table).arrow(column).to_pylist() for column in columns]
        found[table] = Counter((start + first, end + first, *rest) for start, end, *rest in zip(*values))
    return found


@settings(max_examples=60, deadline=None)
@given(exports())
def test_the_reader_agrees_with_a_slow_one(export: Export) -> None:
    expected = slowly(export)
    starts = [row[0] for rows in expected.values() for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        trace = read_nsys_sqlite(export.sqlite(Path(folder) / "x.sqlite"))
    assert rows_of(trace, min(starts, default=0)) == expected


@settings(max_examples=40, deadline=None)
@given(exports())
def test_the_parquet_directory_gives_the_same_trace(export: Export) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sqlite = read_nsys_sqlite(export.sqlite(Path(folder) / "x.sqlite"))
        parquet = read_nsys_parquet(export.parquet(Path(folder) / "x_pqtdir"))
    for name, table in sqlite.tables().items():
        assert parquet.table(name).arrow_table().to_pylist() == table.arrow_table().to_pylist()
    assert parquet.manifest.capture.source == "nsys-parquet 3.20.3"
    assert parquet.manifest.producer == sqlite.manifest.producer
