"""NVIDIA's nsys as a collector: found, asked for its version, and put before a command. Room: capture."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kerntrace.errors import KerntraceError

_PLACES = (
    "/opt/nvidia/nsight-systems/*/bin/nsys",
    "/opt/nvidia/nsight-systems/*/target-linux-x64/nsys",
    "/usr/local/cuda*/bin/nsys",
    "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys",  # the one inside Nsight Compute records too
)
_IMPORTERS = ("../host-linux-x64/QdstrmImporter", "../linux-desktop-glibc_2_11_3-x64/QdstrmImporter")
_NVTXT_IMPORTERS = ("ImportNvtxt", *(place.replace("QdstrmImporter", "ImportNvtxt") for place in _IMPORTERS))
_IMPORT_SECONDS = 1800.0
_VERSION = re.compile(r"version (\d{4}\.\d+(?:\.\d+)*)")
_SECONDS = 30.0


def find_nsys() -> str | None:
    """The nsys on PATH, else the newest in the usual places; None if there is none. KERNTRACE_NSYS names another."""
    named = os.environ.get("KERNTRACE_NSYS")
    if named:
        return named
    found = shutil.which("nsys")
    if found:
        return found
    there = [place for pattern in _PLACES for place in sorted(glob.glob(pattern), reverse=True) if os.access(place, os.X_OK)]
    return there[0] if there else None


def required_nsys() -> str:
    """The nsys to use.

    Raises:
        KerntraceError: if there is none.
    """
    found = find_nsys()
    if found is None:
        raise KerntraceError(
            "no nsys is found, which --collector nsys runs",
            "Install nsight-systems, name it in KERNTRACE_NSYS, or use --collector native.",
        )
    return found


def nsys_version(nsys: str) -> str | None:
    """Its version, or None where it does not say."""
    try:
        said = subprocess.run([nsys, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(said)
    return found[1] if found else None


def importer_beside(nsys: str) -> str | None:
    """The importer that belongs to an nsys which may not find it itself; None if it is not there."""
    home = Path(nsys).resolve().parent
    for place in _IMPORTERS:
        importer = (home / place).resolve()
        if os.access(importer, os.X_OK):
            return str(importer)
    return None


def profile_command(nsys: str, report: Path, capture_range: str = "cudaProfilerApi") -> tuple[str, ...]:
    """What is put before a command to record it: every kernel of a graph replay, no sampling.

    Args:
        report: the .nsys-rep to be written.
        capture_range: cudaProfilerApi, nvtx or none (all of the run).
    """
    ends = () if capture_range == "none" else ("--capture-range-end=stop",)
    return (
        nsys,
        "profile",
        "--trace=cuda,nvtx",
        "--cuda-graph-trace=node",
        "--trace-fork-before-exec=true",
        "--sample=none",
        "--cpuctxsw=none",
        f"--capture-range={capture_range}",
        *ends,
        "--force-overwrite=true",
        f"--output={report.with_suffix('')}",
    )


def finished_report(report: Path, nsys: str) -> Path:
    """The report, made from nsys's raw recording where nsys could not make it itself.

    Raises:
        KerntraceError: if there is neither.
    """
    if report.is_file():
        return report
    raw = report.with_suffix(".qdstrm")
    importer = importer_beside(nsys)
    if raw.is_file() and importer is not None:
        subprocess.run([importer, "-i", str(raw), "-o", str(report)], capture_output=True, timeout=600, check=False)
    if not report.is_file():
        why = (
            "its importer could not read the recording (libdw.so.1 may be missing)" if raw.is_file() else "it recorded nothing"
        )
        raise KerntraceError(f"nsys left no report: {why}", "Run `kerntrace doctor`, which looks for nsys and its importer.")
    return report


def nvtxt_importer(nsys: str | None) -> str | None:
    """NVIDIA's ImportNvtxt, which makes reports of NVTXT: the one that belongs to an nsys, else the one on PATH."""
    home = Path(nsys).resolve().parent if nsys else None
    for place in _NVTXT_IMPORTERS if home else ():
        importer = (home / place).resolve()  # type: ignore[operator]  # there is a home where there are places
        if os.access(importer, os.X_OK):
            return str(importer)
    return shutil.which("ImportNvtxt")


def run_importer(importer: str, arguments: Sequence[str]) -> str:
    """Run an importer to its end; the last thing that it said. Its exit status says nothing."""
    home = str(Path(importer).parent)  # its libraries lie beside it, where not every loader looks
    searched = os.pathsep.join(filter(None, [home, os.environ.get("LD_LIBRARY_PATH")]))
    environment = {**os.environ, "LD_LIBRARY_PATH": searched, "QT_QPA_PLATFORM": "offscreen"}
    try:
        done = subprocess.run(
            [importer, *arguments], capture_output=True, timeout=_IMPORT_SECONDS, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return f"it had not ended after {_IMPORT_SECONDS:.0f} s"
    except OSError as error:
        return f"it could not be run: {error.strerror}"
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    lines = [line.strip() for line in re.split(r"[\r\n]+", said) if line.strip() and "%" not in line]
    missing = next((line for line in lines if "error while loading shared libraries" in line), None)
    return (missing or (lines[-1] if lines else "it said nothing"))[:300]
