"""Nsight Systems' own report, `.nsys-rep`: exported by NVIDIA's `nsys`, then read as any export. Room: ingest.

The file format is NVIDIA's and undocumented. Its first line names the version that wrote it, and an nsys refuses reports of a
newer one.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from kerntrace.errors import UnreadableError
from kerntrace.ingest.nsys_schema import is_nsys
from kerntrace.ingest.nsys_sqlite import read_nsys_sqlite
from kerntrace.ingest.private_copy import private_folder
from kerntrace.trace.model import Trace

EXPORT_SECONDS = 1800.0
_VERSION_SECONDS = 30.0
_HEAD = 128  # bytes that hold the first line
_USUAL_PLACES = (
    "/opt/nvidia/nsight-systems/*/bin/nsys",
    "/opt/nvidia/nsight-systems/*/target-linux-x64/nsys",
    "/usr/local/cuda*/bin/nsys",
)
_FIRST_LINE = re.compile(rb"NVIDIA Tegra Profiler Report (?:(\d{4})@(\d{1,3})@(\d{1,3}))?")
_OLD_FIRST_LINE = b"Report 1."
_STREAM = re.compile(rb"NVIDIA Nsight Systems Stream")
_SAYS_VERSION = re.compile(r"version (\d{4})\.(\d{1,3})\.(\d{1,3})")

Version = tuple[int, int, int]


def is_report(head: bytes) -> bool:
    """Whether a file that begins so is an `.nsys-rep` (or `.qdrep`, its older name)."""
    return _FIRST_LINE.match(head) is not None or (head.startswith(_OLD_FIRST_LINE) and b"\0" in head)


def is_stream(head: bytes) -> bool:
    """Whether a file that begins so is a `.qdstrm`, what nsys records before it makes a report."""
    return _STREAM.search(head[:64]) is not None


def read_nsys_report(
    path: Path, *, shown: str | None = None, usual_places: Sequence[str] = _USUAL_PLACES, seconds: float = EXPORT_SECONDS
) -> Trace:
    """The trace in an `.nsys-rep`.

    A report made of NVTXT has ranges only; its rows are in the `.sqlite` beside it, where `nsys stats` too looks for them.

    Args:
        shown: how messages call the file, if not by its path.
        usual_places: patterns of where an nsys may be that is not on PATH.
        seconds: how long the export may take.

    Raises:
        UnreadableError: if there is no nsys, none new enough, or its export fails.
    """
    shown = shown or str(path)
    beside = path.with_suffix(".sqlite")
    with private_folder() as folder:
        export = folder / "export.sqlite"
        try:
            export_report(path, export, shown=shown, usual_places=usual_places, seconds=seconds)
        except UnreadableError as error:
            if not _is_whole(beside):
                raise
            raise UnreadableError(error.what, f"Name {beside.name} beside it, which is an export.") from None
        trace = read_nsys_sqlite(export, shown=shown)
    if len(trace.kernels) or not _is_whole(beside):
        return trace
    return read_nsys_sqlite(beside, shown=f"{shown}'s {beside.name}")


def export_report(
    path: Path,
    export: Path,
    *,
    shown: str | None = None,
    usual_places: Sequence[str] = _USUAL_PLACES,
    seconds: float = EXPORT_SECONDS,
) -> None:
    """Have nsys export an `.nsys-rep` as SQLite.

    Args:
        export: the file to be made.
        shown, usual_places, seconds: as above.

    Raises:
        UnreadableError: if it is no report, there is no nsys, none new enough, or its export fails.
    """
    shown = shown or str(path)
    with path.open("rb") as stream:
        if not is_report(stream.read(_HEAD)):
            raise UnreadableError(f"{shown} is not an Nsight Systems report", "Name a .nsys-rep that nsys made.")
    nsys, version = _suitable(shown, report_version(path), usual_places)
    said = _export(nsys, path, export, shown, seconds)
    if not _is_whole(export):  # its exit status says nothing
        called = f"nsys {_dotted(version)}" if version else nsys
        raise UnreadableError(
            f"{shown}: {called} did not export it{said}",
            "If a newer Nsight Systems recorded it, run `nsys export -t sqlite FILE` there and name the result.",
        )


def _is_whole(export: Path) -> bool:
    """Whether an export holds a report's tables: of a report that it cannot parse nsys leaves a database with next to none."""
    if not export.is_file() or not export.stat().st_size:
        return False
    try:
        with closing(sqlite3.connect(export)) as database:
            return is_nsys({name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")})
    except sqlite3.Error:
        return False


def report_version(path: Path) -> Version | None:
    """The version of nsys that wrote the report; None where its first line does not say."""
    with path.open("rb") as stream:
        found = _FIRST_LINE.match(stream.read(_HEAD))
    return (int(found[1]), int(found[2]), int(found[3])) if found and found[1] else None


def installed(usual_places: Sequence[str] = _USUAL_PLACES) -> list[str]:
    """Every nsys found: the one that KERNTRACE_NSYS names or that is on PATH first, then those in the usual places, the newest
    name first."""
    on_path = os.environ.get("KERNTRACE_NSYS") or shutil.which("nsys")
    elsewhere = sorted({place for pattern in usual_places for place in glob.glob(pattern)}, reverse=True)
    return [*([on_path] if on_path else []), *(place for place in elsewhere if os.access(place, os.X_OK))]


def _suitable(shown: str, wanted: Version | None, usual_places: Sequence[str]) -> tuple[str, Version | None]:
    """The first nsys that is not older than the report, by year and release."""
    candidates = installed(usual_places)
    if not candidates:
        raise UnreadableError(
            f"{shown} is an Nsight Systems report, and no nsys is found to export it",
            "Run `nsys export -t sqlite FILE` where it was recorded and name the result, or install nsight-systems here.",
        )
    versions = []
    for nsys in candidates:
        version = _version(nsys)
        if wanted is None or version is None or version[:2] >= wanted[:2]:
            return nsys, version
        versions.append(version)
    raise UnreadableError(
        f"{shown} was recorded by Nsight Systems {_dotted(wanted or max(versions))}, newer than the nsys here"
        f" ({_dotted(max(versions))}), which cannot export it",
        "Run `nsys export -t sqlite FILE` where it was recorded and name the result, or upgrade nsight-systems here.",
    )


def _version(nsys: str) -> Version | None:
    status, said = _run([nsys, "--version"], _VERSION_SECONDS)
    found = _SAYS_VERSION.search(said) if status is not None else None
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _export(nsys: str, path: Path, export: Path, shown: str, seconds: float) -> str:
    """Run the export; the last line that nsys said, as the tail of a message."""
    options = ["export", "--type=sqlite", "--force-overwrite=true", f"--output={export}", str(path.absolute())]
    status, said = _run([nsys, *options], seconds)
    if status is None:
        raise UnreadableError(
            f"{shown}: nsys export {said or f'had not ended after {seconds:.0f} s'}",
            "Run `nsys export -t sqlite FILE` yourself and name the result.",
        )
    lines = [line.strip() for line in re.split(r"[\r\n]+", said) if line.strip() and "%" not in line]
    if any("Can't parse message" in line for line in lines):  # among kilobytes of protobuf's own words
        return ": it cannot parse the file"
    telling = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    return f": {telling[:200]}" if telling else ""


def _run(command: list[str], seconds: float) -> tuple[int | None, str]:
    """Exit status and output of a command; no status where it could not be run (output: why) or took too long (no output)."""
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as error:
        return None, f"could not be run: {error.strerror}"
    with process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except BaseException as error:
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                return None, ""
            raise
    return process.returncode, output.decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and whatever it started: nsys leaves the work to a child."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
