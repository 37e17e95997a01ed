"""The packets that NumPy writes, read by the perfetto package's own parser."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.export import perfetto_wire as wire
from kerntrace.export.perfetto_packets import ABOUTS, SEQUENCE, Flows, Slices, counter_packets, slice_packets

messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

LARGEST = 2**63 - 1
EDGES = [1 << bits for bits in range(0, 57, 7)]
naturals = st.one_of(st.integers(0, LARGEST), st.sampled_from([*EDGES, *(edge - 1 for edge in EDGES)]))
unsigned = st.one_of(st.integers(0, 2**64 - 1), naturals)


class Slice(NamedTuple):
    time: int
    begins: bool
    name: int
    payload: int
    flows: list[int]


slices_of = st.lists(
    st.builds(Slice, naturals, st.booleans(), naturals, st.one_of(st.just(-1), naturals), st.lists(unsigned, max_size=5)),
    max_size=40,
)
ABOUT = {"finding": "step", "range": "payload", "work": "correlation", "call": "correlation"}


def expected(row: Slice, what: str, track: int) -> Any:
    """The packet, made by the package's own classes."""
    packet = messages.TracePacket(timestamp=row.time, trusted_packet_sequence_id=SEQUENCE, sequence_flags=2)
    event = packet.track_event
    event.type = event.TYPE_SLICE_BEGIN if row.begins else event.TYPE_SLICE_END
    event.track_uuid = track
    if row.begins:
        event.name_iid = row.name
        if row.payload >= 0:
            event.debug_annotations.add(name_iid=1 + ABOUTS.index(ABOUT[what]), int_value=row.payload)
    (event.terminating_flow_ids if what == "work" else event.flow_ids).extend(row.flows)
    return packet


def parsed(text: bytes) -> list[Any]:
    found = messages.Trace()
    found.ParseFromString(text)
    return list(found.packet)


@given(slices_of, st.sampled_from(sorted(ABOUT)), st.integers(1, 2**62))
def test_slices_are_the_packages_own_packets(rows: list[Slice], what: str, track: int) -> None:
    slices = Slices(
        np.array([row.time for row in rows], np.int64),
        np.array([row.begins for row in rows], bool),
        np.array([row.name for row in rows], np.int64),
        np.array([row.payload for row in rows], np.int64),
    )
    flows = Flows(
        np.array([len(row.flows) for row in rows], np.int64), np.array([f for row in rows for f in row.flows], np.uint64)
    )
    text = slice_packets(slices, what, track, flows)
    own = [expected(row, what, track) for row in rows]
    assert parsed(text) == own
    assert len(text) == messages.Trace(packet=own).ByteSize()  # nothing besides, and no number longer than it must be


@given(st.lists(st.tuples(naturals, st.integers(-(2**63), LARGEST)), max_size=40), st.integers(1, 2**62))
def test_counters_are_the_packages_own_packets(rows: list[tuple[int, int]], track: int) -> None:
    time, value = (np.array([row[place] for row in rows], np.int64) for place in (0, 1))
    found = parsed(counter_packets(time, value, track))
    assert [(packet.timestamp, packet.track_event.counter_value) for packet in found] == rows
    for packet in found:
        assert packet.track_event.type == messages.TrackEvent.TYPE_COUNTER
        assert packet.track_event.track_uuid == track
        assert (packet.trusted_packet_sequence_id, packet.sequence_flags) == (SEQUENCE, 2)


@given(st.lists(st.one_of(st.none(), unsigned), max_size=30))
def test_a_field_is_only_where_it_is_asked_for(values: list[int | None]) -> None:
    only = np.array([value is not None for value in values], bool)
    numbers = np.array([value or 0 for value in values], np.uint64)
    field = wire.varint_field(8, numbers, only)  # TracePacket.timestamp
    text = wire.serialised(wire.message_field(1, field, wire.constant_field(10, 300, len(values), only)))
    own = [messages.TracePacket(timestamp=v, trusted_packet_sequence_id=300) for v in values if v is not None]
    assert parsed(text) == own  # a message without any field is not there


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 2**32, 2**64 - 1])
def test_one_number(number: int) -> None:
    column = wire.varint_field(1, np.array([number], np.uint64))
    assert wire.serialised(column) == b"\x08" + wire.varint(number)
