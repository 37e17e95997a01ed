"""The environment under which every CUDA process of a tree records itself. Room: capture.

The CUDA driver loads the library at cuInit, and each NVTX client at its first range; both find KERNTRACE_DIRECTORY and write a
shard of their own there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kerntrace.capture.vllm_plugin import WANTED
from kerntrace.errors import UsageError

KINDS = ("kernels", "memops", "launches", "api", "syncs", "overheads", "ranges", "graphs")
_LOADED_BY = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")


def read_capture_range(text: str) -> str:
    """`all`, `cuda` or `nvtx:NAME`, as the recorder takes it.

    Raises:
        UsageError: if it is none of these.
    """
    if text in ("all", "cuda") or (text.startswith("nvtx:") and len(text) > len("nvtx:")):
        return text
    raise UsageError(f"--capture-range {text!r} is not a range", "Write all, cuda (cudaProfilerStart to Stop) or nvtx:NAME.")


def read_kinds(text: str) -> str:
    """A comma-separated list of kinds.

    Raises:
        UsageError: if one is unknown, or two exclude each other.
    """
    kinds = [kind.strip() for kind in text.split(",")]
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise UsageError(f"--kinds: {unknown[0]!r} is no kind of record", f"Kinds: {', '.join(KINDS)}.")
    if {"graphs", "kernels"} <= set(kinds):
        raise UsageError("--kinds: graphs and kernels exclude each other", "Record each in a run of its own.")
    return ",".join(kinds)


def injected(
    environment: Mapping[str, str], library: Path, directory: Path, *, capture_range: str, kinds: str | None = None
) -> dict[str, str]:
    """A copy of an environment under which a process tree is recorded into `directory`.

    Raises:
        UsageError: if another tool is to be injected already.
    """
    for name in _LOADED_BY:
        other = environment.get(name)
        if other and Path(other).name != library.name:
            raise UsageError(
                f"{name} names {Path(other).name}: another tool is injected into CUDA programs here",
                f"Unset {name}, then record again.",
            )
    said = dict(environment) | {name: str(library.resolve()) for name in _LOADED_BY}
    said |= {"KERNTRACE_DIRECTORY": str(directory.resolve()), "KERNTRACE_RANGE": capture_range, WANTED: "1"}
    if kinds is not None:
        said["KERNTRACE_KINDS"] = kinds
    # vLLM forks its processes by default, and CUPTI cannot be used in a forked child.
    said.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    return said
