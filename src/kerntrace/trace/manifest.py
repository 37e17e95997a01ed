"""What a trace says of itself: format, producer, clock, machine, capture, workload, and its tables' rows and checksums.

Room: trace. Only facts named here are kept; environment variables, command lines, paths and user names have no field.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kerntrace.errors import UnreadableError
from kerntrace.trace.schema import FORMAT_MAJOR, FORMAT_MINOR, FORMAT_NAME

_LATEST_NS = 2**62  # the year 2116


class Format(msgspec.Struct, frozen=True):
    """Name and version of the bundle's format."""

    name: str = FORMAT_NAME
    major: int = FORMAT_MAJOR
    minor: int = FORMAT_MINOR


class Environment(msgspec.Struct, frozen=True, omit_defaults=True):
    """Machine and software versions, each as its maker prints it; None where the source does not say."""

    gpu: str | None = None
    gpu_count: int | None = None
    sm_count: int | None = None
    l2_bytes: int | None = None
    memory_bytes: int | None = None
    memory_bytes_per_s: int | None = None
    compute_capability: str | None = None
    driver: str | None = None
    cuda: str | None = None
    cupti: str | None = None
    torch: str | None = None
    vllm: str | None = None
    python: str | None = None
    cpu: str | None = None
    profiler: str | None = None


class Capture(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the records came to be.

    Attributes:
        collector: native, cupti-python, nsys, kineto, synthetic.
        source: the file format it was read from, e.g. `nsys-sqlite 3.20.3`.
        kinds: activity kinds recorded.
        graph_granularity: `node` (a record a kernel of a replay) or `graph` (a record a replay).
        whole_graph_replays: replays recorded as one span each, without their kernels.
        dropped_records: records the recorder says it lost; None where it does not say.
        buffer_bytes: size of an activity buffer.
        sessions: CUPTI sessions the process had.
        truncated: what was cut off the recording and why, one line.
    """

    collector: str = "unknown"
    source: str | None = None
    kinds: tuple[str, ...] = ()
    graph_granularity: str | None = None
    whole_graph_replays: int = 0
    dropped_records: int | None = None
    buffer_bytes: int | None = None
    sessions: int | None = None
    truncated: str | None = None


class WorkloadInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was run, as far as the source says."""

    engine: str | None = None
    model: str | None = None
    mode: str | None = None
    dtype: str | None = None
    batches: tuple[int, ...] = ()
    context: int | None = None
    tokens: int | None = None


class TableInfo(msgspec.Struct, frozen=True):
    """Rows of a table and the SHA-256 of its file."""

    rows: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """The manifest.

    Attributes:
        epoch_ns: CLOCK_REALTIME nanoseconds of the trace's time 0, its first event; None where the source does not say.
        clock: the clock that the times were read from.
        producer: program and version that wrote the bundle.
        tables: by table name; empty for a trace that has not been written.
    """

    format: Format = Format()
    producer: str = "kerntrace"
    epoch_ns: int | None = None
    clock: str = "unknown"
    environment: Environment = Environment()
    capture: Capture = Capture()
    workload: WorkloadInfo = WorkloadInfo()
    tables: dict[str, TableInfo] = {}


def encode(manifest: Manifest) -> bytes:
    """The manifest as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def decode(raw: dict[str, Any], where: str) -> Manifest:
    """A manifest from parsed JSON that is already of this format's major version.

    Raises:
        UnreadableError: if a key has the wrong type; the message names the key.
    """
    try:
        manifest = msgspec.convert(raw, Manifest)
        if manifest.epoch_ns is not None and abs(manifest.epoch_ns) > _LATEST_NS:
            raise msgspec.ValidationError(f"{manifest.epoch_ns} ns is no time - at `$.epoch_ns`")
        return manifest
    except msgspec.ValidationError as error:
        raise UnreadableError(f"{where}: the manifest is damaged: {error}", "Export or record the trace again.") from None
