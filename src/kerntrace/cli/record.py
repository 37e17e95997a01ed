"""`kerntrace record`. Room: cli."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerntrace.errors import FAILED, KerntraceError, UsageError

if TYPE_CHECKING:
    from kerntrace.capture.record import Recording
    from kerntrace.trace.model import Trace

# How the verb must be registered: what follows the first word of COMMAND is the command's.
Output = Annotated[Path, typer.Option("-o", "--output", metavar="OUT.ktrace", help="Bundle to write.", show_default=False)]
Command = Annotated[list[str], typer.Argument(metavar="-- COMMAND ...", help="Program to run.", show_default=False)]
CaptureRange = Annotated[
    str, typer.Option("--capture-range", help="all, cuda (cudaProfilerStart to Stop), or nvtx:NAME.", metavar="RANGE")
]
KINDS_HELP = "Kinds of records: kernels, memops, launches, api, syncs, overheads, ranges; or graphs, for whole replays."
Kinds = Annotated[str | None, typer.Option("--kinds", help=KINDS_HELP)]
Collector = Annotated[str, typer.Option("--collector", help="native or nsys.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the bundle if it exists.")]


def record(
    command: Command,
    output: Output,
    capture_range: CaptureRange = "all",
    kinds: Kinds = None,
    collector: Collector = "native",
    force: Force = False,
) -> int:
    """Run any CUDA program, all its processes included, and record what they do on the GPU. Its exit status is ours."""
    from kerntrace.capture.injection import read_capture_range, read_kinds
    from kerntrace.trace.bundle import bundle_path, refuse_to_overwrite

    target = bundle_path(output)
    refuse_to_overwrite(target, force)
    asked = read_capture_range(capture_range)
    wanted = None if kinds is None else read_kinds(kinds)
    if collector == "nsys":
        return _under_nsys(command, asked, target, force)
    if collector != "native":
        raise UsageError(f"--collector {collector!r} cannot record a command", "Collectors: native, nsys.")
    return _injected(command, asked, wanted, target, force)


def _injected(command: list[str], asked: str, kinds: str | None, target: Path, force: bool) -> int:
    from kerntrace.capture.record import record_native
    from kerntrace.trace.shards import is_shards, read_shards

    scratch = _scratch(target)
    try:
        recording = record_native(command, scratch, capture_range=asked, kinds=kinds)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    if not is_shards(scratch):
        shutil.rmtree(scratch, ignore_errors=True)
        return _nothing(recording)
    try:
        _write(read_shards(scratch), target, force)
    except KerntraceError as error:
        _say(f"{error.what}. What was recorded is kept in {scratch}")
        return recording.status or FAILED
    if recording.running:
        _say(f"processes {', '.join(map(str, recording.running))} still run; what they do from now on goes to {scratch}")
        return recording.status
    shutil.rmtree(scratch, ignore_errors=True)
    return recording.status


def _under_nsys(command: list[str], asked: str, target: Path, force: bool) -> int:
    from kerntrace.capture.record import record_nsys
    from kerntrace.ingest.open_any import open_any

    report = target.with_suffix(".nsys-rep")
    if report.exists() and not force:
        raise UsageError(f"{report} exists already", "Choose another name with -o, or add --force to replace it.")
    recording = record_nsys(command, report, capture_range=asked)
    try:
        _write(open_any(report), target, force)
    except KerntraceError as error:
        _say(f"{error.what}. The report is kept in {report}")
        return recording.status or FAILED
    return recording.status


def _scratch(target: Path) -> Path:
    """A directory for shards beside the bundle, where there is room for it."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{target.stem}.shards-", dir=target.parent))
    except OSError as error:
        raise UsageError(f"{target.parent} cannot be written to: {error.strerror}", "Choose another place with -o.") from None


def _nothing(recording: Recording) -> int:
    """No process so much as loaded the recorder."""
    ended = f", exit status {recording.status}" if recording.status else ""
    _say(f"nothing was recorded: no process of the command used CUDA or NVTX{ended}")
    print(_why_nothing(), file=sys.stderr)
    return recording.status or FAILED


def _why_nothing() -> str:
    from kerntrace.capture.machine import NoGpuError, look

    try:
        look()
    except NoGpuError as error:
        return f"There is {error.what.partition(', so')[0]}: CUDA does not start without one."
    return "A program that uses CUDA through a container, sudo or a remote machine does not inherit the recorder."


def _write(trace: Trace, target: Path, force: bool) -> None:
    from kerntrace.capture.dressing import with_machine
    from kerntrace.capture.machine import Machine, NoGpuError, look
    from kerntrace.trace.bundle import write_bundle
    from kerntrace.trace.model import pids

    try:
        machine = look()
    except NoGpuError:
        machine = Machine((), None, None)
    manifest = write_bundle(with_machine(trace, machine), target, force=force)
    rows = ", ".join(f"{info.rows} {name}" for name, info in manifest.tables.items() if info.rows)
    _say(f"wrote {target}: {rows or 'no rows'}")
    if manifest.capture.truncated:
        _say(f"incomplete: {manifest.capture.truncated}")
    worked = [int(pid) for pid in pids(trace) if pid >= 0]
    if len(worked) > 1:
        _say(f"{len(worked)} processes ran work on a GPU; choose one: kerntrace steps {target} --pid {worked[0]}")
    elif len(trace.kernels):
        _say(f"next: kerntrace steps {target}")


def _say(what: str) -> None:
    print(f"kerntrace: {what}", file=sys.stderr)
