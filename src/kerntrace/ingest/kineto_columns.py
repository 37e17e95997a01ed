"""Columns of a trace's tables from Kineto events of one kind. Room: ingest.

Numbers that place an event (times, ids that join, device, stream) must be numbers, or the file is damaged; what only describes
it (grid, registers, bytes, ...) is null where it is something else, as are a process or a thread known by a name.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kerntrace.ingest.json_stream import BrokenJsonError
from kerntrace.ingest.kineto_events import Args, Event
from kerntrace.ingest.kineto_pairs import Pair
from kerntrace.ingest.kineto_times import NotATimeError, ends, nanoseconds
from kerntrace.trace.table import Ints, Mask

Columns = dict[str, Any]
Where = Callable[[Event], str]  # what to call an event in a message

_NO_ARGS = Args()
_COPY = re.compile(r"\b([HDPA]to[HDPA])\b")
_OLD_COPY = re.compile(r"Copy(Host|Device)To(Host|Device)")
_STREAM = re.compile(r"stream (\d+)")
_NULL = pa.scalar(None, pa.int64())


def kernels(events: list[Event], where: Where) -> Columns:
    """Columns of `kernels`, but for pid, which a kernel event does not have."""
    args = [e.args or _NO_ARGS for e in events]
    columns = _device_work(events, args, where)
    columns["context_id"] = _described([a.context for a in args])
    columns["name"] = pa.array([e.name for e in events], pa.string()).dictionary_encode()  # held to the end: once a name
    for what, triples in (("grid", [a.grid for a in args]), ("block", [a.block for a in args])):
        columns |= {f"{what}_{axis}": sizes for axis, sizes in zip("xyz", _triples(triples))}
    columns["registers_per_thread"] = _described([a.registers for a in args])
    # Kineto writes the sum of static and dynamic shared memory. It stands in one column and the other is null, so that adding
    # the two gives the truth; dynamic, because static is at most 48 KiB and cannot hold every sum.
    columns["dynamic_shared_bytes"] = _described([a.shared_memory for a in args])
    return columns


def memops(events: list[Event], where: Where, *, kind: str | None = None) -> Columns:
    """Columns of `memops`, but for pid. `kind` is for all rows; without it, it is read from each copy's name."""
    args = [e.args or _NO_ARGS for e in events]
    columns = _device_work(events, args, where)
    columns["bytes"] = _described([a.bytes for a in args])
    columns["kind"] = kind or pa.array([_copy_kind(e.name, a.kind) for e, a in zip(events, args)], pa.string())
    return columns


def api_calls(events: list[Event], where: Where, domain: str) -> Columns:
    """Columns of `api_calls`. A call without a time is left out: it places nothing."""
    start, end, timed, ended = _times(events, where)
    events = _those(events, timed)
    args = [e.args or _NO_ARGS for e in events]
    columns = _host_work(events, start[timed], end[timed], ended[timed])
    columns["correlation_id"] = _integers([a.correlation for a in args], events, where, "args.correlation")
    columns["domain"] = domain
    columns["name"] = pa.array([e.name for e in events], pa.string())
    return columns


def ranges(events: list[Event], where: Where) -> Columns:
    """Columns of `ranges`. One without a time is left out."""
    return _ranges(events, *_times(events, where))


def paired_ranges(pairs: list[Pair], where: Where) -> Columns:
    """Columns of `ranges` from events that begin one and events that end it. One that has no time to begin at is left out."""
    begins = [begin for begin, _ in pairs]
    start, timed = _tokens([e.ts for e in begins], begins, "ts", where)
    end, ended = _tokens([e.ts for _, e in pairs], begins, "ts", where)
    return _ranges(begins, start, end, timed, ended)


def overheads(events: list[Event], where: Where) -> Columns:
    """Columns of `overheads`. One without a time or a duration is left out: it covers nothing."""
    start, end, timed, ended = _times(events, where)
    known = timed & ended
    events = _those(events, known)
    columns = _host_work(events, start[known], end[known], ended[known])
    columns["kind"] = pa.array([e.name for e in events], pa.string())
    return columns


def _ranges(events: list[Event], start: Ints, end: Ints, timed: Mask, ended: Mask) -> Columns:
    events = _those(events, timed)
    columns = _host_work(events, start[timed], end[timed], ended[timed])
    columns["name"] = pa.array([e.name for e in events], pa.string())
    return columns


