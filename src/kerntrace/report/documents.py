"""The `--json` documents of the reading verbs. Their keys are stable and described in docs/json.md. Room: report."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kerntrace.accounting.analysis import Analysis
from kerntrace.accounting.compare import Comparison
from kerntrace.accounting.phases import Phases
from kerntrace.accounting.summary import Cell, Spread, outside_steps, phase_shares, phases_of
from kerntrace.report.step_rows import brief_step_rows, step_rows
from kerntrace.steps.steady import exclusions
from kerntrace.steps.work import FamilyUse, KernelUse, SameWork
from kerntrace.trace.integrity import Rule
from kerntrace.trace.manifest import Manifest
from kerntrace.trace.model import Trace

Json = dict[str, Any]


def check_document(analysis: Analysis) -> Json:
    """`kerntrace.check/1`."""
    return {
        "schema": "kerntrace.check/1",
        "ok": analysis.ok,
        "trace": trace_json(analysis.trace),
        "rules": [rule_json(rule) for rule in analysis.rules],
    }


def steps_document(analysis: Analysis, cells: list[Cell], shown: list[int]) -> Json:
    """`kerntrace.steps/1`: every step of `shown`, and the headline cells."""
    with ThreadPoolExecutor(1) as pool:  # NumPy leaves the interpreter free, so the rows can be made meanwhile
        waiting = pool.submit(phases_of, analysis)
        rows = step_rows(analysis, shown)
        return _steps_document(analysis, cells, rows, waiting.result())


def brief_steps_document(analysis: Analysis, cells: list[Cell], shown: list[int]) -> Json:
    """`kerntrace.steps/1` without what a row says of launches and single gaps, which takes a pass over every call and gap."""
    return _steps_document(analysis, cells, brief_step_rows(analysis, shown), phases_of(analysis))


def _steps_document(analysis: Analysis, cells: list[Cell], rows: list[Json], phases: Phases | None) -> Json:
    steps = analysis.steps
    return {
        "schema": "kerntrace.steps/1",
        "trace": trace_json(analysis.trace),
        "integrity": {"ok": analysis.ok, "rules": [rule_json(rule) for rule in analysis.rules]},
        "segmentation": steps.boundaries.method if steps else None,
        "segmentation_detail": steps.boundaries.detail if steps else "",
        "excluded": exclusions(steps, analysis.steady) if steps else {},
        "kernels_outside_steps": outside_steps(analysis),
        "steps": rows,
        "summary": [
            cell_json(cell)
            | {
                "phases": [
                    {"name": s.name, "host_wait_mean_ns": s.host_wait, "launch_call_mean_ns": s.launch_call}
                    for s in (phase_shares(phases, cell) if phases else [])
                ]
            }
            for cell in cells
        ],
    }


def cell_json(cell: Cell) -> Json:
    """A headline cell."""
    return {
        "kind": cell.kind,
        "batch": cell.batch,
        "steps": len(cell.steps),
        **{name: spread_json(value) for name, value in cell.counts.items()},
        **{f"{name}_ns": spread_json(value) for name, value in cell.terms.items()},
    }


def spread_json(spread: Spread) -> Json:
    return {"median": spread.median, "min": spread.min, "max": spread.max}


def rule_json(rule: Rule) -> Json:
    return {"rule": rule.rule, "ok": rule.ok, "detail": rule.detail} | ({"fix": rule.fix} if rule.fix else {})


def trace_json(trace: Trace) -> Json:
    """What a trace is: versions, machine and rows."""
    manifest: Manifest = trace.manifest
    environment = {k: v for k, v in _fields(manifest.environment).items() if v is not None}
    return {
        "producer": manifest.producer,
        "collector": manifest.capture.collector,
        "source": manifest.capture.source,
        "epoch_ns": manifest.epoch_ns,
        "environment": environment,
        "rows": {name: len(table) for name, table in trace.tables().items()},
    }


def kernels_document(analysis: Analysis, cells: list[tuple[Cell, list[KernelUse], Json | None]]) -> Json:
    """`kerntrace.kernels/1`."""
    return {
        "schema": "kerntrace.kernels/1",
        "trace": trace_json(analysis.trace),
        "integrity": {"ok": analysis.ok, "rules": [rule_json(rule) for rule in analysis.rules]},
        "cells": [
            {
                "kind": cell.kind,
                "batch": cell.batch,
                "steps": len(cell.steps),
                "kernels_per_step": spread_json(cell.counts["kernels"]),
                "busy_ns": spread_json(cell.terms["busy"]),
                "motif": motif,
                "kernels": [kernel_row(use, cell) for use in uses],
            }
            for cell, uses, motif in cells
        ],
    }


KERNEL_COLUMNS = (
    "family",
    "name",
    "count_per_step",
    "count_min",
    "count_max",
    "varies",
    "total_mean_ns_per_step",
    "median_ns",
    "share_of_busy",
    "graph_share",
    "shapes",
)


def kernel_row(use: KernelUse, cell: Cell) -> Json:
    """A kernel name of a cell."""
    busy = cell.terms["busy"].median
    return {
        "family": use.family,
        "name": use.name,
        "count_per_step": use.count,
        "count_min": use.count_min,
        "count_max": use.count_max,
        "varies": use.count_min != use.count_max,
        "total_mean_ns_per_step": use.total_ns,
        "median_ns": use.median_ns,
        "share_of_busy": use.total_ns / busy if busy else None,
        "graph_share": use.graph_share,
        "shapes": list(use.shapes),
    }


def compare_document(comparison: Comparison) -> Json:
    """`kerntrace.compare/1`."""
    pairs = comparison.pairs
    return {
        "schema": "kerntrace.compare/1",
        "a": {"trace": trace_json(comparison.a.trace), **_segmentation(comparison.a)},
        "b": {"trace": trace_json(comparison.b.trace), **_segmentation(comparison.b)},
        "integrity": {
            side: {"ok": one.ok, "rules": [rule_json(rule) for rule in one.rules]}
            for side, one in (("a", comparison.a), ("b", comparison.b))
        },
        "cells": [
            {
                "batch": pair.told.batch,
                "kind": pair.told.kind,
                "batch_assumed": pair.assumed,
                "a": cell_json(pair.a),
                "b": cell_json(pair.b),
                "delta": {name: {"median": value} for name, value in pair.delta.items()},
                "same_work": same_work_json(pair.work),
            }
            for pair in pairs
        ],
        "unpaired": [{"side": side, "kind": cell.kind, "batch": cell.batch} for side, cell in comparison.unpaired],
        "same_work": _over_cells([(pair.told.batch, pair.work) for pair in pairs]),
    }


def same_work_json(work: SameWork, **more: Any) -> Json:
    return {
        "verdict": "same" if work.same else "different",
        "only_a": [family_json(use, **more) for use in work.only_a],
        "only_b": [family_json(use, **more) for use in work.only_b],
        "changed": [
            {
                "family": change.family,
                "what": change.what,
                "count_a": change.a.count,
                "count_b": change.b.count,
                "total_mean_ns_a": change.a.total_ns,
                "total_mean_ns_b": change.b.total_ns,
                **more,
            }
            for change in work.changed
        ],
    }


def family_json(use: FamilyUse, **more: Any) -> Json:
    return {"family": use.family, "count": use.count, "total_mean_ns": use.total_ns, "kernels": sorted(use.names), **more}


def _over_cells(works: list[tuple[int | None, SameWork]]) -> Json | None:
    """One verdict over all cells; entries name the batch they are of."""
    if not works:
        return None
    parts = [same_work_json(work, batch=batch) for batch, work in works]
    verdict = "same" if all(work.same for _, work in works) else "different"
    return {
        "verdict": verdict,
        **{key: [row for part in parts for row in part[key]] for key in ("only_a", "only_b", "changed")},
    }


def _segmentation(analysis: Analysis) -> Json:
    found = analysis.steps.boundaries if analysis.steps else None
    return {"segmentation": found.method if found else None, "segmentation_detail": found.detail if found else ""}


def _fields(struct: Any) -> Json:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}
