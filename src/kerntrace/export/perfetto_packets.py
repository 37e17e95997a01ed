"""Slices and counters as Perfetto's packets. Room: export.

The numbers are those of trace_packet.proto, track_event.proto and debug_annotation.proto, each named at its place:
https://perfetto.dev/docs/reference/trace-packet-proto.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kerntrace.export import perfetto_wire as wire
from kerntrace.export.stretches import Index, ragged
from kerntrace.trace.launches import join_launches
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints, Mask

SEQUENCE = 1
ABOUTS = ("step", "payload", "correlation")  # what the number of a slice is, itself by number, from 1
_ABOUT = {"finding": 1, "range": 2, "work": 3, "call": 3}
_NEEDS = 2  # TracePacket.SequenceFlags: incremental state needed
_BEGIN, _END, _COUNTER = 1, 2, 4  # TrackEvent.Type


class Slices(NamedTuple):
    """Begins and ends of slices of a track, in order. Arrays of one length.

    Attributes:
        time: in ns, not negative.
        begins: whether one begins.
        name: its number.
        payload: a number of its own, -1 where it has none.
    """

    time: Ints
    begins: Mask
    name: Ints
    payload: Ints


class Flows(NamedTuple):
    """Arrows of some slices: how many each has, and which, those of the first slice first."""

    counts: Ints
    numbers: npt.NDArray[np.integer]


def slice_packets(slices: Slices, what: str, track: int, flows: Flows) -> bytes:
    """A packet each.

    Args:
        what: as in `timeline.Row`; arrows end at work and leave from all else.
    """
    opens, rows = slices.begins, len(slices.time)
    number = opens & (slices.payload >= 0)
    event: list[wire.Field] = [
        wire.message_field(  # TrackEvent.debug_annotations
            4,
            wire.constant_field(1, _ABOUT[what], rows, number),  # DebugAnnotation.name_iid
            wire.varint_field(4, slices.payload, number),  # DebugAnnotation.int_value
        ),
        wire.varint_field(9, np.where(opens, _BEGIN, _END)),  # TrackEvent.type
        wire.varint_field(10, slices.name, opens),  # TrackEvent.name_iid
        wire.constant_field(11, track, rows),  # TrackEvent.track_uuid
    ]
    if len(flows.numbers):
        ends = what == "work"
        event.append(wire.fixed64_fields(48 if ends else 47, flows.numbers, flows.counts))  # terminating_flow_ids, flow_ids
    return _packets(slices.time, event)


def counter_packets(time: Ints, value: Ints, track: int) -> bytes:
    """A packet each time that a counter changes.

    Args:
        time: in ns, not negative.
    """
    rows = len(time)
    event: list[wire.Field] = [
        wire.constant_field(9, _COUNTER, rows),  # TrackEvent.type
        wire.constant_field(11, track, rows),  # TrackEvent.track_uuid
        wire.varint_field(30, value),  # TrackEvent.counter_value
    ]
    return _packets(time, event)


def _packets(time: Ints, event: list[wire.Field]) -> bytes:
    rows = len(time)
    packet = wire.message_field(  # Trace.packet
        1,
        wire.varint_field(8, time),  # TracePacket.timestamp
        wire.constant_field(10, SEQUENCE, rows),  # TracePacket.trusted_packet_sequence_id
        wire.message_field(11, *event),  # TracePacket.track_event
        wire.constant_field(13, _NEEDS, rows),  # TracePacket.sequence_flags
    )
    return wire.serialised(packet)


class Arrows:
    """Which arrows leave each API call and which one ends at each operation. An arrow is the operation's number, from 1."""

    def __init__(self, trace: Trace) -> None:
        launches = join_launches(trace)
        of = np.concatenate([launches.of_kernels, launches.of_memops])
        order = np.argsort(of, kind="stable")
        self._bounds = np.searchsorted(of[order], np.arange(len(trace.api_calls) + 1, dtype=of.dtype))
        self._leaving = order + 1
        self._has_one = of >= 0

    def of(self, what: str, source: Index, begins: Mask) -> Flows:
        """The arrows of slices; the ends of slices have none.

        Args:
            source: of each, its row in the table it comes from, as in `timeline.Row`.
        """
        if what == "work":
            ending = begins & self._has_one[source]
            return Flows(ending.astype(np.int64), source[ending] + 1)
        if what != "call":
            return Flows(np.zeros(len(source), np.int64), np.zeros(0, np.int64))
        first = self._bounds[source]
        counts: Ints = np.where(begins, self._bounds[source + 1] - first, 0)
        call, place = ragged(counts)
        return Flows(counts, self._leaving[first[call] + place])
