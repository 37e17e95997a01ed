"""The events of a trace as Chrome trace events, a block of rows at a time. Room: export."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kerntrace.export.correlations import Correlations
from kerntrace.export.counters import Counter, count_operations
from kerntrace.export.json_text import Part, TextColumn, field, joined, microseconds, quoted, whole
from kerntrace.export.shift import sane, shift_of
from kerntrace.trace.launches import join_launches
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints, Mask, Table

_ROWS = 1 << 16
_TEXT = 1 << 26  # bytes that the names of a block may take
_UNNAMED = quoted("(unnamed)")
NO_DEVICE = quoted("GPU")  # the process of device work whose device is not recorded; Kineto's is the device's number
_FIELDS = (("registers per thread", "registers_per_thread"), ("graph id", "graph_id"), ("graph node id", "graph_node_id"))


class EventWriter:
    """Makes the events of a trace. Every event begins with a comma: something stands before it."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.shift = shift_of(trace).ns
        self._ids = Correlations(trace)

    def kernels(self) -> Iterator[pa.Array]:
        table = self.trace.kernels
        names = TextColumn(table.names("name"), _UNNAMED)
        shared = table.ints("static_shared_bytes").astype(np.int64) + table.ints("dynamic_shared_bytes")
        sized = table.valid("static_shared_bytes") | table.valid("dynamic_shared_bytes")
        sizes = {what: _sizes(table, what) for what in ("grid", "block")}
        for part in _parts(len(table), names):
            fields = [_field(table, name, source, part) for name, source in _FIELDS]
            fields += [field("shared memory", shared[part], sized[part]), *(column.rows(part) for column in sizes.values())]
            yield self._work(table, part, ['"kernel","name":', names.rows(part)], fields)

    def memops(self) -> Iterator[pa.Array]:
        table = self.trace.memops
        names = TextColumn(table.names("kind"), f'"gpu_memcpy","name":{quoted("Memcpy")}', _memop)
        for part in _parts(len(table), names):
            fields = [_field(table, name, source, part) for name, source in (*_FIELDS[1:], ("bytes", "bytes"))]
            yield self._work(table, part, [names.rows(part)], fields)

    def _work(self, table: Table, part: slice, name: list[Part], fields: list[Part]) -> pa.Array:
        """Device work: on the track of its stream, in the process of its device."""
        known = table.valid("start_ns")[part] & table.valid("end_ns")[part]
        start, end = sane(table.ints("start_ns")[part]), sane(table.ints("end_ns")[part])
        device = _device(table, part)
        first = ['{"device":', pc.if_else(pc.equal(device, NO_DEVICE), "null", device)]
        more = [_field(table, "context", "context_id", part)] if "context_id" in table.schema.names else []
        more += [_field(table, "stream", "stream_id", part), self._ids.field(table, part)]
        ts = microseconds(np.where(known, np.maximum(start + self.shift, 0), 0))
        dur = microseconds(np.where(known, np.maximum(end - start, 0), 0))
        track = [',"pid":', device, ',"tid":', whole(table.ints("stream_id")[part]), ',"ts":', ts, ',"dur":', dur]
        return joined([',\n{"ph":"X","cat":', *name, *track, ',"args":', *first, *more, *fields, "}}"])

    def calls(self) -> Iterator[pa.Array]:
        table = self.trace.api_calls
        names = TextColumn(table.names("name"), _UNNAMED)
        category = TextColumn(table.names("domain"), '"cuda_runtime"', lambda domain: quoted(f"cuda_{domain}"))
        for part in _parts(len(table), names):
            arguments = ['{"cbid":0', self._ids.field(table, part), "}"]
            yield self._host(table, part, [category.rows(part)], names.rows(part), arguments)

    def ranges(self) -> Iterator[pa.Array]:
        table = self.trace.ranges
        names, domain = TextColumn(table.names("name"), _UNNAMED), TextColumn(table.names("domain"), "null")
        for part in _parts(len(table), names, domain):
            arguments = ['{"domain":', domain.rows(part), _field(table, "payload", "payload", part), "}"]
            yield self._host(table, part, ['"user_annotation"'], names.rows(part), arguments)

    def overheads(self) -> Iterator[pa.Array]:
        table = self.trace.overheads
        names = TextColumn(table.names("kind"), _UNNAMED)
        for part in _parts(len(table), names):
            yield self._host(table, part, ['"overhead"'], names.rows(part), ["{}"])

    def _host(self, table: Table, part: slice, category: list[Part], name: pa.Array, arguments: list[Part]) -> pa.Array:
        """What a host thread did; without a duration where it had not ended."""
        start, end = sane(table.ints("start_ns")[part]), sane(table.ints("end_ns")[part])
        ended = pa.array(table.valid("end_ns")[part])
        dur = joined([',"dur":', microseconds(np.maximum(end - start, 0))])
        times = [',"ts":', microseconds(np.maximum(start + self.shift, 0)), pc.if_else(ended, dur, "")]
        track = [',"name":', name, *_thread(table, part), *times]
        return joined([',\n{"ph":"X","cat":', *category, *track, ',"args":', *arguments, "}"])

    def arrows(self) -> Iterator[pa.Array]:
        """An arrow from each call to everything it launched: one begins at the call, one or many end at its work."""
        launches, calls = join_launches(self.trace), self.trace.api_calls
        launching = np.zeros(len(calls), dtype=bool)
        for table, of in ((self.trace.kernels, launches.of_kernels), (self.trace.memops, launches.of_memops)):
            launching[of[of >= 0]] = True
            ends = table.where((of >= 0) & table.valid("start_ns") & table.valid("end_ns"))
            for part in _parts(len(ends)):
                track = [',"pid":', _device(ends, part), ',"tid":', whole(ends.ints("stream_id")[part])]
                yield self._arrow("f", ends, part, [*track, ',"bp":"e"'])
        begins = calls.where(launching)
        for part in _parts(len(begins)):
            yield self._arrow("s", begins, part, _thread(begins, part))

    def _arrow(self, phase: str, table: Table, part: slice, track: list[Part]) -> pa.Array:
        ts = microseconds(np.maximum(sane(table.ints("start_ns")[part]) + self.shift, 0))
        head = f',\n{{"ph":"{phase}","cat":"ac2g","name":"ac2g","id":'
        return joined([head, whole(self._ids.numbers(table)[part]), *track, ',"ts":', ts, "}"])

    def counters(self) -> Iterator[pa.Array]:
        for found in count_operations(self.trace):
            pid = str(found.device) if found.device >= 0 else NO_DEVICE
            yield from self._counter(found.waiting, f'{pid},"name":"launched, not started","args":{{"operations":')
            yield from self._counter(found.running, f'{pid},"name":"running","args":{{"operations":')

    def _counter(self, counter: Counter, place: str) -> Iterator[pa.Array]:
        for part in _parts(len(counter.time)):
            ts = microseconds(np.maximum(counter.time[part] + self.shift, 0))
            yield joined([',\n{"ph":"C","pid":' + place, whole(counter.value[part]), '},"ts":', ts, "}"])


