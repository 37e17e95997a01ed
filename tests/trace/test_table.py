"""A table in memory: nulls, texts, parts of it, and what it reads when."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

from kerntrace.trace.schema import API_CALLS, KERNELS, TEXT
from kerntrace.trace.table import Names, Table, distinct


def table() -> Table:
    return Table.of(
        KERNELS,
        {
            "start_ns": pa.chunked_array([pa.array([5, None], pa.int64()), pa.array([2**63 - 1], pa.int64())]),
            "pid": pa.chunked_array([pa.array([1, 2, None], pa.int32())]),
            "name": pa.chunked_array([pa.array(["a", None, "b"]).dictionary_encode().cast(TEXT)]),
        },
    )


def test_nulls_are_told_and_take_the_value_asked_for() -> None:
    made = table()
    assert made.ints("start_ns").tolist() == [5, 0, 2**63 - 1]
    assert made.ints("start_ns", null=-7).tolist() == [5, -7, 2**63 - 1]
    assert made.ints("start_ns").tolist() == [5, 0, 2**63 - 1]  # asked again: views by null do not mix
    assert made.valid("start_ns").tolist() == [True, False, True]
    assert made.ints("pid", null=-1).tolist() == [1, 2, -1]


def test_a_column_that_the_source_lacks_is_there_and_null() -> None:
    made = table()
    assert made.ints("graph_id", null=-1).tolist() == [-1, -1, -1]
    assert not made.has("graph_id")
    assert made.has("pid")
    assert made.names("name").codes.tolist() == [0, -1, 1]
    with pytest.raises(StopIteration):
        made.ints("no_such_column")


def test_texts_are_codes_and_values() -> None:
    names = table().names("name")
    assert names.values == ("a", "b")
    assert [names.text(row) for row in range(len(names))] == ["a", None, "b"]
    asked: list[str] = []

    def is_b(text: str) -> bool:
        asked.append(text)
        return text == "b"

    assert names.where(is_b).tolist() == [False, False, True]
    assert asked == ["a", "b"]  # once a text, and never for null


def test_texts_in_several_chunks_with_dictionaries_of_their_own() -> None:
    chunks = [pa.array(texts).dictionary_encode().cast(TEXT) for texts in (["x", "y"], ["y", None, "z"])]
    names = Table.of(KERNELS, {"name": pa.chunked_array(chunks)}).names("name")
    assert [names.text(row) for row in range(5)] == ["x", "y", "y", None, "z"]
    assert sorted(names.values) == ["x", "y", "z"]


def test_parts_of_a_table() -> None:
    made = table()
    assert made.take(np.array([2, 0, 0])).ints("start_ns").tolist() == [2**63 - 1, 5, 5]
    kept = made.where(np.array([False, True, True]))
    assert len(kept) == 2
    assert kept.names("name").text(0) is None
    assert kept.where(np.zeros(2, dtype=bool)).names("name").values in ((), ("a", "b"))
    assert len(made.take(np.zeros(0, np.intp)).ints("start_ns")) == 0


def test_a_boolean_that_is_null_is_false() -> None:
    made = Table.of(API_CALLS, {"is_launch": pa.chunked_array([pa.array([True, None, False])])})
    assert made.mask("is_launch").tolist() == [True, False, False]
    assert Table.empty(API_CALLS).mask("is_launch").tolist() == []


def test_a_column_is_loaded_once_and_only_when_asked_for() -> None:
    loads: list[list[str]] = []

    def load(names: list[str]) -> Mapping[str, pa.ChunkedArray]:
        loads.append(names)
        return {n: pa.chunked_array([pa.array([1, 2], pa.int64())]) for n in names if n != "context_id"}

    made = Table(KERNELS, 2, load)
    assert not loads
    made.load(["start_ns", "end_ns"])
    made.ints("start_ns")
    made.take(np.array([1])).ints("end_ns")
    made.ints("context_id")
    made.valid("context_id")
    assert loads == [["start_ns", "end_ns"], ["context_id"]]


def test_an_empty_table_has_every_view() -> None:
    made = Table.empty(KERNELS)
    assert len(made) == 0
    assert made.ints("start_ns").dtype == np.int64
    assert made.names("name").values == ()
    assert not made.has("name")
    assert made.valid("name").tolist() == []
    assert made.arrow_table().num_rows == 0


def test_the_arrow_table_has_every_column_of_the_schema() -> None:
    whole = table().arrow_table()
    assert tuple(whole.column_names) == KERNELS.names
    assert whole.column("block_x").null_count == 3


def test_distinct_values_ascend() -> None:
    assert distinct(np.array([3, 1, 3, -5], np.int32)).tolist() == [-5, 1, 3]
    assert distinct(np.array([4, 4, 4], np.int32)).tolist() == [4]
    assert distinct(np.zeros(0, np.int64)).tolist() == []


def test_names_without_rows() -> None:
    assert Names(np.zeros(0, np.int32), ()).where(lambda text: True).tolist() == []
