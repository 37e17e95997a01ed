"""A trace as Perfetto's own protobuf: no JSON limits, proper nesting, arrows to every node. Room: export.

Tracks and names go through the `perfetto` package's classes, slices and counters through `perfetto_wire`.
Schema: https://perfetto.dev/docs/reference/trace-packet-proto (TrackEvent).
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from kerntrace.errors import UsageError
from kerntrace.export.counters import Counter, count_operations
from kerntrace.export.findings import Findings
from kerntrace.export.lanes import told
from kerntrace.export.perfetto_packets import ABOUTS, SEQUENCE, Arrows, Slices, counter_packets, slice_packets
from kerntrace.export.shift import shift_of
from kerntrace.export.stretches import Index
from kerntrace.export.timeline import Row, gpu_process, processes_of, rows_of
from kerntrace.trace.model import Trace

_AT_A_TIME = 1 << 16  # packets, so that what is in the making stays small
_NAMES = 256  # that are told at a time
_CLEARED = 1  # TracePacket.SequenceFlags: incremental state cleared
_EXPLICIT = 3  # TrackDescriptor.ChildTracksOrdering
_UNNAMED = "(unnamed)"
_LONGEST = 20_000  # characters of a name: more than any C++ template has


def write_perfetto(trace: Trace, findings: Findings, path: Path) -> None:
    """Write the trace.

    Raises:
        UsageError: if the `perfetto` package is not installed.
    """
    try:
        messages = import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    except ImportError:
        raise UsageError(
            "--format perfetto needs the perfetto package, which is not installed",
            "pip install 'kerntrace[perfetto]', or use --format chrome, which ui.perfetto.dev opens too.",
        ) from None
    with path.open("wb") as file:
        _Writing(trace, file, messages.Trace).write(findings)


class _Writing:
    """Writes a track at a time. Names go by number, told before their first use."""

    def __init__(self, trace: Trace, file: IO[bytes], block_type: Any) -> None:
        self.trace = trace
        self.shift = shift_of(trace).ns
        self._file = file
        self._type = block_type
        self._names: dict[str, int] = {}
        self._tracks = 0
        self._arrows = Arrows(trace)

    def write(self, findings: Findings) -> None:
        self._begin()
        processes = {}
        for place, (number, title) in enumerate(processes_of(self.trace, findings)):
            processes[number] = self._track(title, place=place)
        for place, row in enumerate(rows_of(self.trace, findings)):
            self._row(row, self._track(row.title, processes[row.process], place))
        for found in count_operations(self.trace):
            process = processes[gpu_process(found.device)]
            self._count(found.waiting, self._track("launched, not started", process, 5, is_counter=True))
            self._count(found.running, self._track("running", process, 6, is_counter=True))

    def _row(self, row: Row, track: int) -> None:
        """The events of a track, in the order in which they nest."""
        names = self._numbers((*row.name.values, _UNNAMED))
        of, begins = told(row.start, row.end)
        for low in range(0, len(of), _AT_A_TIME):
            part = slice(low, low + _AT_A_TIME)
            chosen, opens = of[part], begins[part]
            time = np.where(opens, row.start[chosen], row.end[chosen]) + self.shift
            slices = Slices(time, opens, names[row.name.codes[chosen]], row.payload[chosen])
            self._file.write(slice_packets(slices, row.what, track, self._arrows.of(row.what, row.source[chosen], opens)))

    def _count(self, counter: Counter, track: int) -> None:
        for low in range(0, len(counter.time), _AT_A_TIME):
            part = slice(low, low + _AT_A_TIME)
            self._file.write(counter_packets(counter.time[part] + self.shift, counter.value[part], track))

    def _begin(self) -> None:
        """The packet that clears what is known by number, and tells what the numbers of slices are about."""
        block = self._type()
        packet = self._packet(block)
        packet.sequence_flags = _CLEARED
        for number, about in enumerate(ABOUTS, 1):
            packet.interned_data.debug_annotation_names.add(iid=number, name=about)
        self._file.write(block.SerializeToString())

    def _track(self, title: str, parent: int = 0, place: int = 0, *, is_counter: bool = False) -> int:
        self._tracks += 1
        block = self._type()
        described = self._packet(block).track_descriptor
        described.uuid = self._tracks
        described.name = title[:_LONGEST]
        described.sibling_order_rank = place
        described.child_ordering = _EXPLICIT
        if parent:
            described.parent_uuid = parent
        if is_counter:
            described.counter.unit_name = "operations"
        self._file.write(block.SerializeToString())
        return self._tracks

    def _numbers(self, names: Iterable[str]) -> Index:
        """The number of each name; those that have none yet get one, which is told."""
        numbers = []
        block = self._type()
        for name in names:
            number = self._names.get(name)
            if number is None:
                number = self._names[name] = len(self._names) + 1
                self._packet(block).interned_data.event_names.add(iid=number, name=name[:_LONGEST])
                if len(block.packet) >= _NAMES:
                    self._file.write(block.SerializeToString())
                    block = self._type()
            numbers.append(number)
        self._file.write(block.SerializeToString())
        return np.array(numbers)

    def _packet(self, block: Any) -> Any:
        packet = block.packet.add()
        packet.trusted_packet_sequence_id = SEQUENCE
        return packet
