"""The rows of a timeline made of ranges: what stands on each, in which colour. Room: export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kerntrace.export.findings import Findings
from kerntrace.export.lanes import lanes_of
from kerntrace.export.stretches import Index, Stretches
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints, Names, Table

GPU_PROCESS = 9_000_000  # and the device's number: above any process id of Linux
_CAUSE_COLOURS = {
    "host_wait": "Red",
    "launch_call": "DarkOrange",
    "launch_latency": "Gold",
    "device_gap": "Gray",
    "profiler": "Purple",
    "unattributed": "Black",
}


class Row(NamedTuple):
    """A row of the timeline. The arrays are of one length; its ranges nest properly.

    Attributes:
        what: finding, work (of a device), range or call.
        process, thread: numbers that stand for it.
        title: what it is called.
        source: of each range, its row in the table it comes from; work counts memops after kernels.
        start, end: in ns.
        name, colour: of each range.
        payload: a number of each range, -1 where it has none.
    """

    what: str
    process: int
    thread: int
    title: str
    source: Index
    start: Ints
    end: Ints
    name: Names
    colour: Names
    payload: Ints


class Process(NamedTuple):
    """A process that has rows."""

    number: int
    title: str


def processes_of(trace: Trace, findings: Findings) -> list[Process]:
    """The processes: a device each, and the host's own."""
    devices = sorted({int(d) for t in (trace.kernels, trace.memops) for d in np.unique(t.ints("device_id", null=-1))})
    found = [Process(GPU_PROCESS + max(device, 0), f"GPU {max(device, 0)}") for device in devices]
    if len(findings.steps) and not devices:
        found.append(Process(GPU_PROCESS, "GPU 0"))
    pids = sorted({int(p) for t in (trace.api_calls, trace.ranges) for p in np.unique(t.ints("pid", null=0))})
    return found + [Process(pid, f"process {pid}") for pid in pids]


class _Place(NamedTuple):
    """Where a row goes: as in `Row`."""

    what: str
    process: int
    thread: int
    title: str


def finding_rows(findings: Findings) -> Iterator[Row]:
    """Steps, idle time by cause and by phase, above the streams of their device."""
    process = GPU_PROCESS + max(findings.device_id, 0)
    titles = ("steps", "idle, by cause", "idle, by phase")
    for number, (title, found) in enumerate(zip(titles, (findings.steps, findings.gaps, findings.phases))):
        colours = tuple(_CAUSE_COLOURS.get(name, ("Green", "Red", "Salmon")[number]) for name in found.name.values)
        place = _Place("finding", process, 10 + 10 * number, title)
        yield from _laned(place, found, Names(found.name.codes, colours), np.arange(len(found)))


def device_rows(trace: Trace) -> Iterator[Row]:
    """A row a stream, or several where its operations overlap: kernels, blue or, replayed from a graph, purple, and memops."""
    tables = (trace.kernels, trace.memops)

    def together(column: str, null: int = 0) -> Ints:
        return np.concatenate([table.ints(column, null=null).astype(np.int64) for table in tables])

    names = _together(trace.kernels.names("name"), trace.memops.names("kind"))
    whole = Stretches(together("correlation_id", -1), together("start_ns"), together("end_ns"), names)
    replayed = np.concatenate([table.valid("graph_node_id") for table in tables])
    timed = np.concatenate([table.valid("start_ns") & table.valid("end_ns") for table in tables]) & (whole.end >= whole.start)
    colour = np.where(np.arange(len(whole)) >= len(trace.kernels), 2, replayed.astype(np.int64)).astype(np.int32)
    device, stream = together("device_id"), together("stream_id")
    for number, (on_device, on_stream) in enumerate(_distinct(device, stream)):
        rows = np.flatnonzero((device == on_device) & (stream == on_stream) & timed)
        place = _Place("work", GPU_PROCESS + on_device, 1000 + 100 * number, f"stream {on_stream}")
        yield from _laned(place, _some(whole, rows), Names(colour[rows], ("Blue", "Purple", "Teal")), rows)


def host_rows(trace: Trace) -> Iterator[Row]:
    """For each host thread its NVTX ranges and its CUDA API calls."""
    last = max([int(t.ints("end_ns").max()) for t in (trace.kernels, trace.api_calls, trace.ranges) if len(t)], default=0)
    for what, table, title, payload, colour in (
        ("range", trace.ranges, "NVTX", "payload", "DarkGreen"),
        ("call", trace.api_calls, "CUDA API", "correlation_id", "DarkOrange"),
    ):
        pid, tid = (table.ints(name, null=0).astype(np.int64) for name in ("pid", "tid"))
        whole = _host(table, payload, last)
        for number, (of_process, of_thread) in enumerate(_distinct(pid, tid)):
            rows = np.flatnonzero((pid == of_process) & (tid == of_thread) & table.valid("start_ns"))
            thread = 10_000 + 1000 * number + (500 if what == "call" else 0)
            place = _Place(what, of_process, thread, f"{title} {of_thread}")
            yield from _laned(place, _some(whole, rows), Names(np.zeros(len(rows), np.int32), (colour,)), rows)


def _distinct(first: Ints, second: Ints) -> list[tuple[int, int]]:
    return [(a, b) for a, b in np.unique(np.stack([first, second]), axis=1).T.tolist()] if len(first) else []


def _host(table: Table, payload: str, last: int) -> Stretches:
    """A host table; what had not ended goes on to the end of the recording."""
    start = table.ints("start_ns")
    end = np.where(table.valid("end_ns"), table.ints("end_ns"), np.maximum(last, start))
    return Stretches(table.ints(payload, null=-1), start, np.maximum(end, start), table.names("name"))


def _laned(place: _Place, found: Stretches, colours: Names, source: Index) -> Iterator[Row]:
    lane = lanes_of(found.start, found.end)
    for number in range(int(lane.max()) + 1 if len(lane) else 0):
        rows = np.flatnonzero(lane == number)
        part = _some(found, rows)
        title = place.title if not number else f"{place.title} ({number + 1})"
        colour = Names(colours.codes[rows], colours.values)
        where = (place.what, place.process, place.thread + number, title)
        yield Row(*where, source[rows], part.start, part.end, part.name, colour, part.step)


def _some(found: Stretches, rows: Index) -> Stretches:
    return Stretches(found.step[rows], found.start[rows], found.end[rows], Names(found.name.codes[rows], found.name.values))


def _together(first: Names, second: Names) -> Names:
    codes = np.where(second.codes < 0, -1, second.codes + len(first.values))
    return Names(np.concatenate([first.codes, codes]).astype(np.int32), (*first.values, *second.values))
