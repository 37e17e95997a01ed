"""`kerntrace compare-collectors`: one workload under each collector, beside an engine that none of them touches. Room: cli."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kerntrace.cli.options import AsJson, print_json, read_batches
from kerntrace.cli.profile import (
    COLLECTORS,
    BatchOption,
    ContextOption,
    EngineOption,
    ModelOption,
    ModeOption,
    MultiprocessOption,
    RepetitionsOption,
    TokensOption,
    make_plan,
    say,
    trace_of,
)
from kerntrace.errors import DONE, FAILED, KerntraceError, UsageError

if TYPE_CHECKING:
    from kerntrace.accounting.analysis import Analysis
    from kerntrace.capture.profile import Plan, Profile
    from kerntrace.capture.remote import Remote
    from kerntrace.trace.model import Trace

CollectorsOption = Annotated[
    str, typer.Option("--collectors", metavar="NAME[,NAME...]", help="Which to compare, in this order.")
]
_ALL = ",".join(COLLECTORS)
KeepOption = Annotated[Path | None, typer.Option("--keep", metavar="DIR", help="Also write each collector's bundle there.")]


def compare_collectors(
    mode: ModeOption,
    collectors: CollectorsOption = _ALL,
    engine: EngineOption = "vllm",
    model: ModelOption = "llama-3.1-8b",
    batch: BatchOption = "1",
    context: ContextOption = 512,
    tokens: TokensOption = 33,
    multiprocess: MultiprocessOption = False,
    repetitions: RepetitionsOption = 5,
    keep: KeepOption = None,
    as_json: AsJson = False,
) -> int:
    """Record the same decode steps with several collectors: kernel counts, GPU busy and dilation side by side."""
    from kerntrace.capture.machine import look
    from kerntrace.cli.preflight import choose_weights
    from kerntrace.engines.protocol import EngineSpec

    names = [name.strip() for name in collectors.split(",")]
    unknown = [name for name in names if name not in COLLECTORS]
    if unknown:
        raise UsageError(f"--collectors: no collector {unknown[0]!r}", f"Collectors: {', '.join(COLLECTORS)}.")
    spec = EngineSpec(
        engine,
        model,
        mode.value,
        tuple(read_batches([batch])),
        context,
        tokens,
        choose_weights(model, None),
        "bfloat16",
        multiprocess and engine == "vllm",
    )
    rows = _run_all(make_plan(spec, look(), names[0], repetitions=repetitions, optional_nsys=True), names, keep)
    if as_json:
        print_json({"schema": "kerntrace.collectors/1", "mode": mode.value, "rows": rows})
    else:
        _show(rows)
    return DONE if any("error" not in row for row in rows) else FAILED


def _run_all(plan: Plan, names: list[str], keep: Path | None) -> list[dict[str, Any]]:
    """A row for each collector and batch; a collector that fails has one row that says why."""
    from kerntrace.capture.profile import untraced_engine
    from kerntrace.engines.presets import model_directory

    scratch = Path(tempfile.mkdtemp(prefix="kerntrace-"))
    try:
        plan = replace(plan, engine=replace(plan.engine, model=model_directory(plan.engine.model, scratch / "model")))
        rows: list[dict[str, Any]] = []
        first: Analysis | None = None
        with untraced_engine(plan, scratch, say) as base:
            for name in names:
                say(f"collector {name}")
                found, analysis = _run_one(replace(plan, collector=name), scratch / name, base, keep)
                if analysis is not None:
                    first = first or analysis
                    _add_differences(found, first, analysis)
                rows += found
        return rows
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run_one(plan: Plan, scratch: Path, base: Remote, keep: Path | None) -> tuple[list[dict[str, Any]], Analysis | None]:
    from kerntrace.accounting.analysis import Question, analyse
    from kerntrace.capture.profile import run_profile

    scratch.mkdir()
    try:
        made = run_profile(plan, scratch, say, base)
        trace = trace_of(plan, made)
        if keep is not None:
            _keep(trace, keep / f"{plan.collector}-{plan.engine.mode}.ktrace")
        analysis = analyse(trace, Question(None, None, None))
        return _rows(plan, analysis, made), analysis
    except KerntraceError as error:
        say(f"collector {plan.collector}: {error.what}")
        return [{"collector": plan.collector, "error": error.what}], None


def _keep(trace: Trace, target: Path) -> None:
    from kerntrace.trace.bundle import write_bundle

    write_bundle(trace, target, force=True)


def _rows(plan: Plan, analysis: Analysis, made: Profile) -> list[dict[str, Any]]:
    from kerntrace.accounting.summary import cells_of
    from kerntrace.cli.profile_report import times_json
    from kerntrace.report.documents import cell_json

    cells = {cell.batch: cell for cell in cells_of(analysis)}
    if len(made.cells) == 1 and set(cells) == {None}:  # no ranges: the only cell is the one that ran
        cells = {made.cells[0].batch: cells[None]}
    rows = []
    for times in made.cells:
        row: dict[str, Any] = {"collector": plan.collector, **times_json(times)}
        row["segmentation"] = analysis.steps.boundaries.method if analysis.steps is not None else None
        row["refused"] = [rule.rule for rule in analysis.rules if not rule.ok]
        if times.batch in cells:
            row |= {key: value for key, value in cell_json(cells[times.batch]).items() if key not in ("kind", "batch")}
        rows.append(row)
    return rows


def _add_differences(rows: list[dict[str, Any]], first: Analysis, analysis: Analysis) -> None:
    """Name the kernel families that a step has more or less often than with the first collector that left a trace."""
    from kerntrace.accounting.compare import compare

    pairs = {pair.told.batch: pair for pair in compare(first, analysis).pairs}
    for row in rows:
        if row["batch"] in pairs:
            changes = pairs[row["batch"]].work.count_changes()
            row["differences"] = [{"family": family, "count_first": a, "count": b} for family, a, b in changes]


def _show(rows: list[dict[str, Any]]) -> None:
    from kerntrace.cli.profile_report import DILATION_COLUMNS, dilation_cells
    from kerntrace.report.tables import show, table
    from kerntrace.report.text import console, printable
    from kerntrace.units import ms

    headings = ("batch", "steps", "kernels", "busy ms", "wall ms", "untraced ms", *DILATION_COLUMNS)
    made = table(
        "one workload under each collector, medians (measured)", {"collector": "left"} | dict.fromkeys(headings, "right")
    )
    for row in rows:
        if "error" in row:
            made.add_row(row["collector"], *["-"] * len(headings))
            continue
        counted = [str(row[k]) if k in row else "-" for k in ("batch", "steps")]
        counted.append(f"{row['kernels']['median']:g}" if "kernels" in row else "-")
        timed = [ms(row[k]["median"]) if k in row else "-" for k in ("busy_ns", "wall_ns")]
        untraced = sorted(row["untraced_step_ns"])
        middle = ms(median(untraced)) if untraced else "-"
        made.add_row(row["collector"], *counted, *timed, middle, *dilation_cells(row["dilation"]))
    out = console()
    show(out, made)
    first = next((row["collector"] for row in rows if "error" not in row), "")
    for row in rows:
        if "error" in row:
            out.print(f"{row['collector']}: {printable(row['error'], 300)}")
        changes = row.get("differences") or ()
        if changes:
            said = ", ".join(f"{one['family']} {one['count_first']:g} -> {one['count']:g}" for one in changes)
            out.print(f"{row['collector']}, batch {row['batch']}: kernels a step beside {first}'s: {printable(said, 300)}")
        if any(one["family"].startswith("memcpy") for one in changes):
            out.print("  memcpy kernels: a copy that CUDA runs as a kernel, which nsys records as a copy", style="dim")
