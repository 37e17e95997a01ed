"""What a Kineto trace says beside its events: machine, versions, the time its clock counts from. Room: ingest.

Host names, users, paths and job names, which some traces have there too, are left behind.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from kerntrace.errors import UnreadableError
from kerntrace.ingest.json_stream import ArrayStream, BrokenJsonError
from kerntrace.ingest.kineto_events import Event
from kerntrace.ingest.own_manifest import own_manifest
from kerntrace.trace.manifest import Environment, Manifest


@dataclass(frozen=True, slots=True)
class Header:
    """The facts kept.

    Attributes:
        base_ns: CLOCK_REALTIME nanoseconds of the file's time 0; None where the file does not say.
        version: of the JSON's schema.
        environment: the machine.
        own: the manifest of the trace that kerntrace exported; None where another program wrote the file.
    """

    base_ns: int | None
    version: int | None
    environment: Environment
    own: Manifest | None = None


def read_header(stream: ArrayStream[Event], *, any_events: bool) -> Header:
    """The header of a document whose array has been read to its end.

    Args:
        any_events: whether any of the array's elements was an event.

    Raises:
        BrokenJsonError: if what stands beside the array is not JSON, or the whole is no trace.
    """
    try:
        header = json.loads(stream.rest.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        what = "what stands beside traceEvents is not JSON, or is cut" if stream.found else "it is not JSON, or is cut"
        raise BrokenJsonError(what) from None
    if isinstance(header, dict) and stream.found and header.get("traceEvents") is not None:
        raise BrokenJsonError("traceEvents stands in it twice")
    is_empty_trace = isinstance(header, dict) and stream.found and not stream.index
    if not any_events and not is_empty_trace:
        raise no_trace()
    if not isinstance(header, dict):
        header = {}
    base_ns, version = _whole(header.get("baseTimeNanoseconds")), _whole(header.get("schemaVersion"))
    return Header(base_ns, version, _environment(header), _own(header.get("kerntrace")))


def no_trace() -> BrokenJsonError:
    """What to raise of JSON that has no trace events."""
    return BrokenJsonError("it is JSON without trace events, so no profiler's trace")


def _own(said: Any) -> Manifest | None:
    if not isinstance(said, dict) or "manifest" not in said:
        return None
    try:
        return own_manifest(said["manifest"], "the header")
    except UnreadableError as error:  # which does not know the file's name
        raise BrokenJsonError(error.what) from None


def _environment(header: dict[str, Any]) -> Environment:
    devices = header.get("deviceProperties")
    if not isinstance(devices, list) or not devices or not isinstance(devices[0], dict):
        devices = [{}]
    first = devices[0]
    name = first.get("name")
    major, minor = _whole(first.get("computeMajor")), _whole(first.get("computeMinor"))
    cuda, cupti = _whole(header.get("cuda_runtime_version")), _whole(header.get("cupti_version"))
    is_amd = "hip_runtime_version" in header or "roctracer_version" in header  # computeMajor is another number there
    return Environment(
        gpu=name if isinstance(name, str) and name else None,
        gpu_count=len(devices) if first else None,
        sm_count=_whole(first.get("numSms")),
        memory_bytes=_whole(first.get("totalGlobalMem")),
        compute_capability=None if is_amd or major is None or minor is None else f"{major}.{minor}",
        cuda=None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}",
        cupti=None if cupti is None else str(cupti),
    )


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None
