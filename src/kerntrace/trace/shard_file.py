"""One shard file: the chunks that the native recorder wrote for one process. Room: trace.

The record layouts mirror native/include/kerntrace/records.h, where they are explained; a test holds them against the library.
Every chunk carries checksums, so a cut or damaged file gives back all of its whole chunks and says what is missing.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kerntrace.errors import UnreadableError

SUFFIX = ".ktshard"
VERSION = 1
MAGIC = b"KTCK"

Rows = npt.NDArray[np.void]


def _record(fields: str) -> np.dtype[np.void]:
    pairs = [f.split(":") for f in fields.split()]
    return np.dtype([(name, "<" + kind if kind[0] != "S" else kind) for name, kind in pairs])


HEADER = _record("magic:u4 version:u2 type:u2 count:u4 record_bytes:u4 length:u8 payload_crc:u4 header_crc:u4")
NAME_ENTRY = _record("id:u4 length:u4")

RECORDS: dict[str, np.dtype[np.void]] = {
    "session": _record(
        "pid:u4 parent_pid:u4 start_realtime_ns:u8 start_monotonic_ns:u8 buffer_bytes:u8 max_buffers:u4 kinds:u4 range:u4 "
        "forked:u4 process:S32 producer:S32"
    ),
    "status": _record(
        "time_ns:u8 phase:u4 code:i4 cupti_result:i4 cupti_version:u4 kernels:u8 memops:u8 api_calls:u8 syncs:u8 overheads:u8 "
        "graph_spans:u8 range_events:u8 dropped:u8 zero_timestamps:u8 outside_window:u8 unknown_records:u8 bad_buffers:u8 "
        "refused_buffers:u8 lost_names:u8 buffers:u8 peak_buffers:u8 bytes_written:u8 decode_ns:u8 write_ns:u8 message:S200"
    ),
    "clock": _record("realtime_before_ns:u8 cupti_ns:u8 realtime_after_ns:u8 monotonic_ns:u8"),
    "device": _record(
        "memory_bytes:u8 memory_kb_per_s:u8 device:u4 sm_count:u4 l2_bytes:u4 compute_major:u4 compute_minor:u4 name:u4"
    ),
    "window": _record("time_ns:u8 opened:u4 reserved:u4"),
    "kernel": _record(
        "start_ns:u8 end_ns:u8 graph_node_id:u8 graph_id:u4 correlation_id:u4 device_id:u4 context_id:u4 stream_id:u4 name:u4 "
        "grid_x:i4 grid_y:i4 grid_z:i4 block_x:i4 block_y:i4 block_z:i4 static_shared_bytes:i4 dynamic_shared_bytes:i4 "
        "registers_per_thread:u4 reserved:u4"
    ),
    "memop": _record(
        "start_ns:u8 end_ns:u8 bytes:u8 graph_node_id:u8 graph_id:u4 correlation_id:u4 device_id:u4 stream_id:u4 copy_kind:u4 "
        "reserved:u4"
    ),
    "api": _record("start_ns:u8 end_ns:u8 correlation_id:u4 tid:u4 name:u4 driver:u4 return_value:u4 cbid:u4"),
    "sync": _record("start_ns:u8 end_ns:u8 type:u4 correlation_id:u4 stream_id:u4 event_id:u4"),
    "overhead": _record("start_ns:u8 end_ns:u8 kind:u4 tid:u4"),
    "graph_span": _record("start_ns:u8 end_ns:u8 graph_id:u4 correlation_id:u4 device_id:u4 stream_id:u4"),
    "range_event": _record("time_ns:u8 range_id:u8 payload:i8 tid:u4 name:u4 domain:u4 event:u2 payload_type:u2"),
}

TYPES: dict[int, str] = {
    1: "session", 2: "status", 4: "clock", 5: "device", 6: "window", 16: "kernel", 17: "memop", 18: "api", 19: "sync",
    20: "overhead", 21: "graph_span", 22: "range_event",
}  # fmt: skip
NAMES = 3
_BATCH_ROWS = 1 << 20

RUNNING, FINISHED, FAILED = 1, 2, 3


class NewerShardError(UnreadableError):
    """The shard is of a format that came after this reader."""


@dataclass(slots=True)
class Shard:
    """What one process left.

    Attributes:
        path: the file.
        chunks: by record name, the arrays of the file's chunks in order; views of the file, not copies.
        names: text by id.
        damage: what could not be read, one line each.
        lost_rows: rows in damaged chunks, where the chunk's header still told their number.
    """

    path: Path
    chunks: dict[str, list[Rows]] = field(default_factory=lambda: {name: [] for name in RECORDS})
    names: dict[int, str] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)
    lost_rows: int = 0

    def count(self, record: str) -> int:
        return sum(len(chunk) for chunk in self.chunks[record])

    def column(self, record: str, name: str) -> npt.NDArray[Any]:
        """A field of all records of a kind, in the file's order."""
        return np.concatenate([np.zeros(0, RECORDS[record][name])] + [chunk[name] for chunk in self.chunks[record]])

    def rows(self, record: str) -> Rows:
        """All records of a kind, in the file's order."""
        return np.concatenate([np.zeros(0, RECORDS[record])] + self.chunks[record])

    def batches(self, record: str) -> Iterator[Rows]:
        """The records of a kind in the file's order, about a million at a time, so that few of them are copied at once."""
        batch: list[Rows] = []
        for chunk in self.chunks[record]:
            batch.append(chunk)
            if sum(map(len, batch)) >= _BATCH_ROWS:
                yield np.concatenate(batch)
                batch = []
        if batch:
            yield np.concatenate(batch)

    @property
    def session(self) -> np.void:
        first: np.void = self.chunks["session"][0][0]
        return first

    @property
    def pid(self) -> int:
        return int(self.session["pid"])

    @property
    def status(self) -> np.void | None:
        """The last word if the recording failed, else the newest status; None if there is none."""
        spoken = [chunk[0] for chunk in self.chunks["status"] if chunk[0]["phase"] != 0]
        failed = [status for status in spoken if status["phase"] == FAILED]
        found = failed or spoken
        return found[-1] if found else None

    def name(self, key: int) -> str | None:
        return self.names.get(key)


