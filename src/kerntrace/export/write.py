"""Writes an export under its name, whole or not at all. Room: export."""

from __future__ import annotations

import os
from pathlib import Path

from kerntrace.errors import UsageError
from kerntrace.export.formats import FORMATS, Export, Format
from kerntrace.export.nsys_report import SQLITE, make_report, merge_report, merge_text
from kerntrace.export.nsys_sqlite import write_nsys_sqlite
from kerntrace.export.nvtxt import write_nvtxt
from kerntrace.export.output import draft_folder, put, refuse_to_overwrite


def format_of(name: str) -> Format:
    """The format of a name.

    Raises:
        UsageError: if there is none.
    """
    if name not in FORMATS:
        raise UsageError(f"--format {name!r} is not a format", f"Formats: {', '.join(FORMATS)}.")
    return FORMATS[name]


def refuse_export(name: str, target: Path, force: bool) -> None:
    """Stop before any work is done where writing the export would destroy something.

    Raises:
        UsageError: if something is there that may not be replaced.
    """
    chosen = format_of(name)
    if name == "nsys-rep" and target.suffix == SQLITE:
        raise UsageError(f"{target} is the name of the SQLite beside the report", "Name the report, as in -o run.nsys-rep.")
    for path in _targets(name, target):
        refuse_to_overwrite(path, force, inside=chosen.inside or None)


def write_export(name: str, export: Export, target: Path) -> list[Path]:
    """Write the export; returns what was written.

    Raises:
        UsageError: if it cannot be written there.
        KerntraceError: if a program that a format needs is missing or fails.
    """
    chosen = format_of(name)
    with draft_folder(target) as folder:
        draft = folder / target.name
        if name == "nsys-rep":
            text = folder / "trace.nvtxt"
            write_nvtxt(export.trace, export.findings, text)
            make_report(text, draft)
            write_nsys_sqlite(export.trace, export.findings, draft.with_suffix(SQLITE))
        else:
            if chosen.inside:
                draft.mkdir()
            assert chosen.write is not None
            chosen.write(export, draft)
        written = _targets(name, target)
        for path in written:
            put(folder / path.name, path)
        if len(written) > 1:
            _make_newer(written[1], written[0])
    return written


def write_merged(name: str, export: Export, report: Path, target: Path) -> list[Path]:
    """Write the findings into a copy of a real report of the same run, or the NVTXT that does so.

    Raises:
        UsageError: if the format is no report's, or the report is not of this run.
        KerntraceError: if NVIDIA's programs are missing or fail.
    """
    if name not in ("nvtxt", "nsys-rep"):
        raise UsageError(f"--merge goes with --format nvtxt or nsys-rep, not {name}", "Leave it out, or change the format.")
    with draft_folder(target) as folder:
        draft = folder / target.name
        merge = merge_report if name == "nsys-rep" else merge_text
        merge(export.trace, export.findings, report, draft, folder)
        put(draft, target)
    return [target]


def _make_newer(path: Path, report: Path) -> None:
    """nsys takes the SQLite beside a report only if it was modified in a later second than the report was last touched."""
    later = int(max(report.stat().st_ctime, report.stat().st_mtime)) + 1
    os.utime(path, (later, later))


def _targets(name: str, target: Path) -> list[Path]:
    return [target, target.with_suffix(SQLITE)] if name == "nsys-rep" else [target]
