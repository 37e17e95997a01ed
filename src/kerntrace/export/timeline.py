"""The rows of a timeline made of ranges: what stands on each, in which colour. Room: export."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import numpy as np

from kerntrace.export.findings import Findings
from kerntrace.export.lanes import lanes_of
from kerntrace.export.shift import sane
from kerntrace.export.stretches import Index, Stretches
from kerntrace.trace.model import Trace, devices
from kerntrace.trace.table import Ints, Names, Table, distinct

_GPU_PROCESS = 9_000_000  # and the device's number: above any process id of Linux
_DEVICES = 1_000_000  # numbers that devices may have
_UNKNOWN = -1
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
        process, thread: numbers that stand for it, below 2**24; no other row of the trace has the thread's.
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


def gpu_process(device: int) -> int:
    """The number of a device's process; those whose number is not recorded, or absurd, share one."""
    return _GPU_PROCESS + (device if 0 <= device < _DEVICES else _DEVICES)


def processes_of(trace: Trace, findings: Findings) -> list[Process]:
    """The processes: a device each, and the host's own."""
    found = devices(trace).tolist() or ([findings.device_id] if len(findings.steps) else [])
    gpus = {gpu_process(device): device for device in reversed(found)}
    titles = [Process(number, _titled("GPU", gpus[number])) for number in sorted(gpus)]
    return titles + [Process(number, _titled("process", pid)) for pid, number in _host_processes(trace).items()]


def rows_of(trace: Trace, findings: Findings) -> Iterator[Row]:
    """Every row of the timeline: findings, then the streams of each device, then the threads of the host."""
    threads = count(1000)
    for row in (*finding_rows(findings), *_device_rows(trace), *_host_rows(trace)):
        yield row._replace(thread=next(threads))


def _host_processes(trace: Trace) -> dict[int, int]:
    """Each process id, and the number that stands for it: itself, unless it is none that Linux gives."""
    pids = sorted({int(p) for t in (trace.api_calls, trace.ranges) for p in distinct(t.ints("pid", null=_UNKNOWN))})
    other = count(_GPU_PROCESS + _DEVICES + 1)
    return {pid: pid if 0 <= pid < _GPU_PROCESS else next(other) for pid in pids}


def _titled(what: str, number: int) -> str:
    return what if number == _UNKNOWN else f"{what} {number}"


class _Place(NamedTuple):
    """Where a row goes: as in `Row`."""

    what: str
    process: int
    title: str


def finding_rows(findings: Findings) -> Iterator[Row]:
    """Steps, idle time by cause and by phase, above the streams of their device."""
    process = gpu_process(findings.device_id)
    titles = ("steps", "idle, by cause", "idle, by phase")
    for number, (title, found) in enumerate(zip(titles, (findings.steps, findings.gaps, findings.phases))):
        colours = tuple(_CAUSE_COLOURS.get(name, ("Green", "Red", "Salmon")[number]) for name in found.name.values)
        place = _Place("finding", process, title)
        yield from _laned(place, found, Names(found.name.codes, colours), np.arange(len(found)))


def _device_rows(trace: Trace) -> Iterator[Row]:
    """A row a stream, or several where its operations overlap: kernels, blue or, replayed from a graph, purple, and memops."""
    tables = (trace.kernels, trace.memops)

    def together(column: str, null: int = 0) -> Ints:
        return np.concatenate([table.ints(column, null=null).astype(np.int64) for table in tables])

    names = _together(trace.kernels.names("name"), trace.memops.names("kind"))
    whole = Stretches(together("correlation_id", -1), sane(together("start_ns")), sane(together("end_ns")), names)
    replayed = np.concatenate([table.valid("graph_node_id") for table in tables])
    timed = np.concatenate([table.valid("start_ns") & table.valid("end_ns") for table in tables]) & (whole.end >= whole.start)
    colour = np.where(np.arange(len(whole)) >= len(trace.kernels), 2, replayed.astype(np.int64)).astype(np.int32)
    device, stream = together("device_id", _UNKNOWN), together("stream_id", _UNKNOWN)
    for on_device, on_stream in _distinct(device, stream):
        rows = np.flatnonzero((device == on_device) & (stream == on_stream) & timed)
        place = _Place("work", gpu_process(on_device), _titled("stream", on_stream))
        yield from _laned(place, _some(whole, rows), Names(colour[rows], ("Blue", "Purple", "Teal")), rows)


def _host_rows(trace: Trace) -> Iterator[Row]:
    """For each host thread its NVTX ranges and its CUDA API calls."""
    processes = _host_processes(trace)
    last = max([int(sane(t.ints("end_ns")).max()) for t in (trace.kernels, trace.api_calls, trace.ranges) if len(t)], default=0)
    for what, table, title, payload, colour in (
        ("range", trace.ranges, "NVTX", "payload", "DarkGreen"),
        ("call", trace.api_calls, "CUDA API", "correlation_id", "DarkOrange"),
    ):
        pid, tid = (table.ints(name, null=_UNKNOWN).astype(np.int64) for name in ("pid", "tid"))
        whole = _host(table, payload, last)
        for of_process, of_thread in _distinct(pid, tid):
            rows = np.flatnonzero((pid == of_process) & (tid == of_thread) & table.valid("start_ns"))
            place = _Place(what, processes[of_process], _titled(title, of_thread))
            yield from _laned(place, _some(whole, rows), Names(np.zeros(len(rows), np.int32), (colour,)), rows)


def _distinct(first: Ints, second: Ints) -> list[tuple[int, int]]:
    """The pairs that occur, ascending. Most columns hold few values, which are told without sorting pairs."""
    return [(a, b) for a in distinct(first).tolist() for b in distinct(second[first == a]).tolist()]


def _host(table: Table, payload: str, last: int) -> Stretches:
    """A host table; what had not ended goes on to the end of the recording."""
    start = sane(table.ints("start_ns"))
    end = np.where(table.valid("end_ns"), sane(table.ints("end_ns")), np.maximum(last, start))
    return Stretches(table.ints(payload, null=-1), start, np.maximum(end, start), table.names("name"))


def _laned(place: _Place, found: Stretches, colours: Names, source: Index) -> Iterator[Row]:
    lane = lanes_of(found.start, found.end)
    for number in range(int(lane.max()) + 1 if len(lane) else 0):
        rows = np.flatnonzero(lane == number)
        part = _some(found, rows)
        title = place.title if not number else f"{place.title} ({number + 1})"
        colour = Names(colours.codes[rows], colours.values)
        where = (place.what, place.process, 0, title)  # the thread's number is given where all rows are known
        yield Row(*where, source[rows], part.start, part.end, part.name, colour, part.step)


def _some(found: Stretches, rows: Index) -> Stretches:
    """Some of the stretches, with the names that they bear: a trace may have as many names as rows, and many tracks."""
    used, codes = np.unique(found.name.codes[rows], return_inverse=True)
    unnamed = int(len(used) and used[0] < 0)
    names = Names((codes - unnamed).astype(np.int32), tuple(found.name.values[code] for code in used[unnamed:].tolist()))
    return Stretches(found.step[rows], found.start[rows], found.end[rows], names)


def _together(first: Names, second: Names) -> Names:
    codes = np.where(second.codes < 0, -1, second.codes + len(first.values))
    return Names(np.concatenate([first.codes, codes]).astype(np.int32), (*first.values, *second.values))
