"""`kerntrace steps`. Room: cli."""

from __future__ import annotations

from kerntrace.cli.options import (
    JSON_LIMIT,
    AsCsv,
    AsJson,
    Batch,
    Device,
    JsonLimit,
    Kind,
    Pid,
    StepRange,
    StepRows,
    TracePath,
    analyse_file,
    chosen_cells,
    chosen_steps,
    one_format,
    print_csv,
    print_json,
    read_batches,
)
from kerntrace.cli.refusal import no_steps, refused
from kerntrace.errors import DONE, REFUSED


def steps(
    trace: TracePath,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    batch: Batch = None,
    kind: Kind = None,
    numbers: StepRows = None,
    device: Device = None,
    pid: Pid = None,
    step_range: StepRange = None,
    json_limit: JsonLimit = JSON_LIMIT,
) -> int:
    """Account for every step: GPU busy, and each nanosecond of idleness by its cause."""
    from kerntrace.accounting.summary import cells_of
    from kerntrace.report.documents import steps_document
    from kerntrace.report.step_rows import STEP_COLUMNS, step_rows

    one_format(as_json, as_csv)
    sizes = read_batches(batch)
    analysis = analyse_file(trace, device, pid, step_range, json_limit)
    no_steps(analysis, trace.name)
    shown = chosen_steps(analysis, sizes, kind, numbers) if analysis.ok else []
    cells = chosen_cells(cells_of(analysis), sizes, kind)
    if as_json:
        print_json(steps_document(analysis, cells, shown))
    if not analysis.ok:
        refused(analysis, trace.name)
        return REFUSED
    if as_csv:
        print_csv(step_rows(analysis, shown), STEP_COLUMNS)
    elif not as_json:
        from kerntrace.report.text import show_steps

        show_steps(analysis, cells, shown, trace.name)
    return DONE
