"""`kerntrace figure`. Room: cli."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerntrace.cli.options import (
    JSON_LIMIT,
    TRACE_HELP,
    Batch,
    Device,
    JsonLimit,
    Pid,
    StepRange,
    TimelineSteps,
    read_batches,
    working,
)
from kerntrace.cli.report import (
    AddStudy,
    asked_of,
    free_for,
    is_study,
    only_of_study,
    only_of_traces,
    read_sides,
    read_steps,
    study_documents,
)
from kerntrace.cli.say import say
from kerntrace.errors import DONE, KerntraceError, RefusedError, UsageError

if TYPE_CHECKING:
    from kerntrace.accounting.analysis import Analysis
    from kerntrace.report.figures.chart import Drawing
    from kerntrace.report.html.side import Side

_LISTED = "kerntrace figure --list says what each shows."


def figure(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Which figure; --list names them.", show_default=False)
    ] = None,
    source: Annotated[
        Path | None, typer.Argument(metavar="TRACE|STUDY", help=f"{TRACE_HELP} Or a study's directory.", show_default=False)
    ] = None,
    other: Annotated[Path | None, typer.Argument(metavar="TRACE2", help="A second trace.", show_default=False)] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="FILE.svg, .pdf or .png.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Name the figures there are.")] = False,
    add: AddStudy = None,
    batch: Batch = None,
    steps: TimelineSteps = None,
    model: Annotated[str | None, typer.Option("--model", help="Model that ran, if the trace does not say.")] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", help="GPU, if the trace does not say or the table lacks it.")] = None,
    mode: Annotated[str | None, typer.Option("--mode", help="eager, graph, graph-nocompile, compile.")] = None,
    context: Annotated[int | None, typer.Option("--context", min=1, help="Tokens of the prompt.")] = None,
    device: Device = None,
    pid: Pid = None,
    step_range: StepRange = None,
    json_limit: JsonLimit = JSON_LIMIT,
) -> int:
    """Draw one figure of a trace or a study for a paper, from the numbers that --json prints."""
    from kerntrace.report.figures.draw import format_of, require_figures, save

    if list_:
        _list()
        return DONE
    if name is None or source is None or output is None:
        raise UsageError("a figure needs NAME, a trace or study, and -o FILE", _LISTED)
    require_figures()
    paths = [source] if other is None else [source, other]
    format_of(output)
    free_for(output, force, [*paths, *(add or [])])
    asked, sizes, range_ = asked_of(model, gpu, mode, context), read_batches(batch), read_steps(steps)
    if any(is_study(path) for path in paths):
        only_of_study(paths, [batch, steps, model, gpu, mode, context, device, pid, step_range])
        drawings = _of_study(name, source, add or [])
    else:
        only_of_traces(add)
        _known(name)
        drawings = _of_traces(name, *read_sides(paths, asked, sizes, range_, (device, pid, step_range, json_limit)))
    if not drawings:
        hint = f"kerntrace study report {source} says what is missing." if is_study(source) else _LISTED
        raise KerntraceError(f"{source.name} has nothing to draw for {name}", hint)
    with working(f"drawing {output.name}"):
        save(drawings, output)
    say(f"wrote {output}")
    return DONE


def _known(name: str) -> None:
    from kerntrace.report.figures.trace_figures import TRACE_FIGURES

    if name not in TRACE_FIGURES:
        raise _unknown(name, list(TRACE_FIGURES), "a trace")


def _of_traces(name: str, sides: list[Side], analyses: list[Analysis]) -> list[Drawing]:
    from kerntrace.report.figures.trace_figures import TRACE_FIGURES

    for side, analysis in zip(sides, analyses):
        failed = next((rule for rule in analysis.rules if not rule.ok), None)
        if failed is not None:
            raise RefusedError(f"{side.name}: refused by rule {failed.rule}: {failed.detail}", failed.fix or "")
    return TRACE_FIGURES[name][0](sides)


def _of_study(name: str, source: Path, add: list[Path]) -> list[Drawing]:
    from kerntrace.report.figures.study_figures import STUDY_FIGURES

    if name not in STUDY_FIGURES:
        raise _unknown(name, list(STUDY_FIGURES), "a study")
    return list(STUDY_FIGURES[name][0](*study_documents(source, add)))


def _unknown(name: str, known: list[str], of: str) -> UsageError:
    return UsageError(f"no figure {name!r} of {of}", f"There are: {', '.join(known)}.")


def _list() -> None:
    from kerntrace.report.figures.study_figures import STUDY_FIGURES
    from kerntrace.report.figures.trace_figures import TRACE_FIGURES

    for of, figures in (("trace", TRACE_FIGURES), ("study", STUDY_FIGURES)):
        for name, (_, about) in figures.items():
            print(f"{of:6} {name:12} {about}")
