"""`kerntrace report`. Room: cli."""

from __future__ import annotations

import re
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
    analyse_file,
    chosen_steps,
    read_batches,
    working,
)
from kerntrace.cli.refusal import no_steps, refused
from kerntrace.cli.say import say
from kerntrace.errors import DONE, REFUSED, KerntraceError, UsageError

if TYPE_CHECKING:
    from kerntrace.accounting.analysis import Analysis
    from kerntrace.evidence.roofline_setting import Asked
    from kerntrace.report.html.side import Side
    from kerntrace.workload import Mode

Json = dict[str, Any]
Part = tuple[int | None, int | None, str | None, str]  # --device, --pid, --step-range, --json-limit
AddStudy = Annotated[list[Path] | None, typer.Option("--add", metavar="DIR", help="Another study's store beside it; repeat.")]


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
    steps: Annotated[str | None, typer.Option("--steps", metavar="A-B", help="Steps that the timeline shows.")] = None,
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
    if output.exists() and not force:
        raise UsageError(f"{output} exists already", "Choose another -o, or give --force.")
    if is_study(trace):
        return _study(trace, add or [], output)
    paths = [trace] if other is None else [trace, other]
    part = (device, pid, step_range, json_limit)
    sides, analyses = read_sides(paths, asked_of(model, gpu, mode, context), read_batches(batch), read_steps(steps), part)
    _write(output, _page(sides, read_batches(batch)))
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
    """Whether this is a study's store: a directory with the plan that it was run by."""
    return path.is_dir() and (path / "plan.json").is_file()


def study_documents(path: Path, add: list[Path]) -> tuple[Json, list[Json]]:
    """`kerntrace.study/1` of a store with other stores beside it, and what the model predicts for its grid."""
    from kerntrace.evidence.hypotheses import weigh
    from kerntrace.evidence.study_evidence import Question, gather
    from kerntrace.report.html.study_page import predictions_of
    from kerntrace.report.study_document import study_document
    from kerntrace.study.store import read_study

    study, others = read_study(path), [(one.name, read_study(one)) for one in add]
    with working("resampling"):
        evidence = gather(study, Question(published=True), others)
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
    """What is said of the recording on the command line."""
    from kerntrace.evidence.roofline_setting import Asked

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
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text)
    if not found or int(found[2] or found[1]) < int(found[1]):
        raise UsageError(f"--steps {text!r} is no range of steps", "Write it as 20-39.")
    return int(found[1]), int(found[2] or found[1])


def _write(output: Path, page: str) -> None:
    try:
        output.write_text(page, encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise KerntraceError(f"{output} cannot be written: {error.strerror}", "Choose another -o.") from None
    say(f"wrote {output}")
