"""Record any program: run it under injection, or under nsys, and find what its processes left. Room: capture."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kerntrace.capture.command import run_command
from kerntrace.capture.injection import injected
from kerntrace.capture.native import library_path
from kerntrace.capture.nsys import finished_report, profile_command, required_nsys
from kerntrace.trace.shard_file import SUFFIX

_SETTLE_SECONDS = 15.0  # what a process that outlives its parent may take to finish its shard
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Recording:
    """What a recorded command left.

    Attributes:
        status: its exit status.
        collected: directory of shards, or an nsys report.
        running: processes that are still writing, and may write more.
    """

    status: int
    collected: Path
    running: tuple[int, ...] = ()


def record_native(command: Sequence[str], scratch: Path, *, capture_range: str, kinds: str | None) -> Recording:
    """Run a command with the recorder injected into every process of its tree.

    Args:
        scratch: an empty directory, for the shards.

    Raises:
        KerntraceError: if the recorder is not installed.
        UsageError: if the command cannot be run.
    """
    environment = injected(os.environ, library_path(), scratch, capture_range=capture_range, kinds=kinds)
    status = run_command(command, environment)
    return Recording(status, scratch, still_writing(scratch))


def record_nsys(command: Sequence[str], report: Path, *, capture_range: str) -> Recording:
    """Run a command under nsys.

    Args:
        report: the .nsys-rep to be written; it stays.

    Raises:
        KerntraceError: if there is no nsys, or it left no report.
        UsageError: if the command cannot be run.
    """
    nsys = required_nsys()
    environment = dict(os.environ)
    kind, _, name = capture_range.partition(":")
    before = profile_command(nsys, report, {"all": "none", "cuda": "cudaProfilerApi"}.get(kind, "nvtx"))
    if name:
        before = (*before, f"--nvtx-capture={name}")
        environment["NSYS_NVTX_PROFILER_REGISTER_ONLY"] = "0"  # else only registered strings begin a capture
    status = run_command([*before, *command], environment)
    return Recording(status, finished_report(report, nsys))


def still_writing(directory: Path, seconds: float = _SETTLE_SECONDS) -> tuple[int, ...]:
    """Processes that hold a shard of the directory open, after waiting for them to finish."""
    deadline = time.monotonic() + seconds
    while (running := _writers(directory)) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return running


def _writers(directory: Path) -> tuple[int, ...]:
    if not any(directory.glob(f"*{SUFFIX}")):
        return ()
    place = str(directory.resolve())
    return tuple(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal() and _holds(entry, place))


def _holds(process: Path, place: str) -> bool:
    """Whether a process has a file of that directory open; one that may not be looked at, or is gone, does not count."""
    try:
        return any(os.readlink(handle).startswith(place + "/") for handle in (process / "fd").iterdir())
    except OSError:
        return False
