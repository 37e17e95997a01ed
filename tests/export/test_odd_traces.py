"""Traces that no recorder should leave, but some do: every format takes them, and what it writes is well-formed."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.export.roundtrip import exported
from tests.support.recording import Playing, Recording, decode_range, decode_run, play_step

from kerntrace.trace.model import Trace

LARGEST, FAR = 2**63 - 1, 2**62


def changed(play: Recording, *tables: str, **values: Any) -> Recording:
    """The recording, with these values in every row of the tables that has such a column."""
    for table in tables:
        for row in play.rows[table]:
            row.update({name: value for name, value in values.items() if name in row})
    return play


def on_device(**values: Any) -> Recording:
    return changed(decode_run(graph=True), "kernels", "memops", **values)


def everywhere(**values: Any) -> Recording:
    return changed(decode_run(), "kernels", "memops", "api_calls", "ranges", "overheads", **values)


def far_away() -> Recording:
    play = Playing(host=FAR)
    for _ in range(4):
        play_step(play, 2, graph=False)
    return play


def ends_of_time() -> Recording:
    play = decode_run()
    play.kernel(-(2**63), LARGEST, None, "all of it")
    play.kernel(LARGEST - 9, LARGEST, None, "late")
    play.call(LARGEST - 9, LARGEST, 99_999, "cudaLaunchKernel")
    play.kernel(-FAR, -FAR + 5, 99_999, "early")
    play.range(-(2**63), LARGEST, "whole")
    return play


def backwards() -> Recording:
    play = decode_run()
    play.kernel(500, 400)
    play.call(900, 800, 77_777)
    play.range(90, 80, "r")
    return play


def unknown() -> Recording:
    play = decode_run()
    for start, end in ((None, None), (5, None), (None, 6)):
        play.kernel(start, end, name=None)  # type: ignore[arg-type]  # what recorders leave out
        play.memop(start, end, kind=None)  # type: ignore[arg-type]
        play.call(start, end)
        play.range(start, end, None)
    return play


def crowded() -> Recording:
    play = Recording()
    for at in range(520):  # each overlaps with all others, and none lies in another
        play.kernel(at, 1_000 + at)
        play.range(at, 2_000 + at, f"r{at}")
    for thread in range(100):
        play.call(thread * 10, thread * 10 + 5, thread, tid=thread)
        play.kernel(5_000 + thread, 9_000, thread, stream_id=100 + thread)
    return play


def lengthless() -> Recording:
    play = Playing()
    for _ in range(4):
        with play.within(decode_range(1)):
            for length in (0, 0, 5, 0):
                play.launch("k", length)
        play.synchronise()
    return play


def large_numbers() -> Recording:
    play = on_device(graph_id=-4, graph_node_id=LARGEST, stream_id=-(2**63), bytes=LARGEST, kind='odd\n"kind')
    for table in ("kernels", "memops", "api_calls"):
        for row in play.rows[table]:
            row["correlation_id"] += FAR
    for row in play.rows["kernels"]:
        row.update(grid_x=2**31 - 1, grid_y=-1, grid_z=None, block_x=1, block_y=1, block_z=1, dynamic_shared_bytes=2**31 - 1)
    return changed(play, "ranges", payload=-(2**63))


ODD: dict[str, Callable[[], Recording]] = {
    "a negative device": lambda: on_device(device_id=-3),
    "no device": lambda: on_device(device_id=None),
    "no stream": lambda: on_device(stream_id=None),
    "one id for all": lambda: everywhere(correlation_id=5),
    "no process": lambda: everywhere(pid=None, tid=None),
    "a process numbered like a device's": lambda: everywhere(pid=9_000_000),
    "a process of more than 24 bits": lambda: everywhere(pid=2**31 - 1, tid=LARGEST),
    "a negative process": lambda: everywhere(pid=-5, tid=-9),
    "far away": far_away,
    "from one end of time to the other": ends_of_time,
    "backwards": backwards,
    "unknown": unknown,
    "crowded": crowded,
    "lengthless": lengthless,
    "large numbers": large_numbers,
    "nothing": Recording,
}


@pytest.fixture(scope="module", params=ODD)
def odd(request: pytest.FixtureRequest) -> Trace:
    return ODD[request.param]().build(epoch_ns=1_700_000_000_000_000_000)


@pytest.mark.parametrize("name", ["nsys-sqlite", "parquet", "csv"])
def test_tables_take_it(odd: Trace, name: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    if name != "nsys-sqlite":
        made.mkdir()
    assert exported(odd, name, made).exists()


def test_json_has_sane_times(odd: Trace, tmp_path: Path) -> None:
    events = json.loads(gzip.decompress(exported(odd, "chrome", tmp_path / "t.json.gz").read_bytes()))["traceEvents"]
    assert sum(event.get("cat") == "kernel" for event in events) == len(odd.kernels)
    assert all(event.get("ts", 0) >= 0 and event.get("dur", 0) >= 0 for event in events)
    starts = odd.kernels.ints("start_ns")[odd.kernels.valid("start_ns") & odd.kernels.valid("end_ns")]
    times = [event["ts"] for event in events if event.get("cat") == "kernel" and event["ts"] > 0]
    assert times == sorted(times)  # as they are in the table: none was turned around
    assert len(times) == len(starts)


def test_nvtxt_is_what_the_importer_takes(odd: Trace, tmp_path: Path) -> None:
    """ImportNvtxt refuses numbers of processes and threads that need more than 24 bits, and negative times."""
    depth: dict[tuple[str, str], int] = {}
    last: dict[tuple[str, str], int] = {}
    named: list[tuple[str, str]] = []
    for line in exported(odd, "nvtxt", tmp_path / "t.nvtxt").read_text().splitlines():
        if told := re.fullmatch(r"Range(Push|Pop), (\d+), (\d+), (\d+)(, .*)?", line):
            row = (told[3], told[4])
            depth[row] = depth.get(row, 0) + (1 if told[1] == "Push" else -1)
            assert depth[row] >= 0
            assert last.get(row, 0) <= int(told[2])
            last[row] = int(told[2])
        elif told := re.fullmatch(r"Name(Process|OsThread), (\d+), ((\d+), )?.*", line):
            named.append((told[2], told[4] or ""))
        else:
            assert line.startswith(("SetFileDisplayName, ", "@Range", "TimeBase = ")), line
    assert not any(depth.values())
    assert len(named) == len(set(named))
    assert set(depth) <= set(named)
    assert all(int(number or 0) < 1 << 24 for row in named for number in row)


def test_perfetto_has_every_slice_and_they_nest(odd: Trace, tmp_path: Path) -> None:
    messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    found = messages.Trace()
    found.ParseFromString(exported(odd, "perfetto", tmp_path / "t.pftrace").read_bytes())
    titles = {p.track_descriptor.uuid: p.track_descriptor.name for p in found.packet if p.HasField("track_descriptor")}
    depth = dict.fromkeys(titles, 0)
    last = dict.fromkeys(titles, 0)
    begun = dict.fromkeys(titles, 0)
    for packet in found.packet:
        event = packet.track_event
        if not packet.HasField("track_event"):
            continue
        assert last[event.track_uuid] <= packet.timestamp
        last[event.track_uuid] = packet.timestamp
        begun[event.track_uuid] += event.type == event.TYPE_SLICE_BEGIN
        depth[event.track_uuid] += {event.TYPE_SLICE_BEGIN: 1, event.TYPE_SLICE_END: -1}.get(event.type, 0)
        assert depth[event.track_uuid] >= 0
    assert not any(depth.values())
    works = [table for table in (odd.kernels, odd.memops) if len(table)]
    drawn = sum(int((t.valid("start_ns") & t.valid("end_ns") & (t.ints("end_ns") >= t.ints("start_ns"))).sum()) for t in works)
    assert sum(count for track, count in begun.items() if titles[track].startswith("stream")) == drawn
