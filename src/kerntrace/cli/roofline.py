"""`kerntrace roofline`. Room: cli."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerntrace.cli.options import (
    JSON_LIMIT,
    AsCsv,
    AsJson,
    Batch,
    Device,
    JsonLimit,
    Pid,
    StepRange,
    TracePath,
    analyse_file,
    chosen_steps,
    one_format,
    print_csv,
    print_json,
    read_batches,
    working,
)
from kerntrace.cli.refusal import no_steps, refused
from kerntrace.errors import DONE, REFUSED, KerntraceError, UsageError

if TYPE_CHECKING:
    from kerntrace.accounting.analysis import Analysis
    from kerntrace.accounting.summary import Cell
    from kerntrace.evidence.roofline_join import CellRoofline
    from kerntrace.evidence.roofline_setting import Asked
    from kerntrace.hardware import GpuSpec
    from kerntrace.workload import Mode

_COMPARED = ("affine", "flat", "ideal")


def roofline(
    trace: TracePath,
    model: Annotated[str | None, typer.Option("--model", help="Model name, or a config.json or its directory.")] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", help="GPU, if the trace does not say or the table lacks it.")] = None,
    gpu_file: Annotated[Path | None, typer.Option("--gpu-file", help="TOML file in the table's format.")] = None,
    mode: Annotated[
        str | None, typer.Option("--mode", help="eager, graph, graph-nocompile, compile; else what the trace shows.")
    ] = None,
    context: Annotated[int | None, typer.Option("--context", min=1, help="Tokens of the prompt.")] = None,
    tokens: Annotated[
        int | None, typer.Option("--tokens", min=1, help="Tokens generated; else the decode steps recorded.")
    ] = None,
    max_length: Annotated[
        int | None, typer.Option("--max-model-len", min=1, help="Longest sequence the engine was started for.")
    ] = None,
    dtype: Annotated[str | None, typer.Option("--dtype", help="Weights: bfloat16, float16, fp8.")] = None,
    profile: Annotated[
        str, typer.Option("--profile", help="ideal, flat, affine, h200-calibrated, or a .toml of calibrate.")
    ] = "affine",
    batch: Batch = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    device: Device = None,
    pid: Pid = None,
    step_range: StepRange = None,
    json_limit: JsonLimit = JSON_LIMIT,
) -> int:
    """Compare every kernel of a step with its roofline: what it moved, how fast, predicted and measured."""
    from kerntrace.evidence.roofline_setting import Asked
    from kerntrace.report.roofline_document import roofline_document, roofline_rows

    one_format(as_json, as_csv)
    sizes = read_batches(batch)
    asked = Asked(
        model=model,
        gpu=gpu,
        gpu_spec=_gpu_of(gpu_file),
        mode=_mode(mode),
        context=context,
        tokens=tokens,
        max_length=max_length,
        dtype=dtype,
    )
    analysis = analyse_file(trace, device, pid, step_range, json_limit)
    no_steps(analysis, trace.name)
    cells = _compare(analysis, asked, profile, sizes, trace.name) if analysis.ok else []
    if as_json:
        print_json(roofline_document(analysis, cells))
    if not analysis.ok:
        refused(analysis, trace.name)
        return REFUSED
    if as_csv:
        print_csv(roofline_rows(cells))
    elif not as_json:
        from kerntrace.report.text_roofline import show_roofline

        show_roofline(cells, trace.name)
    return DONE


def _compare(analysis: Analysis, asked: Asked, profile: str, batch: list[int] | None, name: str) -> list[CellRoofline]:
    from kerntrace.accounting.summary import cells_of
    from kerntrace.evidence.roofline_join import compare_cell
    from kerntrace.evidence.roofline_setting import settle
    from kerntrace.model.profile import load_profile

    chosen = load_profile(profile)
    others = [load_profile(other) for other in _COMPARED]
    found = _cells(analysis, cells_of(analysis), batch)
    if not found:
        raise KerntraceError(
            f"{name}: no steady decode step to compare",
            "Record more decode steps in a row; kerntrace steps says what was left out.",
        )
    setting = settle(analysis, asked)
    with working(f"comparing {name}"):
        return [compare_cell(analysis, cell, size, setting, chosen, others) for cell, size in found]


def _cells(analysis: Analysis, cells: list[Cell], batch: list[int] | None) -> list[tuple[Cell, int]]:
    """The cells asked for, each with its batch; a trace without step ranges is told by --batch what its batch was.

    Raises:
        UsageError: if no cell has such a batch, or the batch is not known.
    """
    unknown = [cell for cell in cells if cell.batch is None]
    if unknown:
        if not batch or len(batch) != 1:
            raise UsageError("the trace does not say the batch size", "give --batch, the sequences that a step decodes")
        return [(cell, batch[0]) for cell in unknown]
    chosen_steps(analysis, batch, None)
    return [(cell, cell.batch) for cell in cells if cell.batch is not None and (not batch or cell.batch in batch)]


def _mode(name: str | None) -> Mode | None:
    from kerntrace.workload import Mode

    if name is None:
        return None
    known = [mode.value for mode in Mode]
    if name not in known:
        raise UsageError(f"--mode {name!r} is not known", f"Known are {', '.join(known)}.")
    return Mode(name)


def _gpu_of(path: Path | None) -> GpuSpec | None:
    if path is None:
        return None
    from kerntrace.hardware.table import read_gpus

    found = read_gpus(path)
    if len(found) != 1:
        raise UsageError(f"{path.name} describes {len(found)} GPUs", "Keep the one that recorded the trace.")
    return found[0]
