"""A directory of shards, one a process, read into one trace. Room: trace.

`native/` writes shards while a program runs; here they become a Trace. What is missing, because a process was killed, the disk
filled up or a file is damaged, is said in the trace's capture, never passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kerntrace.errors import UnreadableError
from kerntrace.trace.builder import TraceBuilder
from kerntrace.trace.model import Trace
from kerntrace.trace.range_events import OPEN, paired
from kerntrace.trace.shard_facts import capture_of, environment_of, missing
from kerntrace.trace.shard_file import SUFFIX, NewerShardError, Rows, Shard, read_shard, text_of
from kerntrace.trace.table import Ints, Mask, Names

_RANGE_ALL = 0
_MEMCPY = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
_MEMSET = 0x100
# Only CUPTI's own: compiling, loading modules and a full command buffer are the program's time, recorder or not.
_OVERHEADS = {1: "buffer flush", 2: "instrumentation", 3: "resource", 7: "buffer request", 8: "unified memory set-up"}
_INTEGER, _UNSIGNED = 1, 3


def is_shards(path: Path) -> bool:
    """Whether the path is a directory that holds shards."""
    return path.is_dir() and any(path.glob(f"*{SUFFIX}"))


def read_shards(directory: Path) -> Trace:
    """The trace of all processes that left a shard in the directory.

    Raises:
        UnreadableError: if there is no shard, a shard is of a newer format, or no shard holds a single record; the message
            names the reason that a recorder gave, if one did.
    """
    files = sorted(directory.glob(f"*{SUFFIX}"))
    if not files:
        raise UnreadableError(f"{directory} holds no shards (*{SUFFIX})", "Name the directory that the recorder wrote to.")
    shards, unread = _read_all(files)
    rows = ("kernel", "memop", "api", "graph_span", "range_event")
    if not any(shard.count(record) for shard in shards for record in rows):
        said = [line for shard in shards for line in missing(shard)] + unread
        reason = said[0] if said else "no process of the program used CUDA or NVTX while it was recorded"
        raise UnreadableError(f"{directory} holds no records: {reason}", "Run `kerntrace doctor`, then record again.")
    builder = TraceBuilder(
        producer=text_of(shards[0].session["producer"]),
        epoch_ns=0,  # shards hold CLOCK_REALTIME itself
        clock="CLOCK_REALTIME",
        environment=environment_of(shards),
        capture=capture_of(shards, unread),
    )
    last_id: dict[int, int] = {}
    for shard in shards:
        base = last_id.get(shard.pid, 0)  # a program that replaced itself kept its pid and counts from 1 again
        last_id[shard.pid] = base + _add_shard(builder, shard, base)
    return builder.build()


def _read_all(files: Sequence[Path]) -> tuple[list[Shard], list[str]]:
    """The shards that can be read, in order of their start, and a line for each file that cannot."""
    results = [_read_one(file) for file in files]
    unread = [result for result in results if isinstance(result, str)]
    shards = [result for result in results if isinstance(result, Shard)]
    if not shards:
        raise UnreadableError(f"no shard can be read: {unread[0]}", "Record again.")
    shards.sort(key=lambda shard: int(shard.session["start_realtime_ns"]))
    return shards, unread


def _read_one(file: Path) -> Shard | str:
    try:
        return read_shard(file)
    except NewerShardError:
        raise
    except UnreadableError as error:
        return error.what.replace(f"{file.parent}/", "")


def _add_shard(builder: TraceBuilder, shard: Shard, base: int) -> int:
    """Add a process's records; returns the largest correlation id it used."""
    calls = shard.rows("api")
    launched = np.unique(calls["correlation_id"])
    largest = int(launched[-1]) if len(launched) else 0
    windows = _windows(shard)
    for record, add in (("kernel", _add_kernels), ("memop", _add_memops)):
        for rows in shard.batches(record):
            kept = rows if windows is None else rows[_captured(windows, rows, launched)]
            largest = max(largest, int(kept["correlation_id"].max(initial=0)))
            add(builder, shard, kept, base)
    _add_calls(builder, shard, calls, base)
    _add_ranges(builder, shard)
    _add_overheads(builder, shard)
    return largest


def _windows(shard: Shard) -> tuple[Ints, Ints] | None:
    """Starts and ends of the capture windows; None where the whole run was one."""
    if int(shard.session["range"]) == _RANGE_ALL:
        return None
    events = shard.rows("window")
    starts = events["time_ns"][events["opened"] == 1].astype(np.int64)
    ends = events["time_ns"][events["opened"] == 0].astype(np.int64)
    still_open = np.full(max(len(starts) - len(ends), 0), np.iinfo(np.int64).max)
    return starts, np.concatenate([ends, still_open])[: len(starts)]


def _captured(windows: tuple[Ints, Ints], rows: Rows, launched: npt.NDArray[np.uint32]) -> Mask:
    """Device work that ran in a window, or after one but was launched in it. The recorder keeps a little more than that."""
    starts, ends = windows
    when = rows["start_ns"].astype(np.int64)
    place = np.searchsorted(starts, when, side="right") - 1
    within = (place >= 0) & (when <= np.append(ends, -1)[place])
    unknown = (rows["start_ns"] == 0) | (rows["end_ns"] == 0)
    inside: Mask = within | unknown | np.isin(rows["correlation_id"], launched)
    return inside


