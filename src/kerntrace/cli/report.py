"""`kerntrace report`. Room: cli."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    analyse_file,
    chosen_steps,
    read_batches,
    working,
)
from kerntrace.cli.refusal import no_steps, refused
from kerntrace.cli.say import say
from kerntrace.cli.study_stores import others
from kerntrace.errors import DONE, REFUSED, UsageError

if TYPE_CHECKING:
    from kerntrace.accounting.analysis import Analysis
    from kerntrace.evidence.roofline_setting import Asked
    from kerntrace.report.html.side import Side
    from kerntrace.workload import Mode

Json = dict[str, Any]
Part = tuple[int | None, int | None, str | None, str]  # --device, --pid, --step-range, --json-limit
AddStudy = Annotated[
    list[Path] | None, typer.Option("--add", metavar="DIR", help="Of a study: another's store beside it; repeat.")
]


def report(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE|STUDY", help=f"{TRACE_HELP} Or a study's directory.", show_default=False)
    ],
    other: Annotated[
        Path | None, typer.Argument(metavar="TRACE2", help="A second trace to put beside it.", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where the page goes.")] = Path("report.html"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
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
    """Make one HTML file of a trace, of two side by side, or of a study: where the step's time went, to each gap and kernel."""
    from kerntrace.report.html.render import require_report

    require_report()
    paths = [trace] if other is None else [trace, other]
    free_for(output, force, [*paths, *(add or [])])
    asked, sizes, range_ = asked_of(model, gpu, mode, context), read_batches(batch), read_steps(steps)
    part = (device, pid, step_range, json_limit)
    if any(is_study(path) for path in paths):
        only_of_study(paths, [batch, steps, model, gpu, mode, context, device, pid, step_range])
        return _study(trace, add or [], output)
    only_of_traces(add)
    sides, analyses = read_sides(paths, asked, sizes, range_, part)
    _write(output, _page(sides, sizes))
    for side in sides if asked != asked_of(None, None, None, None) else ():
        if side.no_roofline and side.analysis.ok:
            say(f"no roofline of {side.name}: {side.no_roofline}")
    for analysis, path in zip(analyses, paths):
        refused(analysis, path.name)
    return DONE if all(analysis.ok for analysis in analyses) else REFUSED


def read_sides(
    paths: list[Path], asked: Asked, batches: list[int], steps: tuple[int, int] | None, part: Part
) -> tuple[list[Side], list[Analysis]]:
    """One or two traces with everything that a page or figure says of them."""
    from kerntrace.report.html.side import read_side

    analyses = [analyse_file(path, *part) for path in paths]
    for analysis, path in zip(analyses, paths):
        no_steps(analysis, path.name)
        if analysis.ok:
            chosen_steps(analysis, batches, None)
    with working("collecting figures"):
        sides = [
            read_side(letter, path.name, analysis, asked, batches, steps)
            for letter, path, analysis in zip("ab", paths, analyses)
        ]
    return sides, analyses


def _page(sides: list[Side], sizes: list[int]) -> str:
    from kerntrace.report.html.trace_page import trace_page

    with working("making the report"):
        return trace_page(sides, _compare(sides, sizes))


def is_study(path: Path) -> bool:
    """Whether this is a study's store: a directory with the plan that it was run by, or with what it measured."""
    return any((path / name).is_file() for name in ("plan.json", "records.jsonl"))


def free_for(output: Path, force: bool, sources: list[Path]) -> None:
    """See to it that a file may be written there, before the work that it is to hold.

    Raises:
        UsageError: if it is there and not to be overwritten, is what is read or a directory, or cannot be written.
    """
    if output.is_dir():
        raise UsageError(f"{output} is a directory", "Name a file with -o.")
    if output.exists() and any(source.exists() and output.samefile(source) for source in sources):
        raise UsageError(f"{output} is what is to be read", "Choose another -o.")
    if output.exists() and not force:
        raise UsageError(f"{output} exists already", "Choose another -o, or give --force.")
    if not output.parent.is_dir():
        raise UsageError(f"{output} cannot be written: there is no directory {output.parent}", "Choose another -o.")
    if not os.access(output if output.exists() else output.parent, os.W_OK):
        raise UsageError(f"{output} cannot be written: permission denied", "Choose another -o.")