def _device_work(events: list[Event], args: list[Args], where: Where) -> Columns:
    start, end, timed, ended = _times(events, where)
    known = timed & ended
    device = [a.device if a.device is not None else a.in_device for a in args]
    if None in device:  # the event's process is then the device
        device = [_integer(e.pid) if d is None else d for e, d in zip(events, device)]
    stream = [a.stream for a in args]
    if None in stream:
        stream = [_track(e.tid) if s is None else s for e, s in zip(events, stream)]
    return {
        # 0/0 is how a trace says that an operation has no timestamps
        "start_ns": np.where(known, start, 0),
        "end_ns": np.where(known, end, 0),
        "device_id": _integers(device, events, where, "args.device"),
        "stream_id": _integers(stream, events, where, "args.stream"),
        "correlation_id": _integers([a.correlation for a in args], events, where, "args.correlation"),
        "graph_id": _described([a.graph_id for a in args]),
        "graph_node_id": _described([a.graph_node_id for a in args]),
    }


def _host_work(events: list[Event], start: Ints, end: Ints, ended: Mask) -> Columns:
    pid = _described([e.pid for e in events])
    known = pc.greater_equal(pid.fill_null(-1), 0)  # Kineto writes pid -1 and tid 0 where it knows neither
    tid = _described([e.tid for e in events], _thread)
    return {
        "start_ns": start,
        "end_ns": np.ma.array(end, mask=~ended),
        "pid": pc.if_else(known, pid, _NULL),
        "tid": pc.if_else(known, tid, _NULL),
    }


def _times(events: list[Event], where: Where) -> tuple[Ints, Ints, Mask, Mask]:
    """Start, end, and where there is a start and a duration."""
    start, timed = _tokens([e.ts for e in events], events, "ts", where)
    duration, ended = _tokens([e.dur for e in events], events, "dur", where)
    return start, ends(start, duration), timed, ended


def _tokens(tokens: list[msgspec.Raw], events: list[Event], field: str, where: Where) -> tuple[Ints, Mask]:
    try:
        return nanoseconds(tokens)
    except NotATimeError as error:
        raise BrokenJsonError(f"{where(events[error.index])} has a {field} that is not a number") from None


def _those(events: list[Event], keep: Mask) -> list[Event]:
    return events if keep.all() else [e for e, k in zip(events, keep) if k]


def _integers(values: list[Any], events: list[Event], where: Where, field: str) -> pa.Array:
    numbers = _described(values)
    if numbers.null_count:
        for value, number, event in zip(values, numbers.is_valid().to_pylist(), events):
            if value is not None and not number:
                raise BrokenJsonError(f"{where(event)} has an {field} that is not a whole number")
    return numbers


def _integer(value: Any) -> int | None:
    """The int64 that a JSON value stands for: an integer, or a float or a text that is one."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = int(value)
        return number if (isinstance(value, str) or number == value) and -(2**63) <= number < 2**63 else None
    except (ValueError, TypeError, OverflowError):
        return None


def _described(values: list[Any], number_of: Callable[[Any], int | None] = _integer) -> pa.Array:
    """The whole numbers among the values; anything else is null."""
    try:
        return pa.array(np.frombuffer(array("q", values), np.int64))  # takes nothing but integers, and those quickly
    except (TypeError, OverflowError):
        return pa.array([number_of(value) for value in values], pa.int64())


def _thread(tid: Any) -> int | None:
    """A thread's number; an unsigned one beyond int64 keeps its bits, and with them what tells it from others."""
    if isinstance(tid, int) and 2**63 <= tid < 2**64:
        return tid - 2**64
    return _integer(tid)


def _track(tid: Any) -> int | None:
    """The stream that a track is named for: a number, or in old traces a text such as "stream 7"."""
    named = _STREAM.fullmatch(tid) if isinstance(tid, str) else None
    return int(named[1]) if named else _integer(tid)


def _triples(tokens: list[msgspec.Raw]) -> list[pa.Array]:
    """The x, y and z of JSON lists of three numbers, null for anything else. Few lists are distinct: each is read once."""
    coded = pa.array(b"\0".join(tokens).split(b"\0"), pa.binary()).dictionary_encode()
    triples = [_triple(text) for text in coded.dictionary.to_pylist()]
    return [pa.array([triple[n] for triple in triples], pa.int64()).take(coded.indices) for n in range(3)]


def _triple(text: bytes) -> list[int | None]:
    try:
        value = msgspec.json.decode(text) if text else None
    except (msgspec.MsgspecError, ValueError, RecursionError):  # such as a number beyond a double
        value = None
    return [_integer(n) for n in value] if isinstance(value, list) and len(value) == 3 else [None, None, None]


def _copy_kind(name: str | None, kind: Any) -> str | None:
    """HtoD, DtoH, ... from "Memcpy HtoD (Pinned -> Device)", from AMD's `kind`, or from its old "CopyHostToDevice"."""
    for said in (name, kind):
        if isinstance(said, str):
            if found := _COPY.search(said):
                return found[1]
            if old := _OLD_COPY.search(said):
                return f"{old[1][0]}to{old[2][0]}"
    return None