def text_of(value: bytes) -> str:
    """A zero-terminated text of a record."""
    return value.split(b"\0", 1)[0].decode("utf-8", "replace")


def read_shard(path: Path) -> Shard:
    """Everything in the file that is whole.

    Raises:
        UnreadableError: if it cannot be read, is no shard, or its first chunk is not whole.
        NewerShardError: if it is of a newer format.
    """
    try:
        with path.open("rb") as stream:
            data: Any = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    shard = Shard(path)
    for header, start in _chunks(data, shard):
        _take(header, start, data, shard)
    if not shard.chunks["session"]:
        raise UnreadableError(f"{path} is not a shard, or its beginning is damaged", "Record again.")
    return shard


def _header(data: Any, at: int) -> np.void | None:
    raw = data[at : at + HEADER.itemsize]
    if len(raw) < HEADER.itemsize or raw[:4] != MAGIC:
        return None
    header: np.void = np.frombuffer(raw, HEADER)[0]
    return header if zlib.crc32(raw[:-4]) == int(header["header_crc"]) else None


def _chunks(data: Any, shard: Shard) -> Iterator[tuple[np.void, int]]:
    """Headers of the chunks and where their payloads begin; stretches that hold no chunk are noted and skipped."""
    at, size = 0, len(data)
    while at < size:
        header = _header(data, at)
        if header is None:
            found = at + 1
            while (found := data.find(MAGIC, found)) >= 0 and _header(data, found) is None:
                found += 1
            after = found if found >= 0 else size
            shard.damage.append(f"{after - at} bytes at {at} hold no whole chunk")
            at = after
            continue
        if int(header["version"]) > VERSION:
            raise NewerShardError(
                f"{shard.path} is of shard format {int(header['version'])}, this kerntrace reads up to {VERSION}",
                "Upgrade kerntrace: pip install --upgrade kerntrace.",
            )
        start = at + HEADER.itemsize
        yield header, start
        at = start + -(-int(header["length"]) // 8) * 8


def _take(header: np.void, start: int, data: Any, shard: Shard) -> None:
    kind, count, length = int(header["type"]), int(header["count"]), int(header["length"])
    record = TYPES.get(kind)
    if record is None and kind != NAMES:
        return  # a newer recorder's chunk, of a kind that older readers may skip
    payload = memoryview(data)[start : start + length]
    if len(payload) < length or zlib.crc32(payload) != int(header["payload_crc"]):
        rows = count if kind >= 16 else 0
        shard.lost_rows += rows
        what = f"{rows} {record} records" if rows else f"a {record or 'names'} chunk"
        shard.damage.append(f"{what} {'cut off' if len(payload) < length else 'damaged'}")
        return
    if record is None:
        _take_names(payload, count, shard)
        return
    dtype, stride = RECORDS[record], int(header["record_bytes"])
    if stride < dtype.itemsize or stride * count != length:
        shard.damage.append(f"a {record} chunk of an unknown layout")
    elif count:
        shard.chunks[record].append(np.ndarray((count,), dtype, payload, 0, (stride,)))


def _take_names(payload: memoryview, count: int, shard: Shard) -> None:
    table = count * NAME_ENTRY.itemsize
    if table > len(payload):
        shard.damage.append("a names chunk of an unknown layout")
        return
    entries = np.frombuffer(payload, NAME_ENTRY, count)
    ends = (table + np.cumsum(entries["length"], dtype=np.int64)).tolist()
    begins = [table, *ends[:-1]]
    for key, begin, end in zip(entries["id"].tolist(), begins, ends):
        shard.names[key] = str(payload[begin:end], "utf-8", "replace")
