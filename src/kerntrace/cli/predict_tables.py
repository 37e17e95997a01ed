"""What `kerntrace predict` shows a person. Room: cli."""

from __future__ import annotations

from collections.abc import Sequence

from kerntrace.cli.predict_document import names_of, parameters_of, rows_of
from kerntrace.cli.predict_layout import columns, width
from kerntrace.evidence.published import OVER_PREDICTED, Beside, beside_published
from kerntrace.model.predict import Prediction
from kerntrace.units import duration, share, size

_WIDE_ENOUGH = 120
_FEW_KINDS = 4


def show(predictions: Sequence[Prediction], *, with_kernels: bool) -> None:
    """Tables on stdout: the cells side by side, and for one cell its kernels and parameters."""
    room = width()
    tables = [_kernel_table(one, room) for one in predictions] if with_kernels else []
    tables.append(_cell_table(predictions, room))
    if len(predictions) == 1:
        tables.append(_parameter_table(predictions[0], room))
    beside = beside_published(predictions)
    if beside:
        tables.append(_published_table(beside, room))
    print("\n".join(tables))
    for note in dict.fromkeys(note for one in predictions for note in one.notes):
        print(f"note: {note}")


def _kernel_table(one: Prediction, room: int) -> str:
    wide = room >= _WIDE_ENOUGH
    names = names_of(one)
    title = (
        f"{names['model']} on {names['gpu']}, {names['mode']}, batch {names['batch']}, {one.kv_length} keys, {names['profile']}"
    )
    left = ("kernel", "family", "bound") if wide else ("kernel", "bound")
    right = ("calls", "FLOP", "bytes", "FLOP/B", "ideal", "predicted", "total", "share")
    rows = []
    for row in rows_of(one.timed):
        kernel = row.first.kernel
        shown = {
            "kernel": kernel.name,
            "family": kernel.family,
            "bound": row.first.bound.value,
            "calls": str(row.calls),
            "FLOP": f"{kernel.flops / 1e6:.1f} M",
            "bytes": size(kernel.bytes),
            "FLOP/B": f"{kernel.intensity:.2f}",
            "ideal": duration(row.ideal_ns / row.calls),
            "predicted": duration(row.slot_ns / row.calls),
            "total": duration(row.slot_ns),
            "share": share(row.slot_ns, one.t_blocks_ns),
        }
        rows.append(shown)
    return columns(title, left, right if wide else tuple(name for name in right if name not in ("FLOP", "FLOP/B")), rows, room)


def _cell_table(predictions: Sequence[Prediction], room: int) -> str:
    wide = room >= _WIDE_ENOUGH
    names = [names_of(one) for one in predictions]
    # What is the same in every cell goes into the title.
    alike = {key for key in ("gpu", "model", "mode", "profile") if len({name[key] for name in names}) == 1}
    title = ", ".join(["predicted decode step, ms", *(str(names[0][key]) for key in names[0] if key in alike)])
    left = tuple(key for key in ("gpu", "model", "mode", "profile") if key not in alike)
    right = ("batch", "context", "kernels", "T_blocks", "floor", "dispatch", "published", "gap")
    shown_right = (*right, "ideal", "S") if wide else right
    rows = []
    for one, name in zip(predictions, names, strict=True):
        times = {
            "ideal": one.ideal_ns,
            "T_blocks": one.t_blocks_ns,
            "floor": one.floor_ns,
            "S": one.scheduler_ns,
            **one.by_reading_ns,
            "gap": one.gap_total_ns,
        }
        shown = {key: str(value) for key, value in name.items()}
        shown["kernels"] = str(one.inventory.kernel_count)
        rows.append(shown | {key: f"{value / 1e6:.3f}" for key, value in times.items()})
    return columns(title, left, shown_right, rows, room)


def _parameter_table(one: Prediction, room: int) -> str:
    rows = []
    for parameter in parameters_of(one):
        value = parameter["value"]
        shown = {key: str(parameter.get(key, "")) for key in ("kind", "source")}
        shown |= {"parameter": parameter["name"], "value": f"{value:g}" if isinstance(value, float) else str(value)}
        rows.append(shown | {"for": _kinds(parameter.get("used_for", []))})
    title = f"kernels {one.inventory.formula()}; numbers the step was computed from"
    return columns(title, ("parameter", "value", "kind", "for", "source"), (), rows, room)


def _published_table(beside: Sequence[Beside], room: int) -> str:
    rows = [
        {
            "gpu": one.gpu,
            "mode": one.mode.value,
            "profile": one.profile,
            "cells": str(one.cells),
            "predicted": f"{one.predicted_ms:.3f}",
            "published": f"{one.reference_ms:.2f}",
            "efficiency": "" if one.efficiency_needed is None else f"{one.efficiency_needed:.2f}",
        }
        for one in beside
    ]
    title = (
        "medians, ms, beside those of a published study over its own grid (reference); efficiency: the flat share of bandwidth "
        f"at which a roofline is {100 * OVER_PREDICTED:.1f} % above its graph median"
    )
    return columns(title, ("gpu", "mode", "profile"), ("cells", "predicted", "published", "efficiency"), rows, room)


def _kinds(used_for: Sequence[str]) -> str:
    return ", ".join(used_for) if len(used_for) <= _FEW_KINDS else f"{used_for[0]} and {len(used_for) - 1} other kinds"
