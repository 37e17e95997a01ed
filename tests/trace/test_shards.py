"""Shards read back: whole, cut at any byte, damaged at any byte; ranges paired as a stack would pair them."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerntrace.errors import UnreadableError
from kerntrace.trace.bundle import read_bundle, write_bundle
from kerntrace.trace.range_events import END, OPEN, POP, PUSH, START, paired
from kerntrace.trace.shard_file import HEADER, NAME_ENTRY, NAMES, RECORDS, TYPES, NewerShardError, Shard, read_shard
from kerntrace.trace.shards import is_shards, read_shards

NUMBERS = {name: number for number, name in TYPES.items()}
EPOCH = 1_800_000_000_000_000_000


def chunk(number: int, count: int, record_bytes: int, payload: bytes, *, version: int = 1) -> bytes:
    header = np.zeros((), HEADER)
    for name, value in {"version": version, "type": number, "count": count, "record_bytes": record_bytes}.items():
        header[name] = value
    header["magic"] = int.from_bytes(b"KTCK", "little")
    header["length"], header["payload_crc"] = len(payload), zlib.crc32(payload)
    header["header_crc"] = zlib.crc32(header.tobytes()[:-4])
    return header.tobytes() + payload + b"\0" * (-len(payload) % 8)


def records(record: str, *rows: dict[str, Any]) -> bytes:
    array = np.zeros(len(rows), RECORDS[record])
    for i, row in enumerate(rows):
        for name, value in row.items():
            array[name][i] = value
    return chunk(NUMBERS[record], len(rows), array.itemsize, array.tobytes())


def names(**texts: int) -> bytes:
    entries = np.array([(key, len(text.encode())) for text, key in texts.items()], NAME_ENTRY)
    return chunk(NAMES, len(texts), NAME_ENTRY.itemsize, entries.tobytes() + "".join(texts).encode())


def kernel(i: int, **more: int) -> dict[str, int]:
    return {"start_ns": EPOCH + 100 * i, "end_ns": EPOCH + 100 * i + 60, "correlation_id": i + 1, "name": 1, "grid_x": i} | more


def call(i: int) -> dict[str, int]:
    return {"start_ns": EPOCH + 100 * i - 40, "end_ns": EPOCH + 100 * i - 10, "correlation_id": i + 1, "tid": 5, "name": 2}


def session(**more: Any) -> bytes:
    given_ = {"pid": 42, "process": b"python", "producer": b"kerntrace test", "start_realtime_ns": EPOCH, "kinds": 0b0111_0111}
    return records("session", given_ | more)


FINISHED = records("status", {"phase": 2, "cupti_version": 130001, "dropped": 3})
RESERVED = records("status", {})
PARTS = [
    session(),
    RESERVED,
    names(gemm=1, cudaLaunchKernel_v7000=2),
    records("kernel", *[kernel(i) for i in range(5)]),
    records("api", *[call(i) for i in range(5)]),
    records("kernel", *[kernel(i) for i in range(5, 8)]),
    FINISHED,
]


def write(directory: Path, *parts: bytes, name: str = "kt-42-1") -> Path:
    file = directory / f"{name}.ktshard"
    file.write_bytes(b"".join(parts))
    return file


def test_a_whole_shard(tmp_path: Path) -> None:
    write(tmp_path, *PARTS)
    assert is_shards(tmp_path)
    trace = read_shards(tmp_path)
    assert trace.kernels.ints("grid_x").tolist() == list(range(8))
    assert trace.kernels.ints("start_ns").tolist() == [100 * i + 40 for i in range(8)]
    assert trace.kernels.arrow("name").to_pylist() == ["gemm"] * 8
    assert trace.api_calls.arrow("name").to_pylist() == ["cudaLaunchKernel"] * 5
    assert trace.api_calls.arrow("domain").to_pylist() == ["runtime"] * 5
    assert trace.manifest.epoch_ns == EPOCH - 40
    capture = trace.manifest.capture
    assert (capture.collector, capture.dropped_records, capture.truncated, capture.sessions) == ("native", 3, None, 1)
    assert capture.kinds == ("kernels", "memops", "launches", "syncs", "overheads", "ranges")
    write_bundle(trace, tmp_path / "t.ktrace")
    assert read_bundle(tmp_path / "t.ktrace", verify=True).kernels.arrow_table().equals(trace.kernels.arrow_table())


def test_reading_in_several_batches_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, *PARTS, *(records("kernel", kernel(i)) for i in range(8, 20)))
    whole = read_shards(tmp_path).kernels.arrow_table()
    monkeypatch.setattr("kerntrace.trace.shard_file._BATCH_ROWS", 4)
    assert len(list(read_shard(tmp_path / "kt-42-1.ktshard").batches("kernel"))) == 5
    assert read_shards(tmp_path).kernels.arrow_table().to_pylist() == whole.to_pylist()
    assert whole.num_rows == 20


def test_a_shard_cut_anywhere_gives_its_whole_chunks(tmp_path: Path) -> None:
    whole = b"".join(PARTS)
    padded = np.cumsum([len(part) for part in PARTS])
    ends = padded - [0, 0, -len(names_payload()) % 8, 0, 0, 0, 0]  # a chunk is whole without its padding
    rows = np.cumsum([0, 0, 0, 5, 0, 3, 0])
    for cut in range(len(whole) + 1):
        file = write(tmp_path, whole[:cut])
        done = int(np.searchsorted(ends, cut, side="right"))
        if done == 0:
            with pytest.raises(UnreadableError):
                read_shard(file)
            continue
        shard = read_shard(file)
        assert shard.count("kernel") == rows[done - 1]
        assert (shard.damage == []) == (ends[done - 1] <= cut <= padded[done - 1])
        if done >= 4:
            capture = read_shards(tmp_path).manifest.capture
            assert (capture.truncated is None) == (cut == len(whole))


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_a_damaged_byte_never_goes_unnoticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = bytearray(b"".join(PARTS))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    file = write(tmp_path_factory.mktemp("damaged"), bytes(whole))
    ends = np.cumsum([len(part) for part in PARTS])
    hit = int(np.searchsorted(ends, at, side="right"))
    if hit == 0:
        with pytest.raises(UnreadableError):
            read_shard(file)
        return
    shard = read_shard(file)
    padding = ends[hit] - at <= -len(names_payload()) % 8 if hit == 2 else False
    if padding:
        return  # the only bytes that mean nothing
    assert len(shard.damage) == 1
    assert shard.count("kernel") == 8 - {3: 5, 5: 3}.get(hit, 0)
    if hit in (3, 4, 5) and "damaged" in shard.damage[0]:
        assert shard.lost_rows == {3: 5, 4: 5, 5: 3}[hit]


def names_payload() -> bytes:
    return PARTS[2][HEADER.itemsize :].rstrip(b"\0")


def test_lost_rows_count_as_dropped(tmp_path: Path) -> None:
    bad = bytearray(PARTS[3])
    bad[-1] ^= 1
    write(tmp_path, *PARTS[:3], bytes(bad), *PARTS[4:])
    capture = read_shards(tmp_path).manifest.capture
    assert capture.dropped_records == 3 + 5
    assert capture.truncated == "process 42 (python): 5 kernel records damaged"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([b""], "is not a shard"),
        ([b"not a shard at all"], "is not a shard"),
        ([PARTS[2]], "is not a shard"),
        ([session(), RESERVED, FINISHED], "no process of the program used CUDA or NVTX"),
        ([session(), RESERVED, records("status", {"phase": 2, "code": 5, "message": b"another tool"})], "another tool"),
    ],
)
def test_nothing_to_read_says_why(tmp_path: Path, parts: list[bytes], message: str) -> None:
    write(tmp_path, *parts)
    with pytest.raises(UnreadableError, match=message):
        read_shards(tmp_path)


def test_an_empty_directory_holds_no_shards(tmp_path: Path) -> None:
    assert not is_shards(tmp_path)
    with pytest.raises(UnreadableError, match="holds no shards"):
        read_shards(tmp_path)


def test_a_newer_format_is_refused_even_beside_an_older_one(tmp_path: Path) -> None:
    write(tmp_path, *PARTS)
    write(tmp_path, session(), chunk(16, 0, 88, b"", version=2), name="kt-43-1")
    with pytest.raises(NewerShardError, match="shard format 2"):
        read_shards(tmp_path)


def test_longer_records_and_unknown_chunks_of_a_newer_recorder_are_read(tmp_path: Path) -> None:
    row = np.zeros(1, RECORDS["kernel"])
    row["start_ns"], row["end_ns"], row["grid_x"] = EPOCH, EPOCH + 9, 77
    longer = (row.tobytes() + b"new field here!!") * 2
    size = RECORDS["kernel"].itemsize + 16
    write(tmp_path, session(), RESERVED, chunk(99, 1, 8, b"whatever"), chunk(16, 2, size, longer), FINISHED)
    trace = read_shards(tmp_path)
    assert trace.kernels.ints("grid_x").tolist() == [77, 77]
    assert trace.manifest.capture.truncated is None


def test_a_failed_recording_is_told_by_its_last_word(tmp_path: Path) -> None:
    spoken = records("status", {"phase": 3, "code": 9, "cupti_version": 130001, "message": b"the disk is full"})
    running = records("status", {"phase": 1, "cupti_version": 130001})
    write(tmp_path, session(), spoken, *PARTS[2:4], running)
    assert read_shards(tmp_path).manifest.capture.truncated == "process 42 (python): the disk is full"


def test_an_unreadable_shard_beside_a_good_one_is_mentioned(tmp_path: Path) -> None:
    write(tmp_path, *PARTS)
    write(tmp_path, b"junk", name="kt-50-1")
    trace = read_shards(tmp_path)
    assert len(trace.kernels) == 8
    assert "kt-50-1.ktshard is not a shard" in (trace.manifest.capture.truncated or "")


def test_kernels_without_timestamps_have_none(tmp_path: Path) -> None:
    cut = kernel(2, end_ns=0)
    missing = kernel(3, start_ns=0, end_ns=0)
    write(tmp_path, session(), RESERVED, records("kernel", kernel(1), cut, missing), FINISHED)
    table = read_shards(tmp_path).kernels.arrow_table().sort_by("grid_x").select(["start_ns", "end_ns"]).to_pylist()
    assert table == [{"start_ns": 0, "end_ns": 60}, {"start_ns": 100, "end_ns": None}, {"start_ns": None, "end_ns": None}]


def test_memops_and_overheads_in_words(tmp_path: Path) -> None:
    copies = [
        {"start_ns": EPOCH + i, "end_ns": EPOCH + i + 1, "copy_kind": k, "bytes": 9} for i, k in enumerate((1, 10, 256, 77))
    ]
    kinds = (1 << 16, 2 << 16, 1, 4 << 16, 7 << 16)
    spent = [{"start_ns": EPOCH + i, "end_ns": EPOCH + i + 1, "kind": kind, "tid": i} for i, kind in enumerate(kinds)]
    write(tmp_path, session(), RESERVED, records("memop", *copies), records("overhead", *spent), FINISHED)
    trace = read_shards(tmp_path)
    assert trace.memops.arrow("kind").to_pylist() == ["HtoD", "PtoP", "memset", None]
    assert trace.overheads.arrow("kind").to_pylist() == ["buffer flush", "instrumentation", "buffer request"]
    assert trace.overheads.arrow("tid").to_pylist() == [None, 1, 4]


def test_only_what_was_launched_or_ran_in_a_window_is_kept(tmp_path: Path) -> None:
    # A window over [200, 400]: a kernel before it, one inside without its call, one after it launched inside, one not.
    opened = records("window", {"time_ns": EPOCH + 200, "opened": 1}, {"time_ns": EPOCH + 400})
    kernels = [kernel(1), kernel(3, correlation_id=90), kernel(7, correlation_id=4), kernel(8, correlation_id=99)]
    events = [
        {"time_ns": EPOCH + at, "event": event, "tid": 5, "name": 1}
        for at, event in (
            (10, PUSH),
            (20, POP),
            (30, PUSH),
            (250, PUSH),
            (260, POP),
            (390, POP),
            (500, PUSH),
            (510, POP),
            (600, PUSH),
        )
    ]
    parts = [names(gemm=1, f=2), opened, records("kernel", *kernels), records("api", call(3)), records("range_event", *events)]
    write(tmp_path, session(range=1), RESERVED, *parts, FINISHED)
    trace = read_shards(tmp_path)
    assert trace.kernels.ints("grid_x").tolist() == [3, 7]
    starts = trace.ranges.ints("start_ns") + (trace.manifest.epoch_ns or 0) - EPOCH
    assert starts.tolist() == [30, 250]


@given(
    st.lists(st.tuples(st.sampled_from([PUSH, POP]), st.integers(1, 2), st.integers(0, 1)), max_size=60),
    st.lists(st.tuples(st.sampled_from([START, END]), st.integers(1, 6)), max_size=20),
)
def test_ranges_are_paired_as_a_stack_would(stacked: list[tuple[int, int, int]], loose: list[tuple[int, int]]) -> None:
    rows: list[dict[str, int]] = []
    stacks: dict[tuple[int, int], list[int]] = {}
    expected: dict[int, int] = {}
    for at, (event, tid, domain) in enumerate(stacked, 1):
        rows.append({"time_ns": at, "event": event, "tid": tid, "domain": domain})
        stack = stacks.setdefault((tid, domain), [])
        if event == PUSH:
            stack.append(at)
            expected[at] = int(OPEN)
        elif stack:
            expected[stack.pop()] = at
    begun: dict[int, int] = {}
    for at, (event, number) in enumerate(loose, 1000):
        if event == START and number not in begun:
            begun[number] = at
            expected[at] = int(OPEN)
        elif event == END and begun.get(number, -1) > 0 and expected[begun[number]] == 0:
            expected[begun[number]] = at
        else:
            continue
        rows.append({"time_ns": at, "event": event, "tid": 1, "range_id": number})
    array = np.zeros(len(rows), RECORDS["range_event"])
    for i, row in enumerate(rows):
        for name, value in row.items():
            array[name][i] = value
    begins, ends = paired(array)
    assert dict(zip(begins["time_ns"].tolist(), ends.tolist())) == expected


def test_two_programs_under_one_pid_keep_their_launches_apart(tmp_path: Path) -> None:
    for when in (1, 2):
        launch = records("api", call(10 * when) | {"correlation_id": 1})
        parts = [names(gemm=1, f=2), records("kernel", kernel(10 * when, correlation_id=1)), launch, FINISHED]
        write(tmp_path, session(start_realtime_ns=EPOCH + when), RESERVED, *parts, name=f"kt-42-{when}")
    trace = read_shards(tmp_path)
    assert trace.kernels.ints("correlation_id").tolist() == [1, 2]
    assert trace.api_calls.ints("correlation_id").tolist() == [1, 2]


def test_the_shard_of_a_range_only_process_needs_no_kernels(tmp_path: Path) -> None:
    events = [{"time_ns": EPOCH + at, "event": event, "tid": 5, "name": 1} for at, event in ((10, PUSH), (20, POP))]
    write(tmp_path, session(), RESERVED, names(step=1), records("range_event", *events), records("status", {"phase": 2}))
    trace = read_shards(tmp_path)
    assert trace.ranges.arrow("name").to_pylist() == ["step"]
    assert trace.manifest.capture.dropped_records is None


def test_shard_columns_of_nothing_are_empty() -> None:
    assert Shard(Path("x")).column("kernel", "start_ns").tolist() == []
