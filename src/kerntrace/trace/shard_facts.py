"""What a directory of shards says of itself: how it was recorded, on what, and what is missing. Room: trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kerntrace.trace.manifest import Capture, Environment
from kerntrace.trace.shard_file import FAILED, FINISHED, Shard, text_of

KINDS = ("kernels", "memops", "launches", "api", "syncs", "overheads", "ranges", "graphs")  # bit i of a session's kinds

_GRAPHS = 1 << 7
_LINES = 8


def missing(shard: Shard) -> list[str]:
    """What this process's recording lacks and why, a line each."""
    who = f"process {shard.pid} ({text_of(shard.session['process'])})"
    status, lines = shard.status, [f"{who}: {damage}" for damage in shard.damage]
    if status is not None and text_of(status["message"]):
        lines.insert(0, f"{who}: {text_of(status['message'])}")
    if status is None or int(status["phase"]) not in (FINISHED, FAILED):
        lines.append(f"{who} ended without closing its shard; what it did last is missing")
    for counter, about in (
        ("bad_buffers", "buffers could not be read to their end"),
        ("lost_names", "ranges or names beyond the recorder's limit"),
    ):
        if status is not None and status[counter]:
            lines.append(f"{who}: {int(status[counter])} {about}")
    return lines


def capture_of(shards: Sequence[Shard], unread: list[str]) -> Capture:
    """How the records came to be, and what is missing of them; `unread` has a line for each file that is none."""
    kinds = 0
    for shard in shards:
        kinds |= int(shard.session["kinds"])
    known = [status for shard in shards if (status := shard.status) is not None and status["cupti_version"]]
    lines = [line for shard in shards for line in missing(shard)] + unread
    more = f"; and {len(lines) - _LINES} more" if len(lines) > _LINES else ""
    lost = sum(shard.lost_rows for shard in shards)
    return Capture(
        collector="native",
        source="kerntrace shards 1",
        kinds=tuple(name for bit, name in enumerate(KINDS) if kinds & (1 << bit)),
        graph_granularity="graph" if kinds & _GRAPHS else "node",
        whole_graph_replays=sum(shard.count("graph_span") for shard in shards),
        dropped_records=sum(int(status["dropped"]) for status in known) + lost if known or lost else None,
        buffer_bytes=int(shards[0].session["buffer_bytes"]),
        sessions=len(known) or None,
        truncated="; ".join(lines[:_LINES]) + more if lines else None,
    )


def environment_of(shards: Sequence[Shard]) -> Environment:
    """The GPU and the recorder, as the shards say."""
    versions = [int(s["cupti_version"]) for shard in shards if (s := shard.status) is not None and s["cupti_version"]]
    cupti = None
    if versions:
        v = versions[0]
        cupti = f"{v // 10000}.{v // 100 % 100}.{v % 100}" if v >= 10000 else str(v)
    profiler = text_of(shards[0].session["producer"])
    for shard in shards:
        devices = shard.rows("device")
        if not len(devices):
            continue
        first = devices[0]
        return Environment(
            gpu=shard.name(int(first["name"])),
            gpu_count=len(np.unique(devices["device"])),
            sm_count=int(first["sm_count"]),
            l2_bytes=int(first["l2_bytes"]),
            memory_bytes=int(first["memory_bytes"]),
            memory_bytes_per_s=int(first["memory_kb_per_s"]) * 1000,
            compute_capability=f"{int(first['compute_major'])}.{int(first['compute_minor'])}",
            cupti=cupti,
            profiler=profiler,
        )
    return Environment(cupti=cupti, profiler=profiler)
