"""What `kerntrace predict` says, as a document and as rows. Room: cli.

The kinds of numbers: everything here is predicted; parameters carry their own kind and source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from kerntrace.evidence.published import beside_published
from kerntrace.model.predict import Prediction
from kerntrace.model.profile import Constant, find_constants
from kerntrace.model.roofline import Timed, launched_as
from kerntrace.model.scheduler import S_AT_1_MS, S_AT_16_MS, SForm


@dataclass(frozen=True, slots=True)
class Row:
    """Kernels alike: the same name, family and shape."""

    first: Timed
    calls: int
    ideal_ns: float
    slot_ns: float
    busy_ns: float


def document(predictions: Sequence[Prediction], *, with_kernels: bool) -> dict[str, Any]:
    """The `kerntrace.predict/1` document; schema in docs/model.md."""
    cells = [_cell(one, with_kernels=with_kernels) for one in predictions]
    return {"schema": "kerntrace.predict/1", "kind": "predicted", "cells": cells, "published": _published(predictions)}


def _published(predictions: Sequence[Prediction]) -> list[dict[str, Any]]:
    """The published study's medians beside ours; they are references, and went into nothing."""
    return [
        {
            "kind": "reference",
            "gpu": one.gpu,
            "mode": one.mode.value,
            "profile": one.profile,
            "cells": one.cells,
            "predicted_median_ms": round(one.predicted_ms, 3),
            "reference_median_ms": round(one.reference_ms, 2),
            "efficiency_needed": None if one.efficiency_needed is None else round(one.efficiency_needed, 3),
        }
        for one in beside_published(predictions)
    ]


def cell_row(one: Prediction) -> dict[str, Any]:
    """A cell as one flat row."""
    cell = _cell(one, with_kernels=False)
    return {key: value for key, value in cell.items() if key not in ("parameters", "layers")}


def kernel_rows(predictions: Sequence[Prediction]) -> list[dict[str, Any]]:
    """A row for each kind of kernel of each cell."""
    return [{**names_of(one), **_kernel(row)} for one in predictions for row in rows_of(one.timed)]


def names_of(one: Prediction) -> dict[str, Any]:
    return {
        "gpu": one.gpu.name,
        "model": one.model.name,
        "mode": one.cell.mode.value,
        "batch": one.cell.batch,
        "context": one.cell.context,
        "profile": one.profile.name,
    }


def _cell(one: Prediction, *, with_kernels: bool) -> dict[str, Any]:
    cell: dict[str, Any] = {
        **names_of(one),
        "reading": one.options.reading.value,
        "kv_length": one.kv_length,
        "in_table": one.gpu.in_table,
        "predicted_step_ns": round(one.step_ns),
        "t_blocks_ns": round(one.t_blocks_ns),
        "ideal_ns": round(one.ideal_ns),
        "kernel_count": one.inventory.kernel_count,
        "kernel_count_formula": one.inventory.formula(),
        "host_launches": one.inventory.host_launches,
        "terms": _terms(one),
        "parameters": parameters_of(one),
        "notes": list(one.notes),
    }
    if with_kernels:
        cell["kernels"] = [_kernel(row) for row in rows_of(one.timed)]
    return cell


def _terms(one: Prediction) -> dict[str, Any]:
    host = one.options.host
    return {
        "t_blocks_ns": round(one.t_blocks_ns),
        "t_samp_gpu_ns": round(one.t_sampler_gpu_ns),
        "t_samp_host_ns": round(1000 * host.t_sampler_host_us.value),
        "dispatch_floor_ns": round(one.floor_ns),
        "driver_floor_ns": round(one.driver_floor_ns),
        "s_ns": round(one.scheduler_ns),
        "alpha_s_ns": round(one.residual_ns),
        "step_by_reading_ns": {reading: round(value) for reading, value in one.by_reading_ns.items()},
        "gap_residual_ns": round(one.gap_residual_ns),
        "gap_total_ns": round(one.gap_total_ns),
    }


def parameters_of(one: Prediction) -> list[dict[str, Any]]:
    """Every number that went in, with its kind and source."""
    found = [_parameter(field.name, getattr(one.options.host, field.name)) for field in fields(one.options.host)]
    source = f"S(1) = {S_AT_1_MS} ms and S(16) = {S_AT_16_MS} ms are published, the form between them is not"
    is_table = one.options.s_form is SForm.TABLE
    disclosed = one.cell.batch in (1, 16) and not is_table
    found += [
        {
            "name": f"S({one.cell.batch})_ms",
            "value": round(one.scheduler_ns / 1e6, 4),
            "kind": "measured" if is_table else ("disclosed" if disclosed else "assumed"),
            "source": "given on the command line" if is_table else f"form {one.options.s_form.value}: {source}",
        },
        {"name": "alpha", "value": one.options.alpha.value, "kind": "assumed", "source": "the publication gives no values"},
    ]
    for label, quantity in (
        ("bandwidth_gb_s", one.gpu.bandwidth_gb_s),
        ("bf16_tflops", one.gpu.bf16_tflops),
        ("sms", one.gpu.sms),
    ):
        found += [
            {"name": label, "value": figure.value, "kind": kind, "source": figure.source, "date": figure.date}
            for kind, figure in quantity.kinds()
        ]
    kinds = dict.fromkeys(
        (entry.kernel.kind, entry.kernel.family.partition(".")[0] == "triton", launched_as(entry.kernel, one.profile))
        for entry in one.timed
    )
    seen: dict[tuple[str, Constant], list[str]] = {}
    for kind, inductor, launched in kinds:
        for name, constant in find_constants(one.profile, one.gpu, kind, "triton." if inductor else "", launched).items():
            used = seen.setdefault((name, constant), [])
            note = " (Inductor)" if inductor else " (outside the graph)" if launched else ""
            used.append(f"{kind.value}{note}")
    return found + [{**_parameter(name, constant), "used_for": used} for (name, constant), used in seen.items()]


def _parameter(name: str, constant: Constant) -> dict[str, Any]:
    return {"name": name, "value": constant.value, "kind": constant.kind, "source": constant.source, "date": constant.date}


def rows_of(timed: Sequence[Timed]) -> list[Row]:
    groups: dict[tuple[object, ...], list[Timed]] = {}
    for entry in timed:
        kernel = entry.kernel
        groups.setdefault((kernel.name, kernel.family, kernel.shape), []).append(entry)
    return [
        Row(
            first=group[0],
            calls=len(group),
            ideal_ns=sum(entry.ideal_ns for entry in group),
            slot_ns=sum(entry.slot_ns for entry in group),
            busy_ns=sum(entry.busy_ns for entry in group),
        )
        for group in groups.values()
    ]


def _kernel(row: Row) -> dict[str, Any]:
    kernel = row.first.kernel
    return {
        "name": kernel.name,
        "family": kernel.family,
        "kind": kernel.kind.value,
        "phase": kernel.phase.value,
        "operations": list(kernel.operations),
        "shape": list(kernel.shape),
        "calls": row.calls,
        "flops": kernel.flops,
        "dram_bytes": kernel.dram_bytes,
        "l2_bytes": kernel.l2_bytes,
        "intensity": round(kernel.intensity, 4),
        "bound": row.first.bound.value,
        "ideal_ns": round(row.ideal_ns / row.calls),
        "predicted_ns": round(row.slot_ns / row.calls),
        "busy_ns": round(row.busy_ns / row.calls),
        "total_ns": round(row.slot_ns),
        "is_copy": kernel.is_copy,
    }
