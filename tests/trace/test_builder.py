"""The one door into a trace: what it cleans, how it orders, what it refuses."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.random_traces import recordings
from tests.support.recording import Recording

from kerntrace.errors import UnreadableError
from kerntrace.trace.builder import TraceBuilder
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Names


def rows(trace: Trace, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[c] for c in columns) for row in trace.table(table).arrow_table().to_pylist()]


def test_times_are_counted_from_the_first_event_of_any_table() -> None:
    made = Recording()
    made.kernel(1_000_500, 1_000_600)
    made.call(1_000_450, 1_000_455, 1)
    made.range(1_000_400, None, "r")
    trace = made.build(epoch_ns=10**18)
    assert trace.manifest.epoch_ns == 10**18 + 1_000_400
    assert rows(trace, "kernels", "start_ns", "end_ns") == [(100, 200)]
    assert rows(trace, "api_calls", "start_ns", "end_ns") == [(50, 55)]
    assert rows(trace, "ranges", "start_ns", "end_ns") == [(0, None)]


def test_a_source_without_an_epoch_keeps_none() -> None:
    made = Recording()
    made.kernel(500, 600)
    assert made.build().manifest.epoch_ns is None


@pytest.mark.parametrize("stray", [2**63 - 2, -(2**63), 0])
def test_one_stray_time_is_not_what_the_others_are_counted_from(stray: int) -> None:
    made = Recording()
    base = 1_700_000_000_000_000_000
    for n in range(4):
        made.kernel(base + n, base + n + 1)
    made.kernel(stray, stray + 1)
    starts = {start for (start,) in rows(made.build(), "kernels", "start_ns")}
    assert {0, 1, 2, 3} <= starts
    assert len(starts) == 5


def test_two_zero_timestamps_are_missing_ones() -> None:
    made = Recording()
    made.kernel(0, 0)
    made.memop(0, 0)
    made.kernel(0, 5)
    trace = made.build()
    assert rows(trace, "kernels", "start_ns", "end_ns") == [(0, 5), (None, None)]
    assert rows(trace, "memops", "start_ns", "end_ns") == [(None, None)]


def test_an_id_of_zero_is_no_id() -> None:
    made = Recording()
    made.kernel(1, 2, 0, graph_id=0, graph_node_id=0)
    made.memop(1, 2, 0, graph_id=0, graph_node_id=0)
    made.call(1, 2, 0)
    trace = made.build()
    for table in ("kernels", "memops"):
        assert rows(trace, table, "correlation_id", "graph_id", "graph_node_id") == [(None, None, None)]
    assert rows(trace, "api_calls", "correlation_id") == [(None,)]


def test_api_names_lose_their_suffix_and_say_what_they_are() -> None:
    made = Recording()
    made.call(1, 2, 1, "cudaLaunchKernel_v7000", domain=None)
    made.call(2, 3, 2, "cuLaunchKernel_ptsz", domain=None)
    made.call(3, 4, 3, "cudaMemcpyAsync_v3020", domain="driver")
    made.call(4, 5, 4, domain=None)["name"] = None
    assert rows(made.build(), "api_calls", "name", "domain", "is_launch") == [
        ("cudaLaunchKernel", "runtime", True),
        ("cuLaunchKernel", "driver", True),
        ("cudaMemcpyAsync", "driver", False),
        (None, "runtime", False),
    ]


def test_of_calls_that_begin_together_the_outer_comes_first() -> None:
    made = Recording()
    made.call(10, 20, 1, "cuLaunchKernel")
    made.call(10, 20, 1, "cudaLaunchKernel")
    made.call(10, 30, 2, "cuLaunchKernel")
    made.call(10, None, 3, "cudaGraphLaunch")
    assert rows(made.build(), "api_calls", "end_ns", "domain") == [
        (None, "runtime"),
        (20, "driver"),
        (10, "runtime"),
        (10, "driver"),
    ]


def test_batches_may_lack_columns() -> None:
    builder = TraceBuilder(producer="x")
    builder.add("kernels", {"start_ns": [10], "end_ns": [20], "name": ["a"]})
    builder.add("kernels", {"start_ns": np.array([5]), "end_ns": np.array([6]), "pid": 3, "name": "b", "correlation_id": None})
    builder.add("kernels", {"start_ns": [], "end_ns": []})
    assert rows(builder.build(), "kernels", "start_ns", "pid", "name", "correlation_id") == [
        (0, 3, "b", None),
        (5, None, "a", None),
    ]


def test_every_form_of_a_column() -> None:
    builder = TraceBuilder(producer="x")
    builder.add(
        "memops",
        {
            "start_ns": np.ma.masked_array([7, 8, 9], mask=[False, True, False]),
            "end_ns": pa.array([10, None, 12]),
            "bytes": pa.chunked_array([pa.array([1, 2]), pa.array([None], pa.int64())]),
            "kind": Names(np.array([1, -1, 0], np.int32), ("DtoH", "HtoD")),
            "stream_id": np.array([2**64 - 1, 0, 1], np.uint64),
            "device_id": np.int64(4),
        },
    )
    found = rows(builder.build(), "memops", "start_ns", "end_ns", "bytes", "kind", "stream_id", "device_id")
    assert found == [(0, 3, 1, "HtoD", -1, 4), (2, 5, None, "DtoH", 1, 4), (None, None, 2, None, 0, 4)]


def test_the_builder_is_empty_after_building() -> None:
    builder = TraceBuilder(producer="x")
    builder.add("kernels", {"start_ns": [1], "end_ns": [2]})
    assert len(builder.build().kernels) == 1
    assert len(builder.build().kernels) == 0


@pytest.mark.parametrize(
    "columns",
    [
        {"start_ns": ["soon"], "end_ns": [1]},
        {"start_ns": [2**70], "end_ns": [1]},
        {"start_ns": [1], "end_ns": [1], "pid": [2**31]},
        {"start_ns": [1], "end_ns": [1], "name": ["\ud800"]},
        {"start_ns": [1], "end_ns": [1], "name": [5]},
        {"start_ns": np.array([np.nan]), "end_ns": [1]},
    ],
)
def test_a_value_that_its_column_cannot_hold_is_named(columns: dict[str, Any]) -> None:
    with pytest.raises(UnreadableError, match=r"^column (start_ns|pid|name) of kernels holds a value") as caught:
        TraceBuilder(producer="x").add("kernels", columns)
    assert "\n" not in caught.value.what


def test_columns_of_other_tables_or_lengths_are_our_own_mistake() -> None:
    builder = TraceBuilder(producer="x")
    with pytest.raises(ValueError, match="no column"):
        builder.add("kernels", {"start_ns": [1], "tid": [1]})
    with pytest.raises(ValueError, match="length"):
        builder.add("kernels", {"start_ns": [1], "end_ns": [1, 2]})


def test_building_nothing_gives_an_empty_trace() -> None:
    trace = TraceBuilder(producer="x", epoch_ns=5).build()
    assert {name: len(table) for name, table in trace.tables().items()} == dict.fromkeys(trace.tables(), 0)
    assert trace.manifest.epoch_ns == 5


@settings(max_examples=settings().max_examples // 4)
@given(recordings(), st.randoms(use_true_random=False), st.integers(1, 5))
def test_rows_come_out_in_one_order_however_they_came_in(recording: Recording, rng: random.Random, batches: int) -> None:
    expected = {name: table.arrow_table().to_pylist() for name, table in recording.build().tables().items()}
    builder = TraceBuilder(producer="x")
    for table, given_rows in recording.rows.items():
        rng.shuffle(given_rows)
        for part in (given_rows[n::batches] for n in range(batches)):
            if part:
                builder.add(table, {c: [row[c] for row in part] for c in part[0]})
    trace = builder.build()
    assert {name: table.arrow_table().to_pylist() for name, table in trace.tables().items()} == expected