def only_of_study(paths: list[Path], of_traces: list[object]) -> None:
    """See to it that nothing is asked of a study that holds of traces only.

    Raises:
        UsageError: naming what does not go with a study.
    """
    if len(paths) > 1:
        raise UsageError("a study and another trace or study do not go together", "Put another study beside it with --add DIR.")
    if any(value is not None and value != [] for value in of_traces):
        options = "--batch, --steps, --model, --gpu, --mode, --context, --device, --pid and --step-range"
        raise UsageError(f"{options} are for traces; {paths[0].name} is a study", "Leave them out.")


def only_of_traces(add: list[Path] | None) -> None:
    """See to it that no study is to stand beside traces.

    Raises:
        UsageError: if one is.
    """
    if add:
        raise UsageError("--add puts a study's store beside a study, and this is a trace", "Leave it out.")


def study_documents(path: Path, add: list[Path]) -> tuple[Json, list[Json]]:
    """`kerntrace.study/1` of a store with other stores beside it, and what the model predicts for its grid."""
    from kerntrace.evidence.hypotheses import weigh
    from kerntrace.evidence.study_evidence import Question, gather
    from kerntrace.report.html.study_page import predictions_of
    from kerntrace.report.study_document import study_document
    from kerntrace.study.store import read_study

    study = read_study(path)
    added = others(path, add)  # the published rows are always there
    with working("resampling"):
        evidence = gather(study, Question(published=True), added)
        return study_document(evidence, weigh(evidence)), predictions_of(evidence)


def _study(path: Path, add: list[Path], output: Path) -> int:
    from kerntrace.report.html.study_page import study_page

    _write(output, study_page(*study_documents(path, add)))
    return DONE


def _compare(sides: list[Side], sizes: list[int]) -> dict[str, object] | None:
    from kerntrace.accounting.compare import compare
    from kerntrace.report.documents import compare_document

    if len(sides) < 2 or not all(side.analysis.ok for side in sides):
        return None
    found = compare(sides[0].analysis, sides[1].analysis, sizes)
    return compare_document(found) if found.pairs else None


def asked_of(model: str | None, gpu: str | None, mode: str | None, context: int | None) -> Asked:
    """What is said of the recording on the command line.

    Raises:
        UsageError: if there is no such mode, model or GPU.
    """
    from kerntrace.evidence.roofline_setting import Asked

    if gpu is not None:
        from kerntrace.hardware import find_gpu

        try:
            find_gpu(gpu)
        except UsageError as error:  # its hint is of options that these verbs do not have
            raise UsageError(error.what, "Choose one of them, or leave --gpu out: then there is no roofline.") from None
    if model is not None:
        from kerntrace.model.architecture import load_model

        load_model(model)
    return Asked(model=model, gpu=gpu, mode=_mode(mode), context=context)


def _mode(name: str | None) -> Mode | None:
    from kerntrace.workload import Mode

    known = [mode.value for mode in Mode]
    if name is not None and name not in known:
        raise UsageError(f"--mode {name!r} is not known", f"Known are {', '.join(known)}.")
    return Mode(name) if name is not None else None


def read_steps(text: str | None) -> tuple[int, int] | None:
    """The first and last step that `--steps` names.

    Raises:
        UsageError: if it is no range.
    """
    if text is None:
        return None
    from kerntrace.steps.chosen import read_steps as chosen

    first, end = chosen(text)
    return first, 10**9 if end is None else end - 1  # the page takes those that there are


def _write(output: Path, page: str) -> None:
    try:
        output.write_text(page, encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}", "Choose another -o.") from None
    say(f"wrote {output}")
