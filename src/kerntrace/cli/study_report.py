"""`kerntrace study report`. Room: cli."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kerntrace.cli.options import AsJson, print_csv, print_json, working
from kerntrace.cli.study_stores import PUBLISHED, others
from kerntrace.errors import CONTRADICTED, DONE, INCONCLUSIVE, UnreadableError, UsageError

if TYPE_CHECKING:
    from kerntrace.evidence.finding import Finding
    from kerntrace.evidence.prediction_table import Predicted
    from kerntrace.evidence.study_evidence import Evidence, Question
    from kerntrace.study.records import Study

_FEWEST, _MOST = 100, 1_000_000

Store = Annotated[Path, typer.Argument(metavar="DIR", help="The study's store.", show_default=False)]
Add = Annotated[
    list[str] | None,
    typer.Option(
        "--add", metavar="DIR|published", help="Another study's store, or the published rows, beside this one; repeat."
    ),
]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="DIR", help="Also write the tables as CSV into a new directory.")]
SForm = Annotated[str, typer.Option("--s-form", help="S(N) that decides: linear, log2, sqrt, power, table. All are computed.")]
STable = Annotated[str, typer.Option("--s-table", help="S by batch in ms for form table: 1:1.3,16:4.3.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Of the bootstrap; the plan's if not given.")]
Resamples = Annotated[int | None, typer.Option("--resamples", help="Of the bootstrap; the plan's if not given.")]
Predictions = Annotated[
    Path | None,
    typer.Option("--predictions", metavar="FILE", help="What `kerntrace predict --json` wrote, instead of the model's."),
]
Asked = Annotated[
    str | None, typer.Option("--verdict", metavar="ID", help="Exit 0 if this claim is supported, 4 if contradicted, else 5.")
]


def report(
    store: Store,
    as_json: AsJson = False,
    csv: Csv = None,
    add: Add = None,
    verdict: Asked = None,
    s_form: SForm = "linear",
    s_table: STable = "",
    predictions: Predictions = None,
    seed: Seed = None,
    resamples: Resamples = None,
) -> int:
    """Report a study: steps and gaps with intervals, cross-checks by trace, what the gap follows, and verdicts."""
    from kerntrace.evidence.hypotheses import weigh
    from kerntrace.evidence.study_evidence import gather
    from kerntrace.study.store import read_study

    question = _question(s_form, s_table, seed, resamples, PUBLISHED in (add or []))
    study = read_study(store)
    added = others(store, add or [])
    known = [hypothesis.id for hypothesis in study.plan.hypotheses]
    if verdict is not None and verdict not in known:
        raise UsageError(f"--verdict {verdict}: the study has no such claim", f"It has {', '.join(known) or 'none'}.")
    if predictions is not None:
        question = _with_predictions(question, predictions, study)
    with working("resampling"):
        evidence = gather(study, question, added)
        findings = weigh(evidence)
    _say_all(evidence, findings, csv, as_json=as_json)
    return DONE if verdict is None else _status(next(one for one in findings if one.hypothesis.id == verdict))


def _say_all(evidence: Evidence, findings: tuple[Finding, ...], csv: Path | None, *, as_json: bool) -> None:
    from kerntrace.report.study_document import study_document

    if csv is not None:
        _write_tables(csv, study_document(evidence, findings))
    if as_json:
        print_json(study_document(evidence, findings))
    else:
        from kerntrace.report.text_study import show_study

        show_study(evidence, findings)


def _status(finding: Finding) -> int:
    from kerntrace.evidence.finding import Verdict

    return {Verdict.SUPPORTS: DONE, Verdict.CONTRADICTS: CONTRADICTED}.get(finding.verdict, INCONCLUSIVE)


def _question(s_form: str, s_table: str, seed: int | None, resamples: int | None, published: bool) -> Question:
    from kerntrace.evidence.study_evidence import Question
    from kerntrace.model.scheduler import SForm as Form

    forms = [form.value for form in Form]
    if s_form not in forms:
        raise UsageError(f"--s-form {s_form!r} is not known", f"Known are {', '.join(forms)}.")
    if seed is not None and seed < 0:
        raise UsageError(f"--seed {seed} is below zero", "Give 0 or more.")
    if resamples is not None and not _FEWEST <= resamples <= _MOST:
        raise UsageError(f"--resamples {resamples} is not between {_FEWEST} and {_MOST}", "5000 is usual.")
    table = _table(s_table)
    if s_form == Form.TABLE.value and not table:
        raise UsageError("--s-form table needs a table", "Give --s-table, e.g. 1:1.3,16:4.3 (batch:milliseconds).")
    return Question(seed, resamples, s_form, table, published=published)


def _table(text: str) -> dict[int, float]:
    table = {}
    for part in filter(None, text.split(",")):
        found = re.fullmatch(r"\s*(\d{1,9})\s*:\s*(\d+(?:\.\d+)?)\s*", part)
        if not found or int(found[1]) < 1:
            raise UsageError(f"--s-table {text!r} is not a table", "Write it as 1:1.3,16:4.3, batch:milliseconds.")
        table[int(found[1])] = float(found[2])
    return table


def _with_predictions(question: Question, path: Path, study: Study) -> Question:
    from dataclasses import replace

    return replace(question, predictions=tuple(_read_predictions(path, study)))


def _read_predictions(path: Path, study: Study) -> list[Predicted]:
    from kerntrace.evidence.cells import hosts_of
    from kerntrace.evidence.prediction_table import from_document

    try:
        document: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise UnreadableError(f"{path.name} cannot be read: {reason}", "Write it with kerntrace predict --json.") from None
    return from_document(document, [host.gpu for host in hosts_of(study).values()], path.name)


def _write_tables(where: Path, document: dict[str, Any]) -> None:
    from kerntrace.report.study_document import flat_cells

    tables = {
        "cells": flat_cells(document["cells"]),
        "skus": document["skus"] + document["reference"],
        "crosscheck": document["crosscheck"],
        "gap_crosscheck": document["gap_crosscheck"],
        "same_work": [{**row, "changes": len(row["changes"])} for row in document["same_work"]],
        "regressions": document["attribution"]["regressions"],
        "rivals": [{**row, **fit, "fits": None} for row in document["attribution"]["rivals"] for fit in row["fits"]],
        "phases": [{**row, **cell, "cells": None} for row in document["attribution"]["phases"] for cell in row["cells"]],
        "accuracy": document["accuracy"],
        "hypotheses": document["hypotheses"],
        "missing": document["missing"],
    }
    try:
        where.mkdir(parents=True)
        for name, rows in tables.items():
            with (where / f"{name}.csv").open("w", encoding="utf-8") as file, redirect_stdout(file):
                print_csv(rows)
    except FileExistsError:
        raise UsageError(f"{where.name} exists already", "Give --csv the name of a new directory.") from None
    except OSError as error:
        raise UsageError(f"{where.name} cannot be written: {error.strerror}", "Write it to another place.") from None
