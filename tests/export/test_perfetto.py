"""Perfetto's protobuf, parsed back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.export.roundtrip import exported
from tests.support.bundles import hostile_run
from tests.support.recording import decode_run

from kerntrace.errors import UsageError
from kerntrace.trace.launches import join_launches
from kerntrace.trace.model import Trace

BEGIN, END, COUNTER = 1, 2, 4


def packets(trace: Trace, folder: Path) -> list[Any]:
    messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    found = messages.Trace()
    found.ParseFromString(exported(trace, "perfetto", folder / "t.pftrace").read_bytes())
    return list(found.packet)


def test_tracks_nest_and_hold_every_event(tmp_path: Path) -> None:
    trace = decode_run(graph=True).build()
    names: dict[int, str] = {}
    tracks: dict[int, str] = {}
    stacks: dict[int, list[int]] = {}
    counts: dict[str, int] = {}
    for packet in packets(trace, tmp_path):
        names |= {entry.iid: entry.name for entry in packet.interned_data.event_names}
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor.name
        event = packet.track_event
        if event.type == BEGIN:
            stacks.setdefault(event.track_uuid, []).append(packet.timestamp)
            assert event.name_iid in names
            counts[tracks[event.track_uuid]] = counts.get(tracks[event.track_uuid], 0) + 1
        elif event.type == END:
            assert stacks[event.track_uuid].pop() <= packet.timestamp
    assert not any(stacks.values())
    assert counts["stream 7"] == len(trace.kernels) + len(trace.memops)
    assert counts["CUDA API 70"] == len(trace.api_calls)
    assert {"steps", "idle, by cause", "idle, by phase", "NVTX 70", "running"} <= set(tracks.values())


def test_arrows_lead_from_a_launch_to_each_of_its_nodes(tmp_path: Path) -> None:
    trace = decode_run(graph=True, steps=2).build()
    found = [packet.track_event for packet in packets(trace, tmp_path)]
    leaving = [flow for event in found for flow in event.flow_ids]
    ending = [flow for event in found for flow in event.terminating_flow_ids]
    launches = join_launches(trace)
    assert sorted(leaving) == sorted(ending)
    assert len(set(leaving)) == len(leaving) == int((launches.of_kernels >= 0).sum() + (launches.of_memops >= 0).sum())
    assert max(len(event.flow_ids) for event in found) == 12


def test_a_slice_says_its_step_or_the_id_of_its_launch(tmp_path: Path) -> None:
    trace = decode_run().build()
    abouts: dict[int, str] = {}
    tracks: dict[int, str] = {}
    told: dict[str, list[tuple[str, int]]] = {}
    for packet in packets(trace, tmp_path):
        abouts |= {entry.iid: entry.name for entry in packet.interned_data.debug_annotation_names}
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor.name
        for note in packet.track_event.debug_annotations:
            told.setdefault(tracks[packet.track_event.track_uuid], []).append((abouts[note.name_iid], note.int_value))
    assert told["steps"] == [("step", number) for number in range(len(told["steps"]))]
    calls = trace.api_calls
    assert told["CUDA API 70"] == [("correlation", id) for id in calls.ints("correlation_id").tolist()]
    works = sorted([*trace.kernels.ints("correlation_id").tolist(), *trace.memops.ints("correlation_id").tolist()])
    assert sorted(told["stream 7"]) == [("correlation", id) for id in works]


def test_hostile_names_are_only_names(tmp_path: Path) -> None:
    names = {e.name for packet in packets(hostile_run().build(), tmp_path) for e in packet.interned_data.event_names}
    assert "<script>alert(1)</script>" in names
    assert max(map(len, names)) == 20_000


def test_without_the_package_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "perfetto.protos.perfetto.trace.perfetto_trace_pb2", None)
    with pytest.raises(UsageError, match="perfetto package"):
        exported(decode_run().build(), "perfetto", tmp_path / "t.pftrace")
