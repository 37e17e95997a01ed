"""`kerntrace export`. Room: cli."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerntrace.cli.options import JSON_LIMIT, Device, JsonLimit, Pid, StepRange, TracePath, open_trace, working
from kerntrace.cli.say import say
from kerntrace.errors import DONE

if TYPE_CHECKING:
    from kerntrace.accounting.analysis import Analysis
    from kerntrace.export.formats import Export

FormatName = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="nsys-sqlite, nvtxt, nsys-rep, chrome, perfetto, parquet or csv.",
        show_default=False,
    ),
]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT", help="File or directory to write.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")]
StepsPart = Annotated[
    str | None,
    typer.Option("--steps", metavar="N|A-B|A:B", help="Only these steps and what they launched: A-B with B, A:B without."),
]
Merge = Annotated[
    Path | None,
    typer.Option("--merge", metavar="REPORT.nsys-rep", help="Put the findings into a copy of this report of the same run."),
]


def export(
    trace: TracePath,
    format_: FormatName,
    output: Output = None,
    force: Force = False,
    steps: StepsPart = None,
    merge: Merge = None,
    device: Device = None,
    pid: Pid = None,
    step_range: StepRange = None,
    json_limit: JsonLimit = JSON_LIMIT,
) -> int:
    """Write a trace, and what was found in it, for Nsight Systems, Perfetto, pandas, DuckDB or a spreadsheet."""
    from kerntrace.accounting.analysis import Question, analyse
    from kerntrace.export.output import default_name
    from kerntrace.export.write import Order, format_of, refuse_export, write_export, write_merged

    chosen = format_of(format_)
    target = output if output is not None else default_name(trace, chosen.ending)
    order = Order(format_, target, force, merge)
    refuse_export(order, trace)
    opened = open_trace(trace, json_limit, verify=True)
    with working(f"accounting for {trace.name}"):
        made = _export(analyse(opened, Question(device, pid, step_range)), steps, trace.name)
    with working(f"writing {target.name}"):
        written = write_export(order, made) if merge is None else write_merged(order, made, merge)
    for path in written:
        say(_told(path))
    if made.findings.reason:
        say(f"The tables are as recorded; steps, idle causes and phases are left out: {made.findings.reason}")
    say(f"Shows: {chosen.shows}.")
    say(f"Cannot show: {chosen.lacks}.")
    return DONE


def _export(analysis: Analysis, steps: str | None, name: str) -> Export:
    from kerntrace.export.findings import find
    from kerntrace.export.formats import Export
    from kerntrace.export.part import part_of, read_part, steps_of

    if steps is None:
        return Export(analysis.trace, find(analysis), analysis)
    found = steps_of(analysis, name)
    part = read_part(steps, len(found))
    return Export(part_of(analysis, found, part), find(analysis, part.first, part.last), analysis)


def _told(path: Path) -> str:
    from kerntrace.units import size

    files = list(path.iterdir()) if path.is_dir() else [path]
    counted = f"{len(files)} tables, " if path.is_dir() else ""
    return f"{path}: {counted}{size(sum(file.stat().st_size for file in files))}"
