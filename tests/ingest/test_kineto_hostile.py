"""Hostile names and odd events: those of no interest are passed over, the others read for what they are worth or named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.ingest.kineto_files import (
    Layout,
    annotation,
    call,
    document,
    kernel,
    number,
    opened,
    refusal,
    rows,
    text_of,
    trace_of,
)

FOUR = [call("1", "2"), kernel("4", "1"), annotation("0", "9"), call("7", "1", 6)]

ODD: list[Any] = [
    {"ph": "X", "cat": "Trace", "pid": "Spans", "tid": "PyTorch Profiler", "ts": number("1"), "dur": number("2")},
    {"ph": "i", "name": 5, "pid": None, "ts": "soon", "args": []},
    {"ph": "X", "cat": ["kernel"], "name": {}, "args": "none"},
    {"ph": "X", "cat": None, "name": None, "args": None},
    {"ph": "C", "cat": "kernel", "args": [1]},
    {"ph": 7, "cat": 8},
    {"ph": "M", "args": {"device": number("1e999"), "grid": "a\ud800"}},
    {"ph": "s", "cat": "ac2g", "id": number("NaN"), "args": {"bandwidth": number("-Infinity")}},
    {"ph": "E", "args": 3},
    {},
    [],
    [{"ph": "X"}],
    17,
    "},{",
    None,
]


@pytest.mark.parametrize("block", [10, 300, 1 << 20])
def test_odd_things_of_no_interest_are_passed_over(tmp_path: Path, block: int) -> None:
    mixed = [thing for pair in zip(FOUR * 4, ODD) for thing in pair]
    trace = opened(tmp_path, text_of(document(mixed)), block=block)

    whole = opened(tmp_path, text_of(document((FOUR * 4)[: len(ODD)])))
    for name, table in trace.tables().items():
        assert table.arrow_table() == whole.table(name).arrow_table()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"ts": "soon"}, "has a ts that is not a number"),
        ({"ts": [1, 2]}, "has a ts that is not a number"),
        ({"dur": True}, "has a dur that is not a number"),
        ({"args": [1]}, "has args that are no object"),
        ({"args": "device"}, "has args that are no object"),
        ({"args": {"correlation": "abc"}}, "has an args.correlation that is not a whole number"),
        ({"args": {"correlation": 1.5}}, "has an args.correlation that is not a whole number"),
        ({"args": {"correlation": 2**64}}, "has an args.correlation that is not a whole number"),
        ({"args": {"stream": {}}}, "has an args.stream that is not a whole number"),
        ({"args": {"device": number("1e400")}}, "has an args.device that is not a whole number"),
    ],
)
@pytest.mark.parametrize("block", [200, 1 << 20])
def test_a_kernel_that_cannot_be_placed_is_named_by_its_number(
    tmp_path: Path, change: dict[str, Any], what: str, block: int
) -> None:
    events = [*FOUR, kernel("4", "1") | change, *FOUR]

    assert f"traceEvents[4], a kernel, {what}" in refusal(tmp_path, text_of(document(events)), block=block)


def test_a_number_too_wide_for_its_column_is_refused_with_the_columns_name(tmp_path: Path) -> None:
    wide = text_of(document([kernel("4", "1", args={"device": 2**40})]))

    assert "column device_id of kernels" in refusal(tmp_path, wide)


def test_a_begin_without_a_sound_time_is_refused(tmp_path: Path) -> None:
    begin = {"ph": "B", "cat": "user_annotation", "name": "a", "pid": 1, "tid": 1, "ts": "soon"}
    end = {"ph": "E", "pid": 1, "tid": 1, "ts": number("5")}

    for events in ([begin], [begin, end]):
        assert "begin or end a user_annotation has a ts" in refusal(tmp_path, text_of(document(events)))


def test_what_only_describes_a_kernel_is_null_where_it_is_odd(tmp_path: Path) -> None:
    args: dict[str, Any] = {"device": 0.0, "stream": "7", "correlation": 5, "context": "main", "grid": "grid(1,1,1)"}
    args |= {"block": [1, "2", None], "registers per thread": 1.5, "shared memory": True, "graph id": [], "bytes": 1}
    short = kernel("5", "1", args={"grid": [1, 2], "block": [3, 2, 1]})
    endless = kernel("6", "1", args={"grid": [1, number("1e999"), 1], "block": [number("NaN"), 2, 1]})
    trace = trace_of(tmp_path, kernel("4", "1", args=args), short, endless)

    columns = ("device_id", "stream_id", "context_id", "grid_x", "block_x", "block_y", "block_z", "registers_per_thread")
    assert rows(trace.kernels, *columns, "graph_id") == [
        (0, 7, None, None, 1, 2, None, None, None),
        (0, 7, None, None, 3, 2, 1, None, None),
        (0, 7, None, None, None, 2, 1, None, None),
    ]


NAMES = ["<script>&amp;", 'a"b', "a\\", "},{", "]}", "a\nb\tc\0d", "é😀\u2028", "x" * 1_000_000, "", " "]


@pytest.mark.parametrize("block", [64, 4096, 1 << 22])
def test_hostile_names_come_through_unchanged(tmp_path: Path, block: int) -> None:
    for ascii_only in (True, False):
        names = [name for name in NAMES if block > 64 or len(name) < 1000]
        events = [kernel(str(n), "1", name=name) for n, name in enumerate(names)]
        trace = opened(tmp_path, text_of(document(events), Layout(ascii_only=ascii_only)), block=block)

        assert [name for (name,) in rows(trace.kernels, "name")] == names


@pytest.mark.parametrize(
    ("written", "read"),
    [(b"a\xffb", "a\ufffdb"), (b"a\\ud800b", "a?b"), (b"a\tb", "a\tb"), (b"a\\u0000b", "a\0b")],
)
def test_a_name_that_no_encoding_holds_keeps_what_can_be_kept(tmp_path: Path, written: bytes, read: str) -> None:
    trace = opened(tmp_path, text_of(document([*FOUR, kernel("6", "1.25", name="NAME")])).replace(b"NAME", written))

    assert rows(trace.kernels, "start_ns", "end_ns", "name") == [(4000, 5000, "gemm"), (6000, 7250, read)]


def test_a_number_that_json_does_not_know_is_null(tmp_path: Path) -> None:
    odd = kernel("6", "1.25") | {"args": {"correlation": 5, "bandwidth": number("Infinity"), "context": number("NaN")}}
    trace = trace_of(tmp_path, call("1", "1"), odd)

    assert rows(trace.kernels, "end_ns", "correlation_id", "context_id") == [(6250, 5, None)]


def test_odd_begins_and_ends_pair_up_all_the_same(tmp_path: Path) -> None:
    odd = {"pid": 1, "tid": 1, "args": {"value": number("NaN")}}
    halves = [{"ph": "B", "cat": "user_annotation", "name": "a", "ts": number("1.5")}, {"ph": "E", "ts": number("4")}]
    trace = trace_of(tmp_path, *[half | odd for half in halves])

    assert rows(trace.ranges, "start_ns", "end_ns", "name") == [(0, 2500, "a")]


def test_nesting_beyond_reason_is_refused(tmp_path: Path) -> None:
    deep = text_of(document([*FOUR, {"ph": "i", "args": "DEEP"}])).replace(b'"DEEP"', b"[" * 300_000 + b"]" * 300_000)

    assert "traceEvents[4] is nested too deeply" in refusal(tmp_path, deep)


@pytest.mark.parametrize("at", ["1e300", "-1e300", "9223372036854775.807", "-9223372036854775.808", "99999999999999999999"])
def test_absurd_times_stay_within_the_trace_for_the_checks_to_find(tmp_path: Path, at: str) -> None:
    events = [kernel("4", "1"), kernel(at, "5", 6), kernel("8", at, 7), call(at, at), annotation(at, at)]
    trace = trace_of(tmp_path, *events)

    assert sorted(correlation for (correlation,) in rows(trace.kernels, "correlation_id")) == [5, 6, 7]
    assert (len(trace.api_calls), len(trace.ranges)) == (1, 1)


def test_a_hundred_thousand_threads_are_read(tmp_path: Path) -> None:
    calls = b",".join(
        b'{"ph":"X","cat":"cuda_runtime","name":"f","pid":1,"tid":%d,"ts":%d,"dur":1}' % (n, n) for n in range(100_000)
    )
    trace = opened(tmp_path, b"[" + calls + b"]")

    assert len(set(rows(trace.api_calls, "tid"))) == 100_000
