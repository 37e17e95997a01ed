"""Parameters of a trace: machine, software, workload and recording, as its manifest says them. Room: report."""

from __future__ import annotations

from datetime import datetime, timezone

from kerntrace.report.html.names import shown_name
from kerntrace.report.html.side import Side
from kerntrace.units import NS_PER_S, size

_LABELS = {
    "gpu": "GPU",
    "gpu_count": "GPUs",
    "sm_count": "multiprocessors",
    "compute_capability": "compute capability",
    "driver": "driver",
    "cuda": "CUDA",
    "cupti": "CUPTI",
    "torch": "torch",
    "vllm": "vLLM",
    "python": "Python",
    "cpu": "CPU",
    "profiler": "profiler",
}


def facts(side: Side) -> list[tuple[str, str]]:
    """Labels and values of everything the manifest says, in reading order."""
    manifest = side.analysis.trace.manifest
    environment, workload, capture = manifest.environment, manifest.workload, manifest.capture
    said: list[tuple[str, object]] = [(label, getattr(environment, name)) for name, label in _LABELS.items()]
    said += [
        ("L2 cache", size(environment.l2_bytes) if environment.l2_bytes else None),
        ("memory", size(environment.memory_bytes) if environment.memory_bytes else None),
        ("engine", workload.engine),
        ("model", workload.model),
        ("mode", workload.mode or (f"{side.mode} (told from the recorded work)" if side.mode else None)),
        ("dtype", workload.dtype),
        ("batches", ", ".join(map(str, workload.batches)) or None),
        ("context", f"{workload.context} tokens" if workload.context else None),
        ("generated", f"{workload.tokens} tokens" if workload.tokens else None),
        ("collector", capture.collector),
        ("read from", capture.source),
        ("graph granularity", capture.graph_granularity),
        ("records dropped", capture.dropped_records),
        ("cut", capture.truncated),
        ("begins", _date(manifest.epoch_ns)),
        ("written by", manifest.producer),
        ("rows", ", ".join(f"{name} {len(table):,}" for name, table in side.analysis.trace.tables().items() if len(table))),
    ]
    return [(label, shown_name(str(value))) for label, value in said if value is not None]


def _date(epoch_ns: int | None) -> str | None:
    if epoch_ns is None:
        return None
    try:
        return datetime.fromtimestamp(epoch_ns // NS_PER_S, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return None
