"""Nsight Systems' directory of Parquet files: integer widths, damage, and what its columns may not hold."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.ingest.nsys_files import KERNEL, NVTX, RUNTIME, serialised, small_export

from kerntrace.errors import UnreadableError
from kerntrace.ingest.nsys_parquet import is_nsys_parquet, read_nsys_parquet


def replace(folder: Path, table: str, column: str, values: pa.Array) -> None:
    file = folder / f"{table}.parquet"
    whole = pq.read_table(file)
    pq.write_table(whole.set_column(whole.schema.get_field_index(column), column, values), file)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_export().parquet(tmp_path / "x_pqtdir")


def test_the_directory_is_known_by_its_tables(folder: Path, tmp_path: Path) -> None:
    assert is_nsys_parquet(folder)
    other = tmp_path / "other"
    other.mkdir()
    pq.write_table(pa.table({"x": [1]}), other / "part-0.parquet")
    pq.write_table(pa.table({"x": [1]}), other / "StringIds.parquet")
    assert not is_nsys_parquet(other)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.uint64()])
def test_integers_of_any_width_are_integers(folder: Path, kind: pa.DataType) -> None:
    replace(folder, KERNEL, "deviceId", pa.array([3, 4], kind))
    assert read_nsys_parquet(folder).kernels.arrow("device_id").to_pylist() == [3, 4]


def test_serialised_ids_with_the_highest_bit_are_kept(folder: Path) -> None:
    raw = serialised(42, 43, hardware=0xFF) % (1 << 64)
    replace(folder, RUNTIME, "globalTid", pa.array([raw] * 3, pa.uint64()))
    calls = read_nsys_parquet(folder).api_calls
    assert calls.arrow("pid").to_pylist() == [42] * 3
    assert calls.arrow("tid").to_pylist() == [43] * 3


@pytest.mark.parametrize("kind", [pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_of_any_kind_are_text(folder: Path, kind: pa.DataType) -> None:
    replace(folder, NVTX, "text", pa.array(["step"], pa.string()).cast(kind))
    assert read_nsys_parquet(folder).ranges.arrow("name").to_pylist() == ["step"]


def test_a_column_of_nothing_but_nulls_is_unknown(folder: Path) -> None:
    replace(folder, KERNEL, "graphNodeId", pa.nulls(2))
    replace(folder, NVTX, "text", pa.nulls(1))
    trace = read_nsys_parquet(folder)
    assert trace.kernels.arrow("graph_node_id").to_pylist() == [None, None]
    assert trace.ranges.arrow("name").to_pylist() == [None]


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        (KERNEL, "start", pa.array(["soon", "later"])),
        (KERNEL, "end", pa.array([1.5, 2.0])),
        (KERNEL, "start", pa.array([2**63, 1], pa.uint64())),
        (KERNEL, "start", pa.array([None, 1], pa.int64())),
        (NVTX, "text", pa.array([5])),
        (KERNEL, "correlationId", pa.array([[1], [2]])),
    ],
)
def test_a_value_of_another_type_is_told_by_table_and_column(folder: Path, table: str, column: str, values: pa.Array) -> None:
    replace(folder, table, column, values)
    with pytest.raises(UnreadableError, match=f"column {column} of {table} holds"):
        read_nsys_parquet(folder)


def test_a_missing_required_column_is_named(folder: Path) -> None:
    file = folder / f"{KERNEL}.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["correlationId"]), file)
    with pytest.raises(UnreadableError, match=f"{KERNEL} has no column correlationId"):
        read_nsys_parquet(folder)


@pytest.mark.parametrize("table", [KERNEL, "StringIds", "META_DATA_EXPORT"])
@pytest.mark.parametrize("kept", [0, 3, 200])
def test_a_cut_file_is_named(folder: Path, table: str, kept: int) -> None:
    file = folder / f"{table}.parquet"
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(UnreadableError, match=f"{table}.parquet is damaged"):
        read_nsys_parquet(folder)


def test_damaged_data_are_told_or_read(folder: Path) -> None:
    file = folder / f"{KERNEL}.parquet"
    whole = file.read_bytes()
    told = 0
    for at in range(4, len(whole) - 8, 97):
        file.write_bytes(whole[:at] + b"\xff" * 16 + whole[at + 16 :])
        try:
            read_nsys_parquet(folder)
        except UnreadableError:
            told += 1
    assert told > 5
