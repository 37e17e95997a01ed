"""Kernel by kernel: predicted beside measured, for people. Room: report."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from kerntrace.evidence.roofline_join import CellRoofline
from kerntrace.evidence.tally import Tally
from kerntrace.report.roofline_document import published_json
from kerntrace.report.tables import show, table
from kerntrace.report.text import console, printable
from kerntrace.units import duration, ms, share

_SHOWN = 40
_NONE = "-"


def show_roofline(cells: Sequence[CellRoofline], name: str) -> None:
    """Each cell: how much was recognised, T_blocks by profile, classes, kernels, and what does not agree."""
    out = console()
    for one in cells:
        setting = one.setting
        out.print(
            f"[bold]{printable(name)}[/]: {escape(setting.model.name)} on {escape(setting.gpu.name)}, {setting.mode.value}, "
            f"batch {one.batch}, {one.inventory.step.kv_length} keys, profile {escape(one.profile.name)}, "
            f"{len(one.step.steps)} steps"
        )
        _show_recognised(out, one)
        _show_blocks(out, one)
        _show_tallies(out, "by class", one.classes, one, lambda tally: tally.kernel.kind.value)
        _show_tallies(out, "by operation", one.rows, one, lambda tally: tally.kernel.name)
        _show_unmatched(out, one)
        _show_violations(out, one)
        for note in one.notes:
            out.print(f"note: {note}", markup=False, style="dim", soft_wrap=True)
        out.print()
    out.print(
        "measured: median duration over steps, on the device's clock. predicted: the kernel without the gap after it. "
        "Bytes and FLOP are the model's; GB/s, TFLOP/s and shares of the roof are derived from both.",
        style="dim",
        soft_wrap=True,
    )


def _show_recognised(out: Console, one: CellRoofline) -> None:
    out.print(
        f"  recognised: {share(one.classified_share, 1)} of device work, {share(one.classified_kernels, 1)} of "
        f"{one.kernels_recorded} kernels; layers: {one.layers.written if one.layers else 'none found'}"
    )
    out.print(f"  kernels predicted: {one.inventory.formula()}; recorded: {one.kernels_recorded}")
    for found in one.differences:
        out.print(f"    {found.change:+d}: {found.what}: {printable(found.name)}", style="yellow")


def _show_blocks(out: Console, one: CellRoofline) -> None:
    made = table("T_blocks, ms", {"": "left", "predicted": "right", "busy + device gap": "right", "error": "right"})
    for blocks in one.blocks:
        made.add_row(escape(blocks.profile), ms(blocks.predicted_ns), ms(one.device_ns), _percent(blocks.error))
    show(out, made)
    found = one.accuracy
    if found:
        out.print(
            f"  kernel by kernel ({found.count}): time-weighted MAPE {share(found.weighted_mape, 1)}, "
            f"MAPE {share(found.mape_of_measured, 1)} of measured, bias {_percent(found.bias)}"
        )
    row = published_json(one)
    if row:
        out.print(
            f"  reference (published, medians over its grid): eager {row['eager_ms']} ms, graph {row['graph_ms']} ms, gap "
            f"{row['gap_median_ms']} ms. To over-predict this step by {share(row['over_predicted_by'], 1)} a roofline would "
            f"need a flat efficiency of {row['efficiency_needed_here']:.2f}.",
            style="dim",
            soft_wrap=True,
        )


_COLUMNS = {
    "calls": "right",
    "bound": "left",
    "FLOP/B": "right",
    "GB/s": "right",
    "TFLOP/s": "right",
    "of roof": "right",
    "ideal": "right",
    "predicted": "right",
    "measured": "right",
    "error": "right",
    "of time": "right",
}


def _show_tallies(out: Console, title: str, tallies: Sequence[Tally], one: CellRoofline, name: object) -> None:
    assert callable(name)
    made = table(f"{title}, times of one call", {"": "left"} | _COLUMNS)
    for tally in tallies[:_SHOWN]:
        calls = tally.calls
        made.add_row(
            printable(name(tally), 26),
            str(calls),
            tally.bound,
            _number(tally.intensity, 2),
            _number(tally.gb_s, 0),
            _number(tally.tflop_s, 2),
            _NONE if tally.share_of_roof is None else share(tally.share_of_roof, 1),
            duration(tally.ideal_ns / calls),
            duration(tally.predicted_ns / calls),
            duration(tally.measured_ns / calls),
            _NONE if tally.error is None else _percent(tally.error),
            share(tally.measured_ns, one.work_ns),
        )
    show(out, made)


def _show_unmatched(out: Console, one: CellRoofline) -> None:
    if not one.unmatched:
        return
    made = table(
        "recorded work without an operation",
        {"family": "left", "kind": "left", "count": "right", "of time": "right", "name": "left"},
    )
    for found in one.unmatched[:_SHOWN]:
        made.add_row(
            printable(found.family, 40),
            found.kind or "unknown",
            str(found.count),
            share(found.total_ns, one.work_ns),
            printable(found.name, 50),
        )
    show(out, made)


def _show_violations(out: Console, one: CellRoofline) -> None:
    for found in one.violations:
        layer = "" if found.kernel.layer is None else f" of layer {found.kernel.layer}"
        out.print(
            f"  faster than its bytes allow: {found.kernel.name}{layer}: {duration(found.measured_ns)} measured, "
            f"{duration(found.ideal_ns)} at the nominal roof. The byte model counts bytes that do not move: a defect of it, "
            "or of --model, --context or --gpu.",
            style="red",
            soft_wrap=True,
        )


def _percent(value: float) -> str:
    return f"{100 * value:+.1f} %"


def _number(value: float | None, digits: int) -> str:
    return _NONE if value is None else f"{value:.{digits}f}"