def _names(shard: Shard, ids: npt.NDArray[np.uint32]) -> Names:
    """A text column; only the texts that occur become part of it."""
    size = max(int(ids.max()) if len(ids) else 0, max(shard.names, default=0)) + 1
    occurs = np.zeros(size, bool)
    occurs[ids] = True
    values = [int(key) for key in np.flatnonzero(occurs) if int(key) in shard.names]
    codes = np.full(size, -1, np.int32)
    codes[values] = np.arange(len(values), dtype=np.int32)
    return Names(codes[ids], tuple(shard.names[key] for key in values))


def _coded(keys: npt.NDArray[Any], words: dict[int, str]) -> Names:
    lut = np.full(max(words) + 2, -1, np.int32)
    lut[list(words)] = np.arange(len(words), dtype=np.int32)
    return Names(lut[np.minimum(keys, max(words) + 1)], tuple(words.values()))


def _or_null(values: npt.NDArray[Any]) -> Any:
    """64-bit values, null where 0: the recorder's word for unknown."""
    return np.ma.masked_array(values.astype(np.int64), mask=values == 0)


def _shifted(ids: npt.NDArray[np.uint32], base: int) -> Ints:
    return np.where(ids == 0, np.int64(0), ids.astype(np.int64) + base)


def _same(rows: Rows, *names: str) -> dict[str, Any]:
    return {name: rows[name] for name in names}


def _device_work(shard: Shard, rows: Rows, base: int) -> dict[str, Any]:
    return {
        "start_ns": _or_null(rows["start_ns"]),
        "end_ns": _or_null(rows["end_ns"]),
        "pid": shard.pid,
        "device_id": rows["device_id"].astype(np.int32),
        "stream_id": rows["stream_id"].astype(np.int64),
        "correlation_id": _shifted(rows["correlation_id"], base),
        "graph_id": rows["graph_id"].astype(np.int64),
        "graph_node_id": rows["graph_node_id"].view(np.int64) if len(rows) else rows["graph_node_id"].astype(np.int64),
    }


def _add_kernels(builder: TraceBuilder, shard: Shard, rows: Rows, base: int) -> None:
    sizes = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "static_shared_bytes", "dynamic_shared_bytes")
    columns = _device_work(shard, rows, base) | _same(rows, *sizes)
    columns["context_id"] = rows["context_id"].astype(np.int32)
    columns["registers_per_thread"] = rows["registers_per_thread"].astype(np.int32)
    builder.add("kernels", columns | {"name": _names(shard, rows["name"])})


def _add_memops(builder: TraceBuilder, shard: Shard, rows: Rows, base: int) -> None:
    kinds = _coded(rows["copy_kind"], _MEMCPY | {_MEMSET: "memset"})
    builder.add("memops", _device_work(shard, rows, base) | {"kind": kinds, "bytes": rows["bytes"].astype(np.int64)})


def _add_calls(builder: TraceBuilder, shard: Shard, rows: Rows, base: int) -> None:
    columns: dict[str, Any] = {
        "start_ns": _or_null(rows["start_ns"]),
        "end_ns": _or_null(rows["end_ns"]),
        "pid": shard.pid,
        "tid": rows["tid"].astype(np.int64),
        "correlation_id": _shifted(rows["correlation_id"], base),
        "domain": Names(rows["driver"].astype(np.int32), ("runtime", "driver")),
        "name": _names(shard, rows["name"]),
    }
    builder.add("api_calls", columns)


def _add_ranges(builder: TraceBuilder, shard: Shard) -> None:
    begins, ends = paired(shard.rows("range_event"))
    windows = _windows(shard)
    if windows is not None and len(begins):
        starts, closes = windows
        last = np.where(ends == OPEN, np.iinfo(np.int64).max, ends)
        before = np.searchsorted(starts, last, side="right") - 1  # the last window that began before the range ended
        meets = (before >= 0) & (np.append(closes, -1)[before] >= begins["time_ns"].astype(np.int64))
        begins, ends = begins[meets], ends[meets]
    given = (begins["payload_type"] == _INTEGER) | ((begins["payload_type"] == _UNSIGNED) & (begins["payload"] >= 0))
    builder.add(
        "ranges",
        {
            "start_ns": begins["time_ns"].astype(np.int64),
            "end_ns": _or_null(ends),
            "pid": shard.pid,
            "tid": begins["tid"].astype(np.int64),
            "domain": _names(shard, begins["domain"]),
            "name": _names(shard, begins["name"]),
            "payload": np.ma.masked_array(begins["payload"].astype(np.int64), mask=~given),
        },
    )


def _add_overheads(builder: TraceBuilder, shard: Shard) -> None:
    rows = shard.rows("overhead")
    kind = np.where(rows["kind"] % (1 << 16) == 0, rows["kind"] >> 16, 0)
    own = np.isin(kind, list(_OVERHEADS))
    rows, kind = rows[own], kind[own]
    columns = {"start_ns": rows["start_ns"].astype(np.int64), "end_ns": rows["end_ns"].astype(np.int64), "pid": shard.pid}
    builder.add("overheads", columns | {"tid": _or_null(rows["tid"]), "kind": _coded(kind, _OVERHEADS)})
