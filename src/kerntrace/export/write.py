"""Writes an export under its name, whole or not at all. Room: export."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kerntrace.errors import UsageError
from kerntrace.export.formats import FORMATS, Export, Format
from kerntrace.export.nsys_report import REPORT, SQLITE, make_report, merge_report, merge_text
from kerntrace.export.nsys_sqlite import write_nsys_sqlite
from kerntrace.export.nvtxt import write_nvtxt
from kerntrace.export.output import draft_folder, put, refuse_to_harm, refuse_to_overwrite
from kerntrace.trace.model import Trace


def format_of(name: str) -> Format:
    """The format of a name.

    Raises:
        UsageError: if there is none.
    """
    if name not in FORMATS:
        raise UsageError(f"--format {name!r} is not a format", f"Formats: {', '.join(FORMATS)}.")
    return FORMATS[name]


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be written where.

    Attributes:
        name: of the format.
        target: file or directory to write.
        force: whether what is there already may be replaced.
        merge: a real report, into a copy of which the findings are put.
    """

    name: str
    target: Path
    force: bool = False
    merge: Path | None = None

    @property
    def targets(self) -> list[Path]:
        """Everything that is written: without a merge, a report has its SQLite beside it."""
        pair = self.name == "nsys-rep" and self.merge is None
        return [self.target, self.target.with_suffix(SQLITE)] if pair else [self.target]


def refuse_export(order: Order, trace: Path) -> None:
    """Stop before any work is done where what is asked for cannot be, or would destroy something.

    Args:
        trace: what is exported.

    Raises:
        UsageError: if the format and the options do not go together, or something is there that may not be replaced.
    """
    format_of(order.name)
    if order.name == "nsys-rep" and order.target.suffix != REPORT:
        raise UsageError(
            f"{order.target} is no name for a report, by which Nsight Systems knows it", "Name it as in -o run.nsys-rep."
        )
    if order.merge is not None:
        refuse_merge(order.name, order.merge)
    for path in order.targets:
        for source in filter(None, (trace, order.merge)):
            refuse_to_harm(path, source)
    _refuse_to_replace(order)


def write_export(order: Order, export: Export) -> list[Path]:
    """Write the export; returns what was written.

    Raises:
        UsageError: if it cannot be written there.
        KerntraceError: if a program that a format needs is missing or fails.
    """
    name, target = order.name, order.target
    chosen = format_of(name)
    with draft_folder(target) as folder:
        draft = folder / target.name
        if name == "nsys-rep":
            _refuse_nothing(export.trace)
            text = folder / "trace.nvtxt"
            write_nvtxt(export.trace, export.findings, text)
            make_report(text, draft)
            write_nsys_sqlite(export.trace, export.findings, draft.with_suffix(SQLITE))
        else:
            if chosen.inside:
                draft.mkdir()
            assert chosen.write is not None
            chosen.write(export, draft)
        written = order.targets
        _refuse_to_replace(order)  # writing took its time: something may be there now
        for path in written:
            put(folder / path.name, path)
        if len(written) > 1:
            _make_newer(written[1], written[0])
    return written


def refuse_merge(name: str, report: Path) -> None:
    """Stop where the findings cannot be merged.

    Raises:
        UsageError: if the format is no report's, or there is no such report.
    """
    if name not in ("nvtxt", "nsys-rep"):
        raise UsageError(f"--merge goes with --format nvtxt or nsys-rep, not {name}", "Leave it out, or change the format.")
    if not report.is_file():
        raise UsageError(f"--merge {report}: there is no such file", "Name the .nsys-rep that the trace was imported from.")


def write_merged(order: Order, export: Export, report: Path) -> list[Path]:
    """Write the findings into a copy of a real report of the same run, or the NVTXT that does so.

    Raises:
        UsageError: if the format is no report's, or the report is not of this run.
        KerntraceError: if NVIDIA's programs are missing or fail.
    """
    refuse_merge(order.name, report)
    with draft_folder(order.target) as folder:
        draft = folder / order.target.name
        merge = merge_report if order.name == "nsys-rep" else merge_text
        merge(export.trace, export.findings, report, draft, folder)
        _refuse_to_replace(order)
        put(draft, order.target)
    return [order.target]


def _refuse_to_replace(order: Order) -> None:
    for path in order.targets:
        refuse_to_overwrite(path, order.force, inside=format_of(order.name).inside or None)


def _refuse_nothing(trace: Trace) -> None:
    """ImportNvtxt makes no report without ranges."""
    if not any(len(table) for table in (trace.kernels, trace.memops, trace.api_calls, trace.ranges)):
        raise UsageError("the trace holds nothing that a report could show", "See what kerntrace check says of it.")


def _make_newer(path: Path, report: Path) -> None:
    """nsys takes the SQLite beside a report only if it was modified in a later second than the report was last touched."""
    later = int(max(report.stat().st_ctime, report.stat().st_mtime)) + 1
    os.utime(path, (later, later))
