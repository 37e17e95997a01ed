"""What a profile adds to the account of its steps: times by the host's clock, traced and untraced. Room: cli."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kerntrace.accounting.analysis import Analysis
    from kerntrace.accounting.summary import Cell
    from kerntrace.capture.wallclock import CellTimes, Dilation

DILATION_COLUMNS = ("dilation", "paired", "95 %", "of repetitions")


def profile_document(
    analysis: Analysis, cells: list[Cell], times: tuple[CellTimes, ...], facts: Mapping[str, str]
) -> dict[str, Any]:
    """`kerntrace.profile/1`: the headline cells of `kerntrace steps`, each with its host-clock times."""
    from kerntrace.report.documents import cell_json, rule_json, trace_json

    return {
        "schema": "kerntrace.profile/1",
        "trace": trace_json(analysis.trace),
        "integrity": {"ok": analysis.ok, "rules": [rule_json(rule) for rule in analysis.rules]},
        "summary": [cell_json(cell) for cell in cells],
        "times": [times_json(cell) | {"graph_kernel_nodes": kernel_nodes(cell, facts)} for cell in times],
    }


def times_json(cell: CellTimes) -> dict[str, Any]:
    """A cell's decode-step times by each repetition, in ns, and their ratio."""
    from kerntrace.capture.wallclock import dilation, step_times

    found = dilation(cell)
    return {
        "batch": cell.batch,
        "context": cell.context,
        "tokens": cell.tokens,
        "traced_step_ns": step_times(cell.traced, cell.tokens),
        "untraced_step_ns": step_times(cell.untraced, cell.tokens),
        "dilation": None if found is None else dilation_json(found),
    }


def dilation_json(found: Dilation) -> dict[str, Any]:
    """A dilation: `ratio` of the medians, `paired` the median ratio of neighbouring repetitions."""
    from kerntrace.report.study_figures import interval_json

    return {
        "ratio": found.ratio,
        "paired": found.paired,
        "paired_interval": interval_json(found.paired_interval, lambda value: value),
        "min": found.low,
        "max": found.high,
        "repetitions": found.repetitions,
    }


def dilation_cells(said: Mapping[str, Any] | None) -> list[str]:
    """A dilation's document in DILATION_COLUMNS."""
    if said is None:
        return ["-"] * len(DILATION_COLUMNS)
    interval = said["paired_interval"]
    paired = f"[{interval['low']:.3f}, {interval['high']:.3f}]" if interval else "-"
    return [f"{said['ratio']:.3f}", f"{said['paired']:.3f}", paired, f"{said['min']:.3f} to {said['max']:.3f}"]


def kernel_nodes(cell: CellTimes, facts: Mapping[str, str]) -> int | None:
    """Kernels of a cell's decode step as the CUDA runtime counts them in its captured graph; None where it was not asked."""
    said = facts.get(f"graph_kernels_{cell.batch}")
    return None if said is None else int(said)


def show_times(times: tuple[CellTimes, ...], facts: Mapping[str, str]) -> None:
    """The dilation of each cell: what tracing did to a step, and how sure that is."""
    from kerntrace.capture.wallclock import dilation, step_times
    from kerntrace.report.tables import show, table
    from kerntrace.report.text import console
    from kerntrace.units import ms

    made = table(
        "decode step by the host's clock, (call of all tokens - call of one) / steps between, medians (measured)",
        dict.fromkeys(("batch", "untraced ms", "traced ms", *DILATION_COLUMNS, "count"), "right"),
    )
    for cell in times:
        found = dilation(cell)
        if found is None:
            traced = statistics.median(step_times(cell.traced, cell.tokens))
            made.add_row(str(cell.batch), "-", ms(traced), *dilation_cells(None), str(len(cell.traced)))
            continue
        figures = dilation_cells(dilation_json(found))
        made.add_row(str(cell.batch), ms(found.untraced_ns), ms(found.traced_ns), *figures, str(found.repetitions))
    show(console(), made)
    for cell in times:
        nodes = kernel_nodes(cell, facts)
        if nodes is not None:
            console().print(
                f"batch {cell.batch}: the captured step holds {nodes} kernel nodes, by the CUDA runtime's own count"
            )
