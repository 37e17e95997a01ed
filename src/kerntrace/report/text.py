"""Terminal tables for people. Names from traces are hostile: they are escaped, kept on one line and shortened. Room: report."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kerntrace.accounting.analysis import Analysis
from kerntrace.accounting.ledger import GAP_TERMS, Ledger, cause_of, largest_gap
from kerntrace.accounting.summary import Cell, Spread, outside_steps, phase_shares, phases_of
from kerntrace.report.excluded import left_out
from kerntrace.report.tables import show, table
from kerntrace.steps.layers import Layers
from kerntrace.steps.names import KINDS
from kerntrace.steps.ownership import Steps
from kerntrace.steps.work import KernelUse
from kerntrace.trace.table import Ints
from kerntrace.units import NS_PER_MS, duration, ms, share

_OUTLIER = 0.2  # of a step: a single gap longer than this is named
_SHOWN = 40  # steps or kernels in a table; --json and --csv have all
_METHODS = {
    "kerntrace": "kerntrace's step ranges",
    "vllm": "vLLM's execute_context ranges",
    "regex": "ranges that match --step-range",
    "periodic": "periodicity of the launch sequence",
}
TERM_NAMES = {
    "busy": "GPU busy",
    "host_wait": "waiting: host had not launched",
    "launch_call": "waiting: inside the launch call",
    "launch_latency": "waiting: launch latency",
    "device_gap": "device's own gaps",
    "profiler": "profiler's own time",
    "unattributed": "no launch on record",
}


def console() -> Console:
    """Standard output; wide enough for tables where it is not a terminal."""
    out = Console(highlight=False, soft_wrap=False)
    return out if out.is_terminal else Console(highlight=False, width=140, soft_wrap=True)


def printable(name: str, width: int = 60) -> str:
    """A name from a trace on one line, without control characters or markup, shortened in the middle."""
    clean = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name[: 4 * width])
    if len(name) > width:
        tail = width // 3
        end = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name[-tail:])
        clean = f"{clean[: width - tail - 1]}\N{HORIZONTAL ELLIPSIS}{end}"
    return escape(clean) if clean.strip() else "(no name)"


def show_check(analysis: Analysis, name: str) -> None:
    """Every rule, and what to do about the failed ones."""
    out = console()
    rules = Table(title=f"{printable(name)}: integrity", title_justify="left", title_style="bold", box=None, show_header=False)
    rules.add_column(no_wrap=True)
    rules.add_column(no_wrap=True)
    rules.add_column(overflow="fold")
    for rule in analysis.rules:
        told = escape(rule.detail) + (f"\n[bold]{escape(rule.fix)}[/]" if rule.fix else "")
        rules.add_row("[green]ok[/]" if rule.ok else "[red]REFUSED[/]", rule.rule, told)
    out.print(rules)
    failed = sum(not rule.ok for rule in analysis.rules)
    out.print(f"{failed} of {len(analysis.rules)} rules refuse" if failed else f"all {len(analysis.rules)} rules hold")
    if analysis.ok and analysis.steps is None:
        out.print("no steps found, so the rules that need steps were not asked; see --step-range")


def show_steps(analysis: Analysis, cells: list[Cell], shown: list[int], name: str) -> None:
    """The headline cells, then the steps one by one."""
    steps, ledger = analysis.steps, analysis.ledger
    assert steps is not None  # the verb has seen to that
    assert ledger is not None
    out = console()
    out.print(f"[bold]{printable(name)}[/]: {len(steps)} steps by {how_found(steps)}")
    for group in left_out(analysis):
        told = f"  left out of headline figures: {group.count} x {group.reason} ({group.which})"
        out.print(told, style="dim", soft_wrap=True)
    for reason, count in outside_steps(analysis).items():
        out.print(f"  kernels that belong to no step: {count} x {reason}", style="dim")
    phases = phases_of(analysis)
    for cell in cells:
        out.print()
        show(out, cell_table(cell))
        shares = phase_shares(phases, cell)[:8] if phases else []
        if shares and cell.terms["host_exposed"].median:
            made = table(
                "  waited for the host in (mean a step)",
                {"  phase": "left", "not launched ms": "right", "in the call ms": "right"},
            )
            for one in shares:
                made.add_row(f"  {printable(one.name, 44)}", ms(one.host_wait), ms(one.launch_call))
            show(out, made)
    if not cells:
        out.print("no steady decode step: figures are only given step by step below", style="yellow")
    out.print()
    show(out, _steps_table(analysis, steps, ledger, shown))
    if len(shown) > _SHOWN:
        out.print(
            f"... {len(shown) - _SHOWN} more steps: --json or --csv has all; --steps, --batch and --kind choose", style="dim"
        )
    for line in _outliers(analysis, ledger):
        out.print(line, style="yellow", soft_wrap=True)
    out.print(
        "All times are measured, on the device's clock; a step's terms add up to its wall to the nanosecond.", style="dim"
    )


def how_found(steps: Steps) -> str:
    said = steps.boundaries
    return _METHODS[said.method] + (f" ({said.detail})" if said.detail else "")


def cell_name(cell: Cell) -> str:
    batch = f"batch {cell.batch}" if cell.batch is not None else "of unknown batch"
    return f"{cell.kind} {batch}" if cell.kind != "unknown" else "steps of unknown kind"


def cell_table(cell: Cell) -> Table:
    """One cell's ledger: medians over its steady steps."""
    wall = cell.terms["wall"].median
    counts = f"{_count(cell.counts['kernels'])} kernels, {_count(cell.counts['launches'])} launch calls"
    if cell.counts["graph_launches"].max:
        counts += f" ({_count(cell.counts['graph_launches'])} of graphs)"
    made = table(
        f"{cell_name(cell)}: {len(cell.steps)} steady steps, {counts} a step",
        {"": "left", "median ms": "right", "share": "right", "least": "right", "greatest": "right"},
    )
    for term in ("wall", "busy", "host_wait", "launch_call", "launch_latency", "device_gap", "profiler", "unattributed"):
        value = cell.terms[term]
        if term in ("profiler", "unattributed") and not value.max:
            continue
        label = "step wall" if term == "wall" else f"  {TERM_NAMES[term]}"
        made.add_row(label, ms(value.median), share(value.median, wall), ms(value.min), ms(value.max))
    exposed = cell.terms["host_exposed"]
    made.add_row(
        "host-exposed (the three waits)", ms(exposed.median), share(exposed.median, wall), ms(exposed.min), ms(exposed.max)
    )
    return made


