"""torch.profiler's JSON (Kineto, Chrome trace events), plain or gzipped, of any size. Room: ingest.

Read as a stream: at most a few blocks of text and their events are held beside the columns. Kernels and copies have no process
in this format; theirs is that of the API call with the same correlation id.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa

from kerntrace.errors import UnreadableError
from kerntrace.ingest import kineto_columns as columns_of
from kerntrace.ingest.json_source import open_text
from kerntrace.ingest.json_stream import BLOCK, ArrayStream, BrokenJsonError
from kerntrace.ingest.kineto_columns import Columns, Where
from kerntrace.ingest.kineto_events import (
    BEGIN,
    DRIVER,
    END,
    KERNELS,
    KINDS,
    MEMCPYS,
    MEMSETS,
    OVERHEADS,
    RANGES,
    RUNTIME,
    WHOLE,
    Event,
    EventDecoder,
)
from kerntrace.ingest.kineto_header import Header, no_trace, read_header
from kerntrace.ingest.kineto_pairs import OpenRanges
from kerntrace.ingest.kineto_processes import Processes
from kerntrace.ingest.own_manifest import with_own
from kerntrace.trace.builder import TraceBuilder
from kerntrace.trace.manifest import Capture
from kerntrace.trace.model import Trace

_ABSOLUTE_NS = 10**18  # times beyond this, the year 2001, are counted from the unix epoch

_ENOUGH = 100_000  # elements, of which one is an event if the file is a trace


def read_kineto(path: Path, *, json_limit: int, block: int = BLOCK) -> Trace:
    """Read a trace that torch.profiler exported, or a bare JSON array of such events.

    Args:
        path: the file, plain or gzipped.
        json_limit: most bytes of JSON, unpacked, to read.
        block: bytes of JSON to take in at a time.

    Raises:
        UnreadableError: if the file is cut, damaged, too large or no trace.
    """
    with open_text(path, json_limit) as read:
        stream = ArrayStream(read, "traceEvents", EventDecoder(), block=block)
        reading = _Reading()
        try:
            for events in stream:
                reading.take(events, stream.index)
                if stream.index > _ENOUGH and not reading.any_phase:
                    raise no_trace()
            header = read_header(stream, any_events=reading.any_phase)
            return reading.trace(header)
        except BrokenJsonError as error:
            raise UnreadableError(f"{path}: {error}", "Export the trace again, or copy the whole file.") from None


class _Reading:
    """What has been read of a trace so far."""

    def __init__(self) -> None:
        self.builder = TraceBuilder(producer="torch.profiler (Kineto)")
        self.any_phase = False
        self._open = OpenRanges()
        self._device_work: list[tuple[str, Columns]] = []  # waits for its processes
        self._calls: list[tuple[pa.Array, pa.Array]] = []  # correlation ids and pids

    def take(self, events: list[Event], first: int) -> None:
        """Add the events of a run, of which the first is number `first` in the file."""
        chosen, halves = _chosen(events)
        self.any_phase = self.any_phase or any(e.ph for e in events)

        def where(event: Event) -> str:
            place = next(n for n, e in enumerate(events) if e is event)
            return f"traceEvents[{first + place}], a {event.cat},"

        for kind, group in chosen.items():
            self._add(kind, group, where)
        if halves:
            self._hand_on("ranges", columns_of.paired_ranges(self._open.closed_by(halves), _half))

    def trace(self, header: Header) -> Trace:
        """The trace of all that was taken in."""
        self._hand_on("ranges", columns_of.paired_ranges(self._open.left(), _half))
        process_of = Processes(self._calls)
        for table, columns in self._device_work:
            self._hand_on(table, columns | {"pid": process_of(columns["correlation_id"])})
        self._device_work = []
        self.builder.environment = header.environment
        self.builder.capture = Capture(collector="kineto", source=f"kineto-json {header.version or ''}".rstrip())
        self.builder.epoch_ns = 0  # so that the trace says at what time of the file's clock it begins
        trace = self.builder.build()
        first_ns = trace.manifest.epoch_ns or 0
        epoch_ns = first_ns if first_ns > _ABSOLUTE_NS else None if header.base_ns is None else header.base_ns + first_ns
        clock = "unknown" if epoch_ns is None else "CLOCK_REALTIME"
        trace = replace(trace, manifest=msgspec.structs.replace(trace.manifest, epoch_ns=epoch_ns, clock=clock))
        return trace if header.own is None else with_own(trace, header.own)

    def _add(self, kind: int, events: list[Event], where: Where) -> None:
        if kind == KERNELS:
            self._device_work.append(("kernels", columns_of.kernels(events, where)))
        elif kind == MEMCPYS:
            self._device_work.append(("memops", columns_of.memops(events, where)))
        elif kind == MEMSETS:
            self._device_work.append(("memops", columns_of.memops(events, where, kind="memset")))
        elif kind in (RUNTIME, DRIVER):
            columns = columns_of.api_calls(events, where, "driver" if kind == DRIVER else "runtime")
            self._calls.append((columns["correlation_id"], columns["pid"]))
            self._hand_on("api_calls", columns)
        elif kind == RANGES:
            self._hand_on("ranges", columns_of.ranges(events, where))
        elif kind == OVERHEADS:
            self._hand_on("overheads", columns_of.overheads(events, where))

    def _hand_on(self, table: str, columns: Columns) -> None:
        try:
            self.builder.add(table, columns)
        except UnreadableError as error:  # which does not know the file's name
            raise BrokenJsonError(error.what) from None


def _half(event: Event) -> str:
    """What to call an event that begins or ends a range, which may be from a run long gone."""
    return f"one of the events that begin or end a {event.cat}"


def _chosen(events: list[Event]) -> tuple[dict[int, list[Event]], list[Event]]:
    """The whole events of interest by kind, and the halves of events of any kind."""
    chosen: dict[int, list[Event]] = {kind: [] for kind in KINDS.values()}
    kind_of = KINDS.get
    for event in events:
        kind = kind_of(event.cat)  # type: ignore[arg-type]  # no category is none of interest
        if kind and event.ph == WHOLE:
            chosen[kind].append(event)
    phases = [e.ph for e in events]
    halves = [e for e in events if e.ph in (BEGIN, END)] if BEGIN in phases or END in phases else []
    return {kind: group for kind, group in chosen.items() if group}, halves
