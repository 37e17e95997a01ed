"""The `kerntrace.roofline/1` document and its rows. Room: report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kerntrace.accounting.analysis import Analysis
from kerntrace.evidence.published import OVER_PREDICTED, efficiency_to_over_predict, reference_for
from kerntrace.evidence.roofline_join import CellRoofline, Unmatched
from kerntrace.evidence.tally import Tally
from kerntrace.report.documents import rule_json, trace_json
from kerntrace.stats.accuracy import Accuracy

Json = dict[str, Any]

KINDS = {
    "measured_ns": "measured",
    "busy_ns": "measured",
    "device_gap_ns": "measured",
    "device_ns": "measured",
    "predicted_ns": "predicted",
    "ideal_ns": "predicted",
    "flops": "predicted",
    "bytes": "predicted",
    "gb_s": "derived",
    "tflop_s": "derived",
    "share_of_roof": "derived",
    "error": "derived",
    "reference": "reference",
}


def roofline_document(analysis: Analysis, cells: Sequence[CellRoofline]) -> Json:
    """`kerntrace.roofline/1`; described in docs/model.md."""
    return {
        "schema": "kerntrace.roofline/1",
        "trace": trace_json(analysis.trace),
        "integrity": {"ok": analysis.ok, "rules": [rule_json(rule) for rule in analysis.rules]},
        "kinds": KINDS,
        "cells": [_cell(one) for one in cells],
    }


def roofline_rows(cells: Sequence[CellRoofline]) -> list[Json]:
    """A flat row for each operation of each cell, and one for each recorded name without an operation."""
    rows = []
    for one in cells:
        about = _about(one)
        rows += [about | kernel_json(tally, one) for tally in one.rows]
        rows += [
            about
            | {"name": "", "family": found.family, "kind": found.kind, "recorded": [found.name], "calls": found.count}
            | {"measured_ns": round(found.total_ns / found.count), "measured_total_ns": round(found.total_ns)}
            for found in one.unmatched
        ]
    return rows


def _about(one: CellRoofline) -> Json:
    return {
        "gpu": one.setting.gpu.name,
        "model": one.setting.model.name,
        "mode": one.setting.mode.value,
        "batch": one.batch,
        "context": one.setting.context,
        "kv_length": one.inventory.step.kv_length,
        "profile": one.profile.name,
    }


def _cell(one: CellRoofline) -> Json:
    return {
        **_about(one),
        "in_table": one.setting.gpu.in_table,
        "steps": one.step.of,
        "steps_compared": len(one.step.steps),
        "layers": one.layers.json() if one.layers else None,
        "kernel_count": _kernel_count(one),
        "classified": {"time_share": one.classified_share, "kernel_share": one.classified_kernels},
        "busy_ns": one.busy_ns,
        "device_gap_ns": one.device_gap_ns,
        "device_ns": one.device_ns,
        "t_blocks": [
            {"profile": blocks.profile, "predicted_ns": round(blocks.predicted_ns), "error": blocks.error}
            for blocks in one.blocks
        ],
        "accuracy": _accuracy(one.accuracy),
        "violations": [
            {"name": v.kernel.name, "layer": v.kernel.layer, "measured_ns": v.measured_ns, "ideal_ns": round(v.ideal_ns)}
            for v in one.violations
        ],
        "classes": [_tally(tally, one) | {"kind": tally.kernel.kind.value} for tally in one.classes],
        "kernels": [kernel_json(tally, one) for tally in one.rows],
        "unmatched": [_unmatched(found, one) for found in one.unmatched],
        "published": published_json(one),
        "notes": list(one.notes),
    }


def _kernel_count(one: CellRoofline) -> Json:
    return {
        "predicted": one.kernels_predicted,
        "recorded": one.kernels_recorded,
        "predicted_formula": one.inventory.formula(),
        "differences": [
            {"what": found.what, "name": found.name, "count": found.count, "change": found.change} for found in one.differences
        ],
    }


def _unmatched(found: Unmatched, one: CellRoofline) -> Json:
    return {
        "family": found.family,
        "name": found.name,
        "kind": found.kind or None,
        "count": found.count,
        "total_ns": round(found.total_ns),
        "share_of_busy": found.total_ns / one.work_ns,
    }


def published_json(one: CellRoofline) -> Json | None:
    """The published study's row for this GPU and model, and the efficiency that its over-prediction would need here."""
    row = reference_for(one.setting.gpu.name, one.setting.model.name, one.setting.dtype)
    if row is None:
        return None
    ideal = sum(pair.timed.ideal_ns for pair in one.pairs)
    return {
        "kind": "reference",
        "gap_median_ms": row.gap_ms,
        "eager_ms": round(row.eager_ms, 2),
        "graph_ms": round(row.graph_ms, 2),
        "over_predicted_by": OVER_PREDICTED,
        "efficiency_needed_here": round(efficiency_to_over_predict(ideal, one.device_ns), 4),
    }


def kernel_json(tally: Tally, one: CellRoofline) -> Json:
    """An operation: figures of one call are means over its calls."""
    kernel = tally.kernel
    return {
        "name": kernel.name,
        "family": kernel.family,
        "kind": kernel.kind.value,
        "operations": list(kernel.operations),
        "shape": list(kernel.shape),
        "recorded": list(tally.names),
        **_tally(tally, one),
    }


def _tally(tally: Tally, one: CellRoofline) -> Json:
    calls = tally.calls
    return {
        "calls": calls,
        "bound": tally.bound,
        "flops": round(tally.flops / calls),
        "bytes": round(tally.bytes / calls),
        "intensity": _rounded(tally.intensity),
        "ideal_ns": round(tally.ideal_ns / calls),
        "predicted_ns": round(tally.predicted_ns / calls),
        "measured_ns": round(tally.measured_ns / calls),
        "measured_total_ns": round(tally.measured_ns),
        "share_of_busy": tally.measured_ns / one.work_ns,
        "gb_s": _rounded(tally.gb_s),
        "tflop_s": _rounded(tally.tflop_s),
        "share_of_roof": _rounded(tally.share_of_roof),
        "error": _rounded(tally.error),
        "weighted_mape": _rounded(tally.weighted_mape),
    }


def _accuracy(found: Accuracy | None) -> Json | None:
    if found is None:
        return None
    return {
        "kernels": found.count,
        "time_weighted_mape": found.weighted_mape,
        "mape_of_measured": found.mape_of_measured,
        "mape_of_predicted": found.mape_of_predicted,
        "bias": found.bias,
        "median_factor": found.median_factor,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
