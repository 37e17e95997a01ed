"""An export carries environment, command lines and names of people and machines; a bundle made of it carries none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.ingest.nsys_files import Export, serialised, small_export

from kerntrace.ingest.nsys_parquet import ParquetSource
from kerntrace.ingest.nsys_sqlite import SqliteSource
from kerntrace.ingest.open_any import open_any
from kerntrace.trace.bundle import read_bundle, write_bundle

SECRET = "s3cr3t-t0k3n"


def telling_export() -> Export:
    export = small_export()
    export.text(f"HF_TOKEN={SECRET}")  # StringIds of real exports hold such texts, which no event refers to
    export.tables["TARGET_INFO_SYSTEM_ENV"] = [
        {"globalVid": 1, "devStateName": "DeviceEnvironment", "name": "HF_TOKEN", "nameEnum": 1, "value": SECRET},
        {"globalVid": 1, "devStateName": "Hostname", "name": f"host-{SECRET}", "nameEnum": 2, "value": f"host-{SECRET}"},
    ]
    export.tables["META_DATA_CAPTURE"] = [
        {"name": "PROCESS_0:ENVIRONMENT_VARIABLE", "value": f"HF_TOKEN={SECRET}"},
        {"name": "PROCESS_0:COMMAND", "value": f"python serve.py --api-key {SECRET}"},
        {"name": "DEVICE_DISPLAY_NAME", "value": f"host-{SECRET}"},
        {"name": "CUDA_GRAPH_TRACE_OPTIONS:MODE", "value": "Node"},
    ]
    export.tables["META_DATA_EXPORT"] += [
        {"name": "EXPORT_PARAM_INPUT_FILE", "value": f"/home/{SECRET}/report.nsys-rep"},
        {"name": "EXPORT_PARAM_OUTPUT_FILE", "value": f"/home/{SECRET}/report.sqlite"},
    ]
    export.tables["META_DATA_EXPORT"][1]["value"] = f"2025.3 built by {SECRET}"
    export.tables["PROCESSES"] = [{"globalPid": serialised(42), "pid": 42, "name": f"/home/{SECRET}/python"}]
    export.tables["ThreadNames"] = [{"nameId": export.text(f"thread-{SECRET}"), "priority": 1, "globalTid": serialised(42, 43)}]
    export.row("DIAGNOSTIC_EVENT", text=f"3 CUDA events were dropped by {SECRET}", severity=2)
    export.range(100, None, f"mark {SECRET}", eventType=34)
    export.overhead(1, 2, f"Lazy function loading {SECRET}", "CUPTI_ACTIVITY_KIND_OVERHEAD")
    return export


def as_sqlite(export: Export, tmp_path: Path) -> Path:
    return export.sqlite(tmp_path / "x.sqlite")


def as_parquet(export: Export, tmp_path: Path) -> Path:
    return export.parquet(tmp_path / "x_pqtdir")


@pytest.mark.parametrize("write", [as_sqlite, as_parquet])
def test_nothing_of_it_gets_into_a_bundle(tmp_path: Path, write: Callable[[Export, Path], Path]) -> None:
    trace = open_any(write(telling_export(), tmp_path))
    bundle = tmp_path / "x.ktrace"
    write_bundle(trace, bundle)
    assert len(read_bundle(bundle).kernels) == 2
    assert trace.manifest.capture.graph_granularity == "node"
    assert trace.manifest.capture.dropped_records == 3
    for file in bundle.iterdir():
        assert SECRET.encode() not in file.read_bytes()
        if file.suffix == ".parquet":  # compressed: also look at every text, and at every dictionary whether used or not
            for column in pq.read_table(file, read_dictionary=["name", "kind", "domain"]).columns:
                for chunk in column.chunks:
                    assert SECRET not in str(getattr(chunk, "dictionary", chunk).to_pylist())


def test_nothing_of_it_is_held_in_memory_either(tmp_path: Path) -> None:
    trace = open_any(as_sqlite(telling_export(), tmp_path))
    assert SECRET not in repr(trace.manifest)
    for table in trace.tables().values():
        for column in table.arrow_table().columns:
            for chunk in column.chunks:
                assert SECRET not in str(getattr(chunk, "dictionary", chunk).to_pylist())


@pytest.mark.parametrize(("write", "source"), [(as_sqlite, SqliteSource), (as_parquet, ParquetSource)])
def test_what_is_not_needed_is_not_even_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Export, Path], Path], source: Any
) -> None:
    read: dict[str, str] = {}
    real = source.read

    def spied(self: Any, table: str, *args: Any, **kwargs: Any) -> Iterator[Any]:
        for batch in real(self, table, *args, **kwargs):
            read[table] = read.get(table, "") + str(batch.to_pylist())
            yield batch

    monkeypatch.setattr(source, "read", spied)
    open_any(write(telling_export(), tmp_path))
    assert not {"TARGET_INFO_SYSTEM_ENV", "PROCESSES", "ThreadNames"} & set(read)
    assert "CUDA_GRAPH_TRACE_OPTIONS:MODE" in read["META_DATA_CAPTURE"]
    assert SECRET not in read["META_DATA_CAPTURE"]


def test_the_check_would_see_it(tmp_path: Path) -> None:
    """The text of a range is the user's own and does get in: what the tests above look at is the right place."""
    export = telling_export()
    export.range(3, 4, f"range {SECRET}")
    trace = open_any(as_sqlite(export, tmp_path))
    assert SECRET in str(trace.ranges.arrow("name").to_pylist())
