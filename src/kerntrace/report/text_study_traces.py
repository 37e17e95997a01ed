"""The traced part of a study's report as terminal tables: cross-checks, and the work of the modes. Room: report."""

from __future__ import annotations

from collections import defaultdict

from rich.console import Console
from rich.markup import escape

from kerntrace.evidence.gap_check import kernel_count
from kerntrace.evidence.study_evidence import Evidence
from kerntrace.report.tables import show, table
from kerntrace.report.text import printable
from kerntrace.report.text_study_parts import percent
from kerntrace.units import ms

_FAMILIES = 6


def show_traces(out: Console, evidence: Evidence) -> None:
    """Cross-checks, gaps by three ways, and the work of the modes."""
    if not evidence.checks:
        out.print("no usable traced cell: no cross-check, no ledger", style="yellow")
        return
    out.print()
    _show_checks(out, evidence)
    _show_gap_checks(out, evidence)
    _show_work(out, evidence)


def _show_checks(out: Console, evidence: Evidence) -> None:
    made = table(
        "one step by three ways, ms (subtraction derived; trace measured, means over steady steps)",
        dict.fromkeys(("host", "mode"), "left")
        | dict.fromkeys(
            ("batch", "context", "kernels", "subtraction", "traced wall", "ledger", "busy", "within", "between"), "right"
        )
        | dict.fromkeys(("dev. gap", "dilation", "leak"), "right")
        | {"untraced": "left", "traced calls": "left"},
    )
    for one in evidence.checks:
        traced = one.traced
        made.add_row(
            printable(traced.place.host, 12),
            traced.mode,
            str(traced.place.batch),
            str(traced.place.context),
            kernel_count(traced),
            ms(one.subtraction) if one.subtraction is not None else "-",
            ms(one.traced_wall),
            ms(one.ledger),
            ms(traced.means["busy"]),
            ms(traced.means["within"]),
            ms(traced.means["between"]),
            ms(traced.means["device_gap"]),
            f"{one.dilation:.3f}" if one.dilation else "-",
            percent(one.leak),
            one.verdict,
            one.against_traced.verdict if one.against_traced else "-",
        )
    show(out, made)
    told = (
        "ledger = busy + host-exposed (within + between steps) + device gap; leak: decoding steps of less than the whole batch"
    )
    out.print(told, style="dim", soft_wrap=True)
    told = (
        "untraced, traced calls: whether the ledger agrees with the subtraction of untraced walls, and of the traced calls' own"
    )
    out.print(told, style="dim", soft_wrap=True)
    for one in evidence.checks:
        place = one.traced.place
        for cause in one.causes:
            out.print(f"  {one.traced.mode} {place.batch}x{place.context}: {escape(cause)}", style="dim", soft_wrap=True)


def _show_gap_checks(out: Console, evidence: Evidence) -> None:
    if not evidence.gap_checks:
        return
    out.print()
    names = ("subtraction", "traced walls", "ledgers", "of it busy", "within", "between", "dev. gap")
    made = table(
        "gaps by three ways, ms (derived)",
        {"host": "left", "effect": "left", "batch": "right", "context": "right"}
        | dict.fromkeys(names, "right")
        | {"verdict": "left"},
    )
    for one in evidence.gap_checks:
        place = one.a.traced.place
        terms = [ms(one.terms[name]) for name in ("busy", "within", "between", "device_gap")]
        subtracted = ms(one.subtraction) if one.subtraction is not None else "-"
        about = [printable(place.host, 12), one.effect, str(place.batch), str(place.context)]
        made.add_row(*about, subtracted, ms(one.traced_wall), ms(one.ledger), *terms, one.verdict)
    show(out, made)


def _show_work(out: Console, evidence: Evidence) -> None:
    """A line for each pair of modes and way in which they differ, with the places where they do."""
    places: dict[str, list[str]] = defaultdict(list)
    for work in evidence.works:
        changes = ", ".join(f"{one.family} {one.count_a:g} -> {one.count_b:g}" for one in work.changes[:_FAMILIES])
        more = f", ... {len(work.changes) - _FAMILIES} more" if len(work.changes) > _FAMILIES else ""
        said = "the same kernels" if work.same else f"different kernels, {work.moved:g} executions a step: {changes}{more}"
        line = f"{work.a} ({work.kernels_a:g} a step) and {work.b} ({work.kernels_b:g}): {said}"
        places[line].append(f"{work.place.batch}x{work.place.context}")
    for line, at in places.items():
        out.print(f"{escape(line)} [dim](at {', '.join(at)})[/]", soft_wrap=True)