def _count(value: Spread) -> str:
    return f"{value.median:g}" if value.min == value.max else f"{value.median:g} ({value.min} to {value.max})"


def _outliers(analysis: Analysis, ledger: Ledger) -> list[str]:
    """Single gaps that make up much of their step: an outlier to look at, not an average."""
    steps = analysis.steps
    assert steps is not None
    longest = largest_gap(ledger.gaps, len(steps))
    length = np.where(longest >= 0, (ledger.gaps.end - ledger.gaps.start)[longest], 0) if len(ledger.gaps.step) else longest * 0
    far = np.flatnonzero((length > _OUTLIER * ledger.wall) & (length > NS_PER_MS))
    lines = []
    for i in far[np.argsort(-length[far], kind="stable")][:3]:
        gap = int(longest[i])
        after = ms(int(ledger.gaps.start[gap] - steps.window_begin[i]))
        lines.append(
            f"outlier: one gap of {duration(int(length[i]))} in step {i} ({share(int(length[i]), int(ledger.wall[i]))} of it),"
            f" {after} ms after it began: {TERM_NAMES[cause_of(ledger.gaps, gap)]}"
        )
    return lines + ([f"... {len(far) - 3} more steps with such a gap"] if len(far) > 3 else [])


def _steps_table(analysis: Analysis, steps: Steps, ledger: Ledger, shown: list[int]) -> Table:
    headings = ("wall", "busy", "host wait", "in call", "latency", "device gap", "other", "of it between")
    made = table(
        "steps, ms (* steady, + not closed by later work: up to its own last operation)",
        {"step": "right", "kind": "left", "batch": "right", "kernels": "right", "launches": "right"}
        | dict.fromkeys(headings, "right"),
    )
    wanted = ("wall", "busy", "host_wait", "launch_call", "launch_latency", "device_gap")
    columns = {name: ledger.term(name) for name in wanted}
    other = ledger.term("profiler") + ledger.term("unattributed")
    between: Ints = np.sum([ledger.between[name] for name in GAP_TERMS], axis=0, dtype=np.int64)
    for i in shown[:_SHOWN]:
        batch = int(steps.boundaries.batch[i])
        mark = "*" if analysis.steady[i] else " " if ledger.complete[i] or not steps.operations[i] else "+"
        row = [
            f"{i}{mark}",
            KINDS[steps.boundaries.kind[i]],
            str(batch) if batch >= 0 else "-",
            str(steps.kernels[i]),
            str(steps.launches[i]) + (f" ({steps.graph_launches[i]} graph)" if steps.graph_launches[i] else ""),
        ]
        if steps.operations[i]:
            row += [ms(int(columns[name][i])) for name in wanted] + [ms(int(other[i])), ms(int(between[i]))]
        else:
            row += ["-"] * len(headings)
        made.add_row(*row)
    return made


def show_kernels(analysis: Analysis, found: list[tuple[Cell, list[KernelUse], Layers | None]], name: str) -> None:
    """Each cell's kernels by time, and the layer that repeats."""
    out = console()
    for cell, uses, layers in found:
        busy = cell.terms["busy"].median
        made = table(
            f"{printable(name)}: {cell_name(cell)}, {len(cell.steps)} steady steps, GPU busy {ms(busy)} ms a step (measured)",
            {"a step": "right", "ms": "right", "of busy": "right", "median": "right", "family": "left", "kernel": "left"},
        )
        for use in uses[:_SHOWN]:
            count = f"{use.count:g}" if use.count_min == use.count_max else f"{use.count:g} ({use.count_min}-{use.count_max})"
            made.add_row(
                count,
                ms(use.total_ns),
                share(use.total_ns, busy),
                duration(use.median_ns),
                printable(use.family, 34),
                printable(use.name, 44),
            )
        if layers is not None:
            _show_layers(out, layers)
            out.print()
        show(out, made)
        if len(uses) > _SHOWN:
            out.print(f"... {len(uses) - _SHOWN} more kernel names: --json or --csv has all", style="dim")
        out.print()
    if not found:
        out.print("no steady step to take kernels from: see kerntrace steps", style="yellow")


def _show_layers(out: Console, layers: Layers) -> None:
    out.print(
        f"[bold]{layers.written}[/] kernels: a motif of {layers.period} that repeats {layers.repeats} times, and the rest"
    )
    for heading, part in (("motif", layers.motif), ("the rest", layers.rest)):
        told = ", ".join(f"{count} x {family}" if count != 1 else family for family, count in part)
        out.print(f"  {heading} ({sum(count for _, count in part)}): {escape(told)}", soft_wrap=True)
