"""A trace as Perfetto's own protobuf, through the `perfetto` package: no JSON limits, proper nesting, arrows to every node.

Room: export. Schema: https://perfetto.dev/docs/reference/trace-packet-proto (TrackEvent).
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from kerntrace.errors import UsageError
from kerntrace.export.counters import Counter, count_operations
from kerntrace.export.findings import Findings
from kerntrace.export.lanes import told
from kerntrace.export.shift import shift_of
from kerntrace.export.timeline import GPU_PROCESS, Row, device_rows, finding_rows, host_rows, processes_of
from kerntrace.trace.launches import join_launches
from kerntrace.trace.model import Trace

_PACKETS = 4096  # a block of the file
_SEQUENCE = 1
_CLEARED, _NEEDS = 1, 2  # TracePacket.SequenceFlags: incremental state cleared, and needed
_BEGIN, _END, _COUNTER = 1, 2, 4  # TrackEvent.Type
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
    """Writes packets in blocks. Names go by number after their first use."""

    def __init__(self, trace: Trace, file: IO[bytes], block_type: Any) -> None:
        self.trace = trace
        self.shift = shift_of(trace).ns
        self._file = file
        self._type = block_type
        self._block = block_type()
        self._names: dict[str, int] = {}
        self._tracks = 0
        self._arrows = _Arrows(trace)

    def write(self, findings: Findings) -> None:
        self._packet().sequence_flags = _CLEARED
        processes = {}
        for place, (number, title) in enumerate(processes_of(self.trace, findings)):
            processes[number] = self._track(title, place=place)
        for place, row in enumerate((*finding_rows(findings), *device_rows(self.trace), *host_rows(self.trace))):
            self._row(row, self._track(row.title, processes[row.process], place))
        for found in count_operations(self.trace):
            process = processes[GPU_PROCESS + max(found.device, 0)]
            self._count(found.waiting, self._track("launched, not started", process, 5, is_counter=True))
            self._count(found.running, self._track("running", process, 6, is_counter=True))
        self._flush()

    def _row(self, row: Row, track: int) -> None:
        """The events of a track, in the order in which they nest."""
        names = [self._name(value) for value in row.name.values]
        names.append(self._name(_UNNAMED))
        of, begins = told(row.start, row.end)
        time = np.where(begins, row.start[of], row.end[of]) + self.shift
        columns = (time, begins, row.name.codes[of], row.payload[of], row.source[of])
        about = "step" if row.what == "finding" else "payload" if row.what == "range" else "correlation"
        for at, opens, code, payload, source in zip(*(column.tolist() for column in columns)):
            packet = self._packet(at)
            event = packet.track_event
            event.track_uuid = track
            event.type = _BEGIN if opens else _END
            if not opens:
                continue
            event.name_iid = names[code]
            if payload >= 0:
                note = event.debug_annotations.add()
                note.name = about
                note.int_value = payload
            if row.what == "work" and (arrow := self._arrows.ending[source]):
                event.terminating_flow_ids.append(arrow)
            elif row.what == "call":
                event.flow_ids.extend(self._arrows.leaving(source))

    def _count(self, counter: Counter, track: int) -> None:
        for at, value in zip((counter.time + self.shift).tolist(), counter.value.tolist()):
            event = self._packet(at).track_event
            event.track_uuid = track
            event.type = _COUNTER
            event.counter_value = value

    def _track(self, title: str, parent: int = 0, place: int = 0, *, is_counter: bool = False) -> int:
        self._tracks += 1
        described = self._packet().track_descriptor
        described.uuid = self._tracks
        described.name = title[:_LONGEST]
        described.sibling_order_rank = place
        described.child_ordering = _EXPLICIT
        if parent:
            described.parent_uuid = parent
        if is_counter:
            described.counter.unit_name = "operations"
        return self._tracks

    def _name(self, text: str) -> int:
        number = self._names.get(text)
        if number is None:
            number = self._names[text] = len(self._names) + 1
            entry = self._packet().interned_data.event_names.add()
            entry.iid, entry.name = number, text[:_LONGEST]
        return number

    def _packet(self, at: int | None = None) -> Any:
        if len(self._block.packet) >= _PACKETS:
            self._flush()
        packet = self._block.packet.add()
        packet.trusted_packet_sequence_id = _SEQUENCE
        if at is not None:
            packet.timestamp = max(at, 0)
            packet.sequence_flags = _NEEDS
        return packet

    def _flush(self) -> None:
        self._file.write(self._block.SerializeToString())
        self._block = self._type()


class _Arrows:
    """Which arrows leave each API call and which one ends at each operation. An arrow is the operation's number, from 1."""

    def __init__(self, trace: Trace) -> None:
        launches = join_launches(trace)
        of = np.concatenate([launches.of_kernels, launches.of_memops])
        order = np.argsort(of, kind="stable")
        bounds = np.searchsorted(of[order], np.arange(len(trace.api_calls) + 1, dtype=of.dtype))
        self._bounds = bounds.tolist()
        self._arrows = (order + 1).tolist()
        self.ending = np.where(of >= 0, np.arange(1, len(of) + 1), 0).tolist()

    def leaving(self, call: int) -> list[int]:
        """The arrows that leave an API call."""
        arrows: list[int] = self._arrows[self._bounds[call] : self._bounds[call + 1]]
        return arrows
