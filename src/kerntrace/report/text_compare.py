"""Two traces side by side, for people and as CSV rows. Room: report."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from kerntrace.accounting.compare import Comparison, Pair
from kerntrace.accounting.summary import TERMS
from kerntrace.report.tables import show, table
from kerntrace.report.text import TERM_NAMES, cell_name, console, how_found, printable
from kerntrace.steps.work import FamilyUse
from kerntrace.units import ms, share

_ROWS = ("wall", "busy", "host_wait", "launch_call", "launch_latency", "device_gap", "profiler", "unattributed")
_FAMILIES = 24


def compare_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """A row a cell and figure: both medians and their difference."""
    rows = []
    for pair in comparison.pairs:
        about = {"kind": pair.told.kind, "batch": pair.told.batch}
        counts, terms = (pair.a.counts, pair.b.counts), (pair.a.terms, pair.b.terms)
        rows += [about | _row(name, counts[0][name].median, counts[1][name].median) for name in counts[0]]
        rows += [about | _row(f"{name}_ns", terms[0][name].median, terms[1][name].median) for name in TERMS]
    return rows


def _row(figure: str, a: float, b: float) -> dict[str, Any]:
    return {"figure": figure, "a": a, "b": b, "delta": a - b}


def show_compare(comparison: Comparison, name_a: str, name_b: str) -> None:
    """Each pair of cells: verdict, ledgers with the difference a term, and the kernels that differ."""
    out = console()
    for letter, name, analysis in (("A", name_a, comparison.a), ("B", name_b, comparison.b)):
        if analysis.steps is not None:
            gpu = analysis.trace.manifest.environment.gpu
            on = f" on {printable(gpu, 40)}" if gpu else ""
            out.print(f"{letter} = {printable(name)}{on}: {len(analysis.steps)} steps by {how_found(analysis.steps)}")
    for pair in comparison.pairs:
        out.print()
        _show_pair(out, pair)
    for side, cell in comparison.unpaired:
        out.print(f"only in {side.upper()}: {cell_name(cell)}, {len(cell.steps)} steady steps", style="dim")
    out.print("All times are measured: medians over steady steps, on the device's clock.", style="dim")


def _show_pair(out: Console, pair: Pair) -> None:
    a, b = pair.a, pair.b
    out.print(f"[bold]{cell_name(pair.told)}[/]: {verdict(pair)}")
    if pair.assumed:
        silent, saying = ("A", "B") if a.batch is None else ("B", "A")
        out.print(f"{silent} does not say its batch: its steps are taken for {saying}'s, the only ones there", style="yellow")
    made = table(
        f"a step, ms ({len(a.steps)} and {len(b.steps)} steady steps)",
        {
            "": "left",
            "A": "right",
            "of wall": "right",
            "B": "right",
            "of wall ": "right",
            "A - B": "right",
            "of the difference": "right",
        },
    )
    wall_a, wall_b = a.terms["wall"].median, b.terms["wall"].median
    for term in _ROWS:
        one, other = a.terms[term].median, b.terms[term].median
        if term in ("profiler", "unattributed") and not (a.terms[term].max or b.terms[term].max):
            continue
        label = "step wall" if term == "wall" else f"  {TERM_NAMES[term]}"
        made.add_row(
            label,
            ms(one),
            share(one, wall_a),
            ms(other),
            share(other, wall_b),
            ms(one - other),
            share(one - other, wall_a - wall_b),
        )
    one, other = a.terms["host_exposed"].median, b.terms["host_exposed"].median
    made.add_row(
        "host-exposed (the three waits)",
        ms(one),
        share(one, wall_a),
        ms(other),
        share(other, wall_b),
        ms(one - other),
        share(one - other, wall_a - wall_b),
    )
    for name, label in (("kernels", "kernels"), ("launches", "launch calls"), ("graph_launches", "graph launches")):
        one, other = a.counts[name].median, b.counts[name].median
        made.add_row(label, f"{one:g}", "", f"{other:g}", "", f"{one - other:g}", "")
    show(out, made)
    _show_work(out, pair)


def verdict(pair: Pair) -> str:
    """What the difference is, in a sentence with its numbers."""
    wall = pair.delta["wall_ns"]
    parts = [("waiting for the host", pair.delta["host_exposed_ns"]), ("GPU busy", pair.delta["busy_ns"]),
             ("the device's own gaps", pair.delta["device_gap_ns"])]  # fmt: skip
    told = ", ".join(f"{ms(value)} {name}" for name, value in parts)
    a, b = ms(pair.a.terms["wall"].median), ms(pair.b.terms["wall"].median)
    change = "B takes as long" if not wall else f"B takes {ms(abs(wall))} ms {'less' if wall > 0 else 'more'}"
    return f"A {a} ms, B {b} ms a step; {change} (A - B: {told})"


def _show_work(out: Console, pair: Pair) -> None:
    work = pair.work
    if work.same and not work.changed:
        out.print("same work: yes, the same kernels by family and count")
        return
    out.print(f"same work: {'yes, by family and count' if work.same else '[yellow]no[/], different kernels ran'}")
    made = table("", {"": "left", "A a step": "right", "A ms": "right", "B a step": "right", "B ms": "right", "family": "left"})
    rows: list[tuple[str, FamilyUse | None, FamilyUse | None]] = [("only in A", use, None) for use in work.only_a]
    rows += [("only in B", None, use) for use in work.only_b]
    rows += [(f"{c.what} differs" if c.what != "kernels" else "other kernels", c.a, c.b) for c in work.changed]
    for said, one, other in rows[:_FAMILIES]:
        shown = one or other
        assert shown is not None
        made.add_row(
            said,
            f"{one.count:g}" if one else "-",
            ms(one.total_ns) if one else "-",
            f"{other.count:g}" if other else "-",
            ms(other.total_ns) if other else "-",
            printable(shown.family, 56),
        )
    show(out, made)
    if len(rows) > _FAMILIES:
        out.print(f"... {len(rows) - _FAMILIES} more: --json has all", style="dim")
