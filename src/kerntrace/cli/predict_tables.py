"""What `kerntrace predict` shows a person. Room: cli."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from kerntrace.cli.predict_document import names_of, parameters_of, rows_of
from kerntrace.evidence.published import OVER_PREDICTED, Beside, beside_published
from kerntrace.model.predict import Prediction
from kerntrace.units import duration, share, size

_WIDE = 150
_WIDE_ENOUGH = 120
_FEW_KINDS = 4


def show(predictions: Sequence[Prediction], *, with_kernels: bool) -> None:
    """Tables on stdout: the cells side by side, and for one cell its kernels and parameters."""
    from rich.console import Console

    # A pipe or a file has no width of its own: give the tables the room they need instead of 80 columns.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
    if with_kernels:
        for one in predictions:
            console.print(_kernel_table(one, wide=console.width >= _WIDE_ENOUGH))
    console.print(_cell_table(predictions, wide=console.width >= _WIDE_ENOUGH))
    if len(predictions) == 1:
        console.print(_parameter_table(predictions[0]))
    beside = beside_published(predictions)
    if beside:
        console.print(_published_table(beside))
    for note in dict.fromkeys(note for one in predictions for note in one.notes):
        console.print(f"note: {note}", markup=False, soft_wrap=True)


def _kernel_table(one: Prediction, *, wide: bool) -> Any:
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
    return _table(title, left, right if wide else tuple(name for name in right if name not in ("FLOP", "FLOP/B")), rows)


def _cell_table(predictions: Sequence[Prediction], *, wide: bool) -> Any:
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
    return _table(title, left, shown_right, rows)


def _parameter_table(one: Prediction) -> Any:
    rows = []
    for parameter in parameters_of(one):
        value = parameter["value"]
        shown = {key: str(parameter.get(key, "")) for key in ("kind", "source")}
        shown |= {"parameter": parameter["name"], "value": f"{value:g}" if isinstance(value, float) else str(value)}
        rows.append(shown | {"for": _kinds(parameter.get("used_for", []))})
    title = f"kernels {one.inventory.formula()}; numbers the step was computed from"
    return _table(title, ("parameter", "value", "kind", "for", "source"), (), rows)


def _published_table(beside: Sequence[Beside]) -> Any:
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
    return _table(title, ("gpu", "mode", "profile"), ("cells", "predicted", "published", "efficiency"), rows)


def _kinds(used_for: Sequence[str]) -> str:
    return ", ".join(used_for) if len(used_for) <= _FEW_KINDS else f"{used_for[0]} and {len(used_for) - 1} other kinds"


def _table(title: str, left: Sequence[str], right: Sequence[str], rows: Sequence[dict[str, str]]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # Text, not str: a model's name comes from a path and may hold markup.
    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in left:
        table.add_column(column, overflow="fold")
    for column in right:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(row[column]) for column in (*left, *right)))
    return table
