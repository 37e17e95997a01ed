"""A study's report as terminal tables. Every table's title says what kind of numbers it holds. Room: report."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from kerntrace.evidence.effects import PERCENTILE, CellFigures, EffectFigures
from kerntrace.evidence.finding import Finding, Verdict
from kerntrace.evidence.machines import PUBLISHED
from kerntrace.evidence.study_evidence import Evidence, Machine
from kerntrace.report.tables import show, table
from kerntrace.report.text import console, printable
from kerntrace.report.text_study_parts import (
    between,
    in_ms,
    of_sessions,
    percent,
    show_accuracy,
    show_attribution,
    show_missing,
)
from kerntrace.report.text_study_traces import show_traces
from kerntrace.units import NS_PER_MS, ms

_COLOURS = {
    Verdict.SUPPORTS: "green",
    Verdict.CONTRADICTS: "red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.NOT_TESTABLE: "dim",
}
_WIDE = 200


def show_study(evidence: Evidence, findings: Sequence[Finding]) -> None:
    """Everything: hosts, what is missing, cells, machines, traces, attribution, accuracy, and the verdicts last."""
    out = console()
    if not out.is_terminal:
        out = Console(highlight=False, width=_WIDE, soft_wrap=True)
    _show_head(out, evidence)
    show_missing(out, evidence.missing)
    for machine in evidence.machines:
        if machine.cells:
            _show_cells(out, machine)
    _show_machines(out, evidence)
    show_traces(out, evidence)
    show_attribution(out, evidence)
    show_accuracy(out, evidence)
    _show_findings(out, findings)


def _show_head(out: Console, evidence: Evidence) -> None:
    study, plan, how = evidence.study, evidence.study.plan, evidence.how
    replayed = " [yellow](replayed: it says nothing new)[/]" if study.replayed else ""
    out.print(f"[bold]{printable(plan.name)}[/]: {printable(plan.model)}, g = {plan.tokens} tokens{replayed}")
    out.print(f"  plan and hypotheses: sha256 {escape(study.plan_sha256[:16])}", style="dim")
    out.print(
        f"  95 % intervals, seed {how.seed}, {how.resamples} resamples; margin of no gap {how.margin_ns / NS_PER_MS:g} ms",
        style="dim",
    )
    for machine in evidence.machines:
        host = machine.host
        of = f"{printable(machine.store)}: " if machine.store else ""
        versions = ", ".join(f"{name} {version}" for name, version in host.versions.items())
        about = f"{printable(host.gpu, 40)}, {printable(host.cpu or 'CPU not known', 50)}"
        out.print(f"  host {of}{printable(host.key, 24)}: {about}", soft_wrap=True)
        if versions:
            out.print(f"    {escape(versions)}", style="dim", soft_wrap=True)
        changed = "; ".join(f"{name} {', then '.join(values)}" for name, values in host.changed().items())
        if changed:
            out.print(f"    not the same throughout: {escape(changed)}", style="yellow", soft_wrap=True)


def _name(machine: Machine) -> str:
    of = f"{printable(machine.store)}: " if machine.store else ""
    return f"{of}{printable(machine.host.gpu, 40)} ({printable(machine.host.key, 24)})"


def _show_cells(out: Console, machine: Machine) -> None:
    out.print()
    modes = list(dict.fromkeys(mode for cell in machine.cells for mode in cell.arms))
    columns = {"batch": "right", "context": "right"}
    for mode in modes:
        columns |= {mode: "right", f"{mode} 95 %": "left"}
    made = table(f"{_name(machine)}: step by subtraction, ms (derived from measured walls; medians, {PERCENTILE})", columns)
    for cell in machine.cells:
        row = [str(cell.place.batch), str(cell.place.context)]
        for mode in modes:
            arm = cell.arms.get(mode)
            row += [ms(arm.median), in_ms(arm.percentile)] if arm else ["-", ""]
        made.add_row(*row)
    show(out, made)
    _show_spread(out, machine.cells, modes)
    for effect in dict.fromkeys(name for cell in machine.cells for name in cell.effects):
        _show_effect(out, machine, effect)


def _show_spread(out: Console, cells: Sequence[CellFigures], modes: Sequence[str]) -> None:
    made = table(
        "  how steps vary, ms (derived): largest and median over cells",
        {
            "  mode": "left",
            "sessions": "right",
            "repetitions": "right",
            "between sessions": "right",
            "between repetitions": "right",
            "MAD": "right",
            "outliers": "right",
        },
    )
    for mode in modes:
        arms = [cell.arms[mode] for cell in cells if mode in cell.arms]
        made.add_row(
            f"  {mode}",
            _range([arm.sessions for arm in arms]),
            _range([arm.repetitions for arm in arms]),
            _spread([arm.spread.between_sessions for arm in arms]),
            _spread([arm.spread.between_repetitions for arm in arms]),
            _spread([arm.spread.mad for arm in arms]),
            f"{sum(arm.spread.outliers for arm in arms)} of {sum(arm.repetitions for arm in arms)}",
        )
    show(out, made)


def _range(counts: Sequence[int]) -> str:
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _spread(values: Sequence[float | None]) -> str:
    known = sorted(value for value in values if value is not None)
    return f"{ms(known[-1])}, {ms(known[len(known) // 2])}" if known else "-"


def _show_effect(out: Console, machine: Machine, effect: str) -> None:
    cells = [cell for cell in machine.cells if effect in cell.effects]
    first = cells[0].effects[effect]
    made = table(
        f"  {effect}: {first.a} less {first.b}, ms (derived)",
        {
            "  batch": "right",
            "context": "right",
            "medians": "right",
            "repetitions 95 %": "left",
            "by session 95 %": "left",
            "mean of sessions 95 %": "left",
            "Hodges-Lehmann": "right",
            "HL 95 %": "left",
            "benefit": "right",
            "benefit 95 %": "left",
            "outcome": "left",
        },
    )
    for cell in cells:
        made.add_row(f"  {cell.place.batch}", str(cell.place.context), *_effect_row(cell.effects[effect]))
    show(out, made)


def _effect_row(one: EffectFigures) -> list[str]:
    return [
        ms(one.estimate),
        in_ms(one.percentile),
        in_ms(one.hierarchical),
        of_sessions(one.session),
        ms(one.hodges_lehmann),
        in_ms(one.hodges_lehmann_interval),
        percent(one.benefit),
        between(one.benefit_interval, 100, 1),
        one.outcome,
    ]


def _show_machines(out: Console, evidence: Evidence) -> None:
    if not evidence.figures:
        out.print("no cell has two modes: no gap, and nothing that follows from one", style="yellow")
        return
    out.print()
    made = table(
        "over cells, ms and % (derived): medians of per-cell figures",
        {
            "machine": "left",
            "grid": "left",
            "effect": "left",
            "cells": "right",
            "median": "right",
            "repetitions": "left",
            "mean of sessions": "left",
            "cells 95 %": "left",
            "median of ratios": "right",
            "ratio of medians": "right",
            "95 %": "left",
            "least at": "right",
        },
    )
    for one in evidence.figures:
        made.add_row(
            printable(f"{one.store}: {one.gpu}" if one.store else one.gpu, 26),
            one.grid,
            one.effect,
            str(one.cells),
            ms(one.gap),
            in_ms(one.percentile),
            of_sessions(one.session),
            in_ms(one.over_cells),
            percent(one.benefit_median_of_ratios),
            percent(one.benefit_ratio_of_medians),
            between(one.benefit_ratio_of_medians_interval, 100, 1),
            f"{one.least[0]}x{one.least[1]}",
        )
    for row in evidence.references:
        name = f"{' / '.join(row.gpus)}"
        made.add_row(
            printable(name, 30),
            PUBLISHED,
            "gap (reference)",
            "15",
            f"{row.gap_ms:.2f}",
            *[""] * 3,
            percent(row.gap_share),
            style="dim",
        )
    show(out, made)
    if evidence.references:
        out.print("reference rows are published by others, and in no figure here", style="dim")


def _show_findings(out: Console, findings: Sequence[Finding]) -> None:
    out.print()
    out.print("[bold]what the study says of the claims written down before it[/]")
    for one in findings:
        claim = one.hypothesis
        out.print(
            f"[{_COLOURS[one.verdict]}]{one.verdict.value:>12}[/]  [bold]{printable(claim.id, 12)}[/] {escape(claim.claim)}",
            soft_wrap=True,
        )
        out.print(f"              {escape(_figure(one))}{escape(one.reason)}", soft_wrap=True)
        for detail in one.details:
            out.print(f"              {escape(detail)}", style="dim", soft_wrap=True)


def _figure(one: Finding) -> str:
    if one.estimate is None:
        return ""
    interval = f" [{one.interval.low:.4g}, {one.interval.high:.4g}]" if one.interval else ""
    p = f", Holm p = {one.p_holm:.2g}" if one.p_holm is not None else ""
    return f"{one.estimate:.4g} {one.unit}{interval} ({one.kind}{p}): "
