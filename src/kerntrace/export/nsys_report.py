"""Reports for the Nsight Systems GUI, made by NVIDIA's own ImportNvtxt from NVTXT. Room: export.

The report's format is NVIDIA's and undocumented, so none is written here. ImportNvtxt's exit status says nothing: what counts
is whether the file is there.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from kerntrace.capture.nsys import find_nsys, nvtxt_importer, run_importer
from kerntrace.errors import KerntraceError, UsageError
from kerntrace.export.findings import Findings
from kerntrace.export.nvtxt import write_findings_nvtxt
from kerntrace.ingest.nsys_report import export_report
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints

SQLITE, REPORT = ".sqlite", ".nsys-rep"
_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"


def make_report(text: Path, report: Path) -> None:
    """Make a report of an NVTXT file.

    Raises:
        KerntraceError: if there is no ImportNvtxt, or it does not make one.
    """
    _imported(["--cmd", "create", "-n", str(text), "-o", str(report)], report)


def merge_report(trace: Trace, findings: Findings, report: Path, target: Path, folder: Path) -> None:
    """Write a copy of a real report with the findings in it.

    Args:
        report: the report, of the same run as the trace.
        target: the copy.
        folder: for files on the way.

    Raises:
        UsageError: if the report is not of this run.
        KerntraceError: if NVIDIA's programs are missing or fail.
    """
    text = folder / "findings.nvtxt"
    merge_text(trace, findings, report, text, folder)
    _imported(["--cmd", "merge", "-i", str(report.absolute()), "-n", str(text), "-o", str(target)], target)


def merge_text(trace: Trace, findings: Findings, report: Path, text: Path, folder: Path) -> None:
    """Write the NVTXT that `ImportNvtxt --cmd merge` puts into a report, on the report's own clock.

    Raises:
        UsageError: if there are no findings, or the report is not of this run.
    """
    if findings.reason:
        raise UsageError(f"there is nothing to merge: {findings.reason}", "See what kerntrace check says.")
    exported = folder / "report.sqlite"
    export_report(report, exported)
    write_findings_nvtxt(findings, text, _offset(trace, exported, report))


def _offset(trace: Trace, exported: Path, report: Path) -> int:
    """The report's time at time 0 of the trace, told by the kernels that both have.

    Raises:
        UsageError: if a kernel of the trace is not in the report.
    """
    theirs = _kernel_times(exported)
    known = trace.kernels.valid("start_ns") & trace.kernels.valid("end_ns")
    ours = np.stack([trace.kernels.ints("start_ns")[known], trace.kernels.ints("end_ns")[known]], axis=1)
    if len(ours) and len(theirs):
        lengths = theirs[:, 1] - theirs[:, 0]
        first = theirs[lengths == ours[0, 1] - ours[0, 0], 0]
        present = {tuple(row) for row in theirs.tolist()}
        some = ours[np.linspace(0, len(ours) - 1, min(len(ours), 64)).astype(int)]
        for offset in (first - ours[0, 0]).tolist():
            if all((int(a) + offset, int(b) + offset) in present for a, b in some):
                return int(offset)
    raise UsageError(f"{report} is not a report of the run that this trace is of", "Name the report it was imported from.")


def _kernel_times(exported: Path) -> Ints:
    with closing(sqlite3.connect(exported)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (_KERNELS,)).fetchone():
            return np.zeros((0, 2), np.int64)
        return np.array(database.execute(f"SELECT start, end FROM {_KERNELS}").fetchall(), np.int64).reshape(-1, 2)


def _imported(arguments: list[str], made: Path) -> None:
    nsys = find_nsys()
    importer = nvtxt_importer(nsys) if nsys else nvtxt_importer(None)
    if importer is None:
        raise KerntraceError(
            "no ImportNvtxt is found, which makes a report of NVTXT" + (f" (nsys is {nsys})" if nsys else ""),
            "It comes with the full Nsight Systems, not with its CLI alone. Export --format nvtxt and import it where it is.",
        )
    said = run_importer(importer, arguments)
    if not made.is_file():
        raise KerntraceError(f"ImportNvtxt made no report: {said}", "Export --format nvtxt and run ImportNvtxt on it.")