def _parts(count: int, *columns: TextColumn) -> Iterator[slice]:
    """Blocks of rows, smaller where a column's texts are long."""
    rows = max(1, min(_ROWS, _TEXT // max([1, *(column.longest for column in columns)])))
    for low in range(0, count, rows):
        yield slice(low, min(low + rows, count))


def _field(table: Table, name: str, source: str, part: slice) -> pa.Array:
    return field(name, table.ints(source)[part], table.valid(source)[part])


def _device(table: Table, part: slice) -> pa.Array:
    numbers: Ints = table.ints("device_id")[part]
    known: Mask = table.valid("device_id")[part]
    return whole(numbers) if known.all() else pc.if_else(pa.array(known), whole(numbers), NO_DEVICE)


def _thread(table: Table, part: slice) -> list[Part]:
    """The track of a host thread; -1 is how Kineto says that the process is not known."""
    return [',"pid":', whole(table.ints("pid", null=-1)[part]), ',"tid":', whole(table.ints("tid", null=0)[part])]


def _memop(kind: str) -> str:
    name = "Memset (Device)" if kind == "memset" else f"Memcpy {kind}"
    return f'"{"gpu_memset" if kind == "memset" else "gpu_memcpy"}","name":{quoted(name)}'


class _sizes:
    """`,"grid":[x,y,z]` of each row, nothing where it is not known; few sizes are distinct, and each is written once."""

    def __init__(self, table: Table, what: str) -> None:
        axes = [f"{what}_{axis}" for axis in "xyz"]
        known = np.logical_and.reduce([table.valid(axis) for axis in axes])
        key = np.zeros(len(table), np.int64)
        for axis in axes:  # three 21-bit numbers: the largest grid is 2**31 - 1 by 65535 by 65535, folded without loss below
            key = np.unique(key, return_inverse=True)[1] * np.int64(2**32) + table.ints(axis)
        _, first, self._codes = np.unique(key, return_index=True, return_inverse=True)
        columns = [table.ints(axis)[first].tolist() for axis in axes]
        written = [f',"{what}":[{x},{y},{z}]' for x, y, z in zip(*columns)]
        self._known = known
        self._texts = pa.array([*written, ""], pa.large_string())
        self._codes = np.where(known, self._codes, len(written))

    def rows(self, part: slice) -> pa.Array:
        return self._texts.take(pa.array(self._codes[part]))
