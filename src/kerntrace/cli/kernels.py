"""`kerntrace kernels`. Room: cli."""

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


def kernels(
    trace: TracePath,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    batch: Batch = None,
    kind: Kind = None,
    device: Device = None,
    pid: Pid = None,
    step_range: StepRange = None,
    json_limit: JsonLimit = JSON_LIMIT,
) -> int:
    """Say which kernels a step runs: how often, how long, by family, and the layer that repeats."""
    from kerntrace.accounting.summary import cells_of
    from kerntrace.report.documents import KERNEL_COLUMNS, kernel_row, kernels_document
    from kerntrace.steps.layers import layers_of
    from kerntrace.steps.work import kernels_in

    one_format(as_json, as_csv)
    sizes = read_batches(batch)
    analysis = analyse_file(trace, device, pid, step_range, json_limit)
    no_steps(analysis, trace.name)
    chosen_steps(analysis, sizes, kind)
    found = []
    for cell in chosen_cells(cells_of(analysis), sizes, kind):
        assert analysis.steps is not None  # cells come from steps
        uses = kernels_in(analysis.trace, analysis.ops, analysis.steps, cell.steps)
        typical = int(cell.steps[len(cell.steps) // 2])
        found.append((cell, uses, layers_of(analysis.trace, analysis.ops, analysis.steps, typical)))
    if as_json:
        print_json(
            kernels_document(analysis, [(cell, uses, layers.json() if layers else None) for cell, uses, layers in found])
        )
    if not analysis.ok:
        refused(analysis, trace.name)
        return REFUSED
    if as_csv:
        rows = [{"kind": c.kind, "batch": c.batch} | kernel_row(use, c) for c, uses, _ in found for use in uses]
        print_csv(rows, ["kind", "batch", *KERNEL_COLUMNS])
    elif not as_json:
        from kerntrace.report.text import show_kernels

        show_kernels(analysis, found, trace.name)
    return DONE
