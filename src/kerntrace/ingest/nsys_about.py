"""What an Nsight Systems export says about itself, the machine and the capture. Room: ingest.

Only the facts named here are asked for. Environment variables, command lines, process, host and user names, which an export
also holds, are never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kerntrace.ingest.nsys_schema import (
    CAPTURE_FACTS,
    CUDA_DEVICES,
    DIAGNOSTICS,
    EXPORT_FACTS,
    GPUS,
    GRAPH_REPLAYS,
    SESSION_START,
)
from kerntrace.ingest.nsys_source import NsysSource, Rows, count_rows, facts, read_rows, text_of
from kerntrace.trace.manifest import Capture, Environment

_VERSION, _SCHEMA = "EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION"
_GRAPH_MODE = "CUDA_GRAPH_TRACE_OPTIONS:MODE"

_EVENTS = r"(?:\w+\s+){0,3}(?:events?|records?|activities)\b"
_LOST = (
    re.compile(rf"\b(\d+)\s+{_EVENTS}\s+(?:\w+\s+){{0,3}}(?:dropped|lost)\b", re.I),
    re.compile(rf"\b(?:dropped|lost)\s+(\d+)\s+{_EVENTS}", re.I),
    re.compile(rf"\b(?:dropped|lost)\s+{_EVENTS}\s*[:=]\s*(\d+)\b", re.I),
    re.compile(rf"\b{_EVENTS}\s+(?:\w+\s+){{0,2}}(?:dropped|lost)\s*[:=]\s*(\d+)\b", re.I),
)
_NOT_OURS = re.compile(r"sampl|context switch|os runtime|ftrace|perf\b|etw\b", re.I)  # these lose no kernel, call or range


class About:
    """The export's own words, asked once."""

    def __init__(self, source: NsysSource) -> None:
        said: dict[str, str] = {}
        for table in EXPORT_FACTS:
            said = {**facts(source, table, (_VERSION, _SCHEMA)), **said}
        self.schema_version = _plain(said.get(_SCHEMA))
        self.product_version = _plain(said.get(_VERSION))

    @property
    def profiler(self) -> str:
        """`Nsight Systems 2025.3.2`, or without its version where the export does not say."""
        return f"Nsight Systems {'.'.join(self.product_version.split('.')[:3])}".rstrip()

    def source_format(self, source: NsysSource) -> str:
        """`nsys-sqlite 3.20.3`."""
        return f"{source.format} {self.schema_version}".rstrip()


def epoch_ns(source: NsysSource) -> int | None:
    """CLOCK_REALTIME nanoseconds of the export's time 0; None where it does not say."""
    for rows in read_rows(source, SESSION_START):
        said = [int(value) for value in rows.get("utcEpochNs").to_pylist() if value is not None and value > 0]
        if said:
            return said[0]
    return None


def environment(source: NsysSource, profiler: str, devices: Sequence[int]) -> Environment:
    """The GPUs, as far as the export says.

    Args:
        devices: CUDA ordinals that ran something; where the export maps them to GPUs, only those GPUs are described.
    """
    batches = list(read_rows(source, GPUS))
    gpus = [gpu for rows in batches for gpu in _dicts(rows)]
    used = _gpu_ids(source, devices)
    gpus = [gpu for gpu in gpus if gpu.get("id") in used] or gpus
    names = [text_of(name) for gpu in gpus if isinstance(name := gpu.get("name"), bytes)]
    major, minor = _agreed(gpus, "computeMajor"), _agreed(gpus, "computeMinor")
    return Environment(
        gpu=", ".join(dict.fromkeys(names)) or None,
        gpu_count=len(gpus) or None,
        sm_count=_agreed(gpus, "smCount"),
        l2_bytes=_agreed(gpus, "l2CacheSize"),
        memory_bytes=_agreed(gpus, "totalMemory"),
        memory_bytes_per_s=_agreed(gpus, "memoryBandwidth"),
        compute_capability=None if major is None else f"{major}.{minor or 0}",
        profiler=profiler,
    )


def capture(source: NsysSource, source_format: str, kinds: Sequence[str], saw_graph_nodes: bool) -> Capture:
    """How the records came to be.

    Args:
        kinds: what was recorded.
        saw_graph_nodes: whether a kernel or memop of a replay has a record of its own.
    """
    replays = count_rows(source, GRAPH_REPLAYS)
    mode = facts(source, CAPTURE_FACTS, (_GRAPH_MODE,)).get(_GRAPH_MODE, "").strip().lower()
    if replays or (mode == "graph" and not saw_graph_nodes):
        granularity: str | None = "graph"
    else:
        granularity = "node" if saw_graph_nodes or mode == "node" else None
    return Capture(
        collector="nsys",
        source=source_format,
        kinds=tuple(kinds),
        graph_granularity=granularity,
        whole_graph_replays=replays,
        dropped_records=_dropped(source),
    )


def _dicts(rows: Rows) -> list[dict[str, object]]:
    return list(rows.batch.to_pylist())


def _gpu_ids(source: NsysSource, devices: Iterable[int]) -> set[object]:
    ordinals = set(devices)
    pairs = [pair for rows in read_rows(source, CUDA_DEVICES) for pair in _dicts(rows)]
    return {pair.get("gpuId") for pair in pairs if pair.get("cudaId") in ordinals} - {None}


def _agreed(gpus: list[dict[str, object]], column: str) -> int | None:
    """The value that all GPUs share; None where they differ or say nothing."""
    values = {value for gpu in gpus if isinstance(value := gpu.get(column), int)}
    return values.pop() if len(values) == 1 else None


def _dropped(source: NsysSource) -> int | None:
    """Records that a diagnostic message counts as lost; None where none does."""
    counts = []
    for rows in read_rows(source, DIAGNOSTICS):
        for raw in rows.get("text").to_pylist():
            counts += _lost_in(text_of(raw)[:2000]) if raw else []
    return sum(counts) if counts else None


def _lost_in(message: str) -> list[int]:
    if _NOT_OURS.search(message):
        return []
    return next(([int(found[1])] for pattern in _LOST if (found := pattern.search(message))), [])


def _plain(version: str | None) -> str:
    """A version, if it is one; anything else is not repeated."""
    return version if version and re.fullmatch(r"\d+(\.\d+){0,4}", version) else ""
