"""Whole traces against a slow reader: the standard library's JSON, exact decimals, one event at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ingest.kineto_files import BASE_NS, Layout, document, number, opened, rows, text_of

from kerntrace.trace.model import Trace

AWKWARD = [
    "},{",
    '"',
    "\\",
    '\\"',
    "[{",
    '"traceEvents":[',
    "\n",
    "é",
    "😀",
    "<b>",
    "Memcpy HtoD (Pinned -> Device)",
    "stream 7",
]
names = st.lists(st.sampled_from(AWKWARD), max_size=3).map("".join)
UNIX, UPTIME = 1_796_067_426_000_000, 5_209_872_990_000  # us: times since 1970, and times since a base
times = st.tuples(st.integers(0, 10**9), st.text("0123456789", min_size=1, max_size=5))
durations = st.builds("{}.{:03d}".format, st.integers(0, 10**6), st.integers(0, 999)).map(number) | st.integers(0, 99)
small = st.integers(0, 9)
described = small | st.none() | st.sampled_from(["7", "x", 2.5, 3.0])
triples = st.none() | st.lists(small, min_size=3, max_size=3) | st.lists(small, max_size=2) | st.just("grid(1,1,1)")
arguments = st.fixed_dictionaries(
    {},
    optional={
        "External id": small,
        "correlation": small | st.none() | st.integers(2**31, 2**40),
        "device": small | st.none(),
        "stream": small | st.none(),
        "context": described,
        "grid": triples,
        "block": triples,
        "registers per thread": described,
        "shared memory": described,
        "graph id": described,
        "graph node id": st.integers(0, 2**62) | described,
        "bytes": st.integers(0, 2**40) | described,
        "name": names,
        "other": st.lists(st.dictionaries(names, names, max_size=2), max_size=2),
    },
)
CATEGORIES = ["kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "user_annotation", "overhead"]
events = st.fixed_dictionaries(
    {
        "ph": st.sampled_from(["X", "X", "X", "X", "i", "s", "f", "M"]),
        "cat": st.sampled_from([*CATEGORIES, "cpu_op", "gpu_user_annotation", "python_function"]),
        "name": names,
        "pid": st.sampled_from([0, 1, 7, 7, 7, 8, "7", "Spans", -1]),
        "tid": st.sampled_from([0, 7, 9, "stream 7", "x", 2**40]),
        "ts": times,
        "dur": durations,
        "args": arguments,
    }
)
layouts = st.builds(Layout, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans(), compact=st.booleans())


@given(
    st.lists(events, max_size=15),
    st.sampled_from([UNIX, UPTIME]),
    layouts,
    st.sampled_from([40, 200, 1000, 1 << 20]),
    st.booleans(),
)
def test_a_trace_is_read_as_a_slow_reader_reads_it(
    tmp_path_factory: pytest.TempPathFactory, listed: list[dict[str, Any]], zero: int, layout: Layout, block: int, packed: bool
) -> None:
    timed = [event | {"ts": number(f"{zero + event['ts'][0]}.{event['ts'][1]}")} for event in listed]
    text = text_of(document(timed), layout)
    trace = opened(tmp_path_factory.getbasetemp(), text, packed=packed, block=block)

    origin = (trace.manifest.epoch_ns or 0) - (BASE_NS if zero == UPTIME else 0)
    for table, columns in COLUMNS.items():
        expected = sorted(_expected(text, table), key=repr)
        assert sorted(_counted_from_zero(trace, table, columns, origin), key=repr) == expected


DEVICE = ("start_ns", "end_ns", "pid", "device_id", "stream_id", "correlation_id", "graph_id", "graph_node_id")
KERNEL = ("name", "context_id", "registers_per_thread", "dynamic_shared_bytes")
SIZES = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
HOST = ("start_ns", "end_ns", "pid", "tid")
COLUMNS = {
    "kernels": (*DEVICE, *KERNEL, *SIZES),
    "memops": (*DEVICE, "kind", "bytes"),
    "api_calls": (*HOST, "correlation_id", "domain", "name"),
    "ranges": (*HOST, "name"),
    "overheads": (*HOST, "kind"),
}


def _counted_from_zero(trace: Trace, table: str, columns: tuple[str, ...], origin: int) -> Iterator[tuple[Any, ...]]:
    for start, end, *others in rows(trace.table(table), *columns):
        yield None if start is None else start + origin, None if end is None else end + origin, *others


def _expected(text: bytes, table: str) -> Iterator[tuple[Any, ...]]:
    read = json.loads(text, parse_float=Decimal)["traceEvents"]
    whole = [event for event in read if event["ph"] == "X"]
    for event in whole:
        start = _ns(event["ts"])
        end = start + _ns(event["dur"])
        category, args, name = event["cat"], event["args"], event["name"]
        pid = _whole(event["pid"])
        host = (start, end, pid, _whole(event["tid"])) if pid is not None and pid >= 0 else (start, end, None, None)
        if category == "kernel" and table == "kernels":
            facts = [_whole(args.get(key)) for key in ("context", "registers per thread", "shared memory")]
            yield *_device(whole, event, start, end), name, *facts, *_triple(args.get("grid")), *_triple(args.get("block"))
        elif category in ("gpu_memcpy", "gpu_memset") and table == "memops":
            copy = "HtoD" if "Memcpy HtoD" in name else None
            kind = "memset" if category == "gpu_memset" else copy
            yield *_device(whole, event, start, end), kind, _whole(args.get("bytes"))
        elif category in ("cuda_runtime", "cuda_driver") and table == "api_calls":
            yield *host, args.get("correlation") or None, category.removeprefix("cuda_"), name
        elif (category == "user_annotation" and table == "ranges") or (category == "overhead" and table == "overheads"):
            yield *host, name


def _device(whole: list[Any], event: Any, start: int, end: int) -> tuple[Any, ...]:
    args = event["args"]
    correlation = args.get("correlation")
    calls = [e for e in whole if e["cat"] in ("cuda_runtime", "cuda_driver") and (_whole(e["pid"]) or 0) > -1]
    known = [(e["args"].get("correlation"), _whole(e["pid"])) for e in calls if _whole(e["pid"]) is not None]
    pids = {pid for _, pid in known}
    if len(pids) != 1:
        pids = {pid for id, pid in known if id is not None and id == correlation}
    device = args.get("device")
    stream = args.get("stream")
    return (
        start,
        end,
        pids.pop() if len(pids) == 1 else None,
        _whole(event["pid"]) if device is None else device,
        (7 if event["tid"] == "stream 7" else _whole(event["tid"])) if stream is None else stream,
        correlation or None,  # an id of 0 is none
        _whole(args.get("graph id")) or None,
        _whole(args.get("graph node id")) or None,
    )


def _ns(micros: Decimal | int) -> int:
    return round(Fraction(micros) * 1000)


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        return int(value) if value.isdigit() else None
    return None if value is None or value != int(value) else int(value)


def _triple(value: Any) -> list[int | None]:
    return value if isinstance(value, list) and len(value) == 3 else [None, None, None]
