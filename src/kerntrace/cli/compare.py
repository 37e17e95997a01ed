"""`kerntrace compare`. Room: cli."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kerntrace.cli.options import (
    JSON_LIMIT,
    TRACE_HELP,
    AsCsv,
    AsJson,
    Batch,
    Device,
    JsonLimit,
    Kind,
    Pid,
    StepRange,
    analyse_file,
    asked_for,
    known_kind,
    one_format,
    print_csv,
    print_json,
    read_batches,
)
from kerntrace.cli.refusal import no_steps, refused
from kerntrace.errors import DONE, REFUSED, KerntraceError, UsageError


def compare(
    a: Annotated[Path, typer.Argument(metavar="EAGER", help=f"First trace: {TRACE_HELP}", show_default=False)],
    b: Annotated[Path, typer.Argument(metavar="GRAPH", help="Second trace, of the same kinds.", show_default=False)],
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    batch: Batch = None,
    kind: Kind = None,
    device: Device = None,
    pid: Pid = None,
    step_range: StepRange = None,
    json_limit: JsonLimit = JSON_LIMIT,
) -> int:
    """Put two traces side by side: every term of the ledger, its difference, and whether the same kernels ran."""
    from kerntrace.accounting.compare import compare as compared
    from kerntrace.report.documents import compare_document
    from kerntrace.report.text_compare import compare_rows, show_compare

    one_format(as_json, as_csv)
    sizes = read_batches(batch)
    one, other = (analyse_file(path, device, pid, step_range, json_limit) for path in (a, b))
    for analysis, path in ((one, a), (other, b)):
        no_steps(analysis, path.name)
    comparison = compared(one, other, sizes, known_kind(kind))
    if (sizes or kind) and not comparison.pairs and one.ok and other.ok and compared(one, other).pairs:
        raise UsageError(f"no cell {asked_for(sizes, kind)} is in both traces", _told(one, other))
    if as_json:
        print_json(compare_document(comparison))
    if not (one.ok and other.ok):
        for analysis, path in ((one, a), (other, b)):
            refused(analysis, path.name)
        return REFUSED
    if not comparison.pairs:
        raise KerntraceError("the two traces have no steady steps of one kind and batch in common", _told(one, other))
    if as_csv:
        print_csv(compare_rows(comparison))
    elif not as_json:
        show_compare(comparison, a.name, b.name)
    return DONE


def _told(*analyses: object) -> str:
    from kerntrace.accounting.analysis import Analysis
    from kerntrace.accounting.summary import cells_of

    said = []
    for name, analysis in zip(("First", "Second"), analyses):
        assert isinstance(analysis, Analysis)
        cells = [f"{c.kind} batch {c.batch if c.batch is not None else 'unknown'}" for c in cells_of(analysis)]
        said.append(f"{name}: {', '.join(cells) or 'none steady'}.")
    return " ".join(said)
