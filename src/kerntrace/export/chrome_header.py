"""What stands around the events of a Kineto JSON: schema, device, origin of time, names of tracks. Room: export."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from kerntrace.export.chrome_findings import PROCESS, TRACKS
from kerntrace.export.findings import Findings
from kerntrace.export.json_text import quoted
from kerntrace.trace.manifest import Manifest
from kerntrace.trace.model import Trace, devices
from kerntrace.trace.table import Table

_SCHEMA = 1


def header_text(trace: Trace, shift: int) -> bytes:
    """The document up to the beginning of its events."""
    manifest = trace.manifest
    said = manifest.environment
    header: dict[str, Any] = {"schemaVersion": _SCHEMA, "deviceProperties": _devices(trace)}
    if said.cuda and (version := _version(said.cuda)) is not None:
        header["cuda_runtime_version"] = version
    header |= {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}, "displayTimeUnit": "ms"}
    if manifest.epoch_ns is not None:
        header["baseTimeNanoseconds"] = manifest.epoch_ns - shift
    header |= {"traceName": "kerntrace", "kerntrace": {"format": 1, "manifest": _bare(manifest)}}
    return msgspec.json.encode(header)[:-1] + b',\n"traceEvents":[\n'


def _bare(manifest: Manifest) -> Manifest:
    return msgspec.structs.replace(manifest, tables={})


def _version(cuda: str) -> int | None:
    """13.0 as the number that CUDA calls it, 13000."""
    major, _, minor = cuda.partition(".")
    return int(major) * 1000 + int(minor or 0) * 10 if major.isdecimal() and (minor or "0").isdecimal() else None


def _devices(trace: Trace) -> list[dict[str, Any]]:
    said = trace.manifest.environment
    major, _, minor = (said.compute_capability or "").partition(".")
    known = {
        "name": said.gpu,
        "totalGlobalMem": said.memory_bytes,
        "computeMajor": int(major) if major.isdecimal() else None,
        "computeMinor": int(minor) if minor.isdecimal() else None,
        "numSms": said.sm_count,
    }
    kept = {name: value for name, value in known.items() if value is not None}
    return [{"id": int(device), **kept} for device in devices(trace) if device >= 0]


def track_names(trace: Trace, findings: Findings) -> str:
    """Metadata events that name processes and threads and put them in order."""
    events = [_process("0", "GPU work without a device", 0)] if not len(devices(trace)) else []
    for place, device in enumerate(devices(trace).tolist()):
        pid = str(device) if device >= 0 else quoted("GPU")
        events.append(_process(pid, f"GPU {device}" if device >= 0 else "GPU", 1000 + place))
        events += [_thread(pid, stream, f"stream {stream}", stream) for stream in _streams(trace, device)]
    for place, pid_ in enumerate(_pids(trace)):
        events.append(_process(str(pid_), f"process {pid_}", place))
    if len(findings.steps):
        events.append(_process(PROCESS, "kerntrace", 2000))
        events += [_thread(PROCESS, number, track.about, number) for number, track in enumerate(TRACKS, 1)]
    return ",\n".join(events or ['{"ph":"M","name":"process_name","pid":0,"args":{"name":"empty trace"}}'])


def _streams(trace: Trace, device: int) -> list[int]:
    def of(table: Table) -> Any:
        return np.unique(table.ints("stream_id")[table.ints("device_id", null=-1) == device])

    return np.unique(np.concatenate([of(trace.kernels), of(trace.memops)])).tolist()  # type: ignore[no-any-return]


def _pids(trace: Trace) -> list[int]:
    found = [np.unique(table.ints("pid")[table.valid("pid")]) for table in (trace.api_calls, trace.ranges, trace.overheads)]
    return np.unique(np.concatenate(found)).tolist()  # type: ignore[no-any-return]


def _process(pid: str, name: str, place: int) -> str:
    return (
        f'{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":{quoted(name)}}}}},\n'
        f'{{"ph":"M","name":"process_sort_index","pid":{pid},"args":{{"sort_index":{place}}}}}'
    )


def _thread(pid: str, tid: int, name: str, place: int) -> str:
    return (
        f'{{"ph":"M","name":"thread_name","pid":{pid},"tid":{tid},"args":{{"name":{quoted(name)}}}}},\n'
        f'{{"ph":"M","name":"thread_sort_index","pid":{pid},"tid":{tid},"args":{{"sort_index":{place}}}}}'
    )
