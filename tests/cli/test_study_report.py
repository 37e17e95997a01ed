"""`kerntrace study report`: its document, its tables, its exit statuses, and stores that lack parts."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main
from tests.support.command import Ran, kerntrace
from tests.support.studies import A100, H100, H200, RESIDUAL, Truth, left_out, make_study, without, write_study

from kerntrace.cli.study_report import report
from kerntrace.errors import KerntraceError
from kerntrace.evidence import study_evidence
from kerntrace.evidence.prediction_table import Predicted, predict_study
from kerntrace.study.records import Plan, Study, TracedCell, Wall

SMALL = Truth(batches=(1, 4, 16), contexts=(512, 2048), traced=((1, 512), (16, 512)), sessions=2, repetitions=3, resamples=200)

Report = Callable[..., Ran]


_PREDICTED: dict[tuple[object, ...], list[Predicted]] = {}


def _predicted_once(plan: Plan, gpu: str, s_form: str, s_table: dict[int, float]) -> list[Predicted]:
    """The model's own predictions, made once for the same question: they take longer than the rest of a small report."""
    key = (plan.model, plan.batches, plan.contexts, plan.modes, plan.tokens, gpu, s_form, *s_table.items())
    if key not in _PREDICTED:
        _PREDICTED[key] = predict_study(plan, gpu, s_form, s_table)
    return _PREDICTED[key]


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Report:
    """Runs the verb on stores of these studies: `reported(study, "--json", other=...)`; `other` is then a store as well."""
    monkeypatch.setattr(study_evidence, "predict_study", _predicted_once)
    monkeypatch.chdir(tmp_path)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command()(report)
    command = typer.main.get_command(alone)

    def run(study: Study, *arguments: str, **others: Study) -> Ran:
        for name, one in ({"mine": study} | others).items():
            shutil.rmtree(tmp_path / name, ignore_errors=True)
            write_study(one, tmp_path / name)
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            try:
                status = command.main(["mine", *arguments], standalone_mode=False)
            except KerntraceError as error:
                status = error.exit_code
                print(f"kerntrace: {error}", file=sys.stderr)
        return Ran(status, out.getvalue(), err.getvalue())

    return run


@pytest.fixture(scope="module")
def study() -> Study:
    return make_study(SMALL)


def test_the_document_holds_every_part(reported: Report, study: Study) -> None:
    ran = reported(study, "--json")
    found = ran.document()
    assert ran.status == 0
    assert ran.err == ""
    assert found["schema"] == "kerntrace.study/1"
    assert len(found["cells"]) == 6
    assert [one["id"] for one in found["hypotheses"]] == ["H1", "H2", "H3", "H4", "H5", "H6", "KS"]
    for claim in found["hypotheses"]:
        assert claim["verdict"] in ("supports", "contradicts", "inconclusive", "not testable")
        assert claim["reason"]
        assert claim["interval"] is None or len(claim["interval"]) == 2
    assert len(found["crosscheck"]) == 6
    assert {row["predictor"] for row in found["attribution"]["regressions"]} == {"S linear", "S log2", "S sqrt", "S power", "N"}
    assert {fit["rival"] for row in found["attribution"]["rivals"] for fit in row["fits"]} == {"H-S", "H-C", "H-D", "H-D+S"}
    assert found["missing"] == []
    assert found["reference"] == []
    assert found["statistics"]["seed"] == 1
    assert found["statistics"]["resamples"] == 200


def test_every_block_of_numbers_says_its_kind(reported: Report, study: Study) -> None:
    found = reported(study, "--json", "--add", "published").document()
    blocks = ["hosts", "cells", "skus", "reference", "crosscheck", "gap_crosscheck", "same_work", "accuracy", "hypotheses"]
    rows = [row for block in blocks for row in found[block]] + [row for part in found["attribution"].values() for row in part]
    assert {row["kind"] for row in rows} == {"measured", "derived", "reference"}


def test_the_same_store_gives_the_same_bytes_and_another_seed_does_not(reported: Report, study: Study) -> None:
    first, again, other = (reported(study, "--json", "--seed", seed).out for seed in ("5", "5", "6"))
    assert first == again
    assert first != other
    assert json.loads(other)["statistics"]["seed"] == 6


def test_tables_hold_the_documents_figures(reported: Report, study: Study) -> None:
    found, text = reported(study, "--json").document(), reported(study).out
    for cell in found["cells"]:
        assert f"{cell['effects']['gap']['difference_of_medians_ns'] / 1e6:.3f}" in text
        assert f"{cell['steps']['eager']['median_ns'] / 1e6:.3f}" in text
    for claim in found["hypotheses"]:
        assert claim["claim"] in text
        assert claim["reason"] in text
    for said in ("predicted", "derived", "measured", "median of ratios", "ratio of medians", "dilation", "Hodges-Lehmann"):
        assert said in text


def test_published_rows_are_marked_as_reference(reported: Report, study: Study) -> None:
    text = reported(study, "--add", "published").out
    assert "5.07" in text
    assert "reference rows are published by others, and in no figure here" in text
    assert "published by others" not in reported(study).out


def test_another_store_is_kept_apart_and_named(reported: Report, study: Study) -> None:
    other = make_study(replace(SMALL, gpus=(H100,)))
    found = reported(study, "--json", "--add", "other", other=other).document()
    stores = {(row["store"], row["gpu"]) for row in found["skus"]}
    assert stores == {(None, H200), ("other", H100)}
    alone = reported(study, "--json").document()
    assert [row for row in found["cells"] if row["store"] is None] == alone["cells"]
    assert next(one for one in found["hypotheses"] if one["id"] == "H3")["verdict"] != "not testable"


@pytest.mark.parametrize(("claim", "status"), [("H1", 0), ("H2", 4), ("H3", 5)])
def test_a_verdict_can_be_the_exit_status(reported: Report, study: Study, claim: str, status: int) -> None:
    assert reported(study, "--verdict", claim).status == status


def test_without_being_asked_a_contradicted_claim_is_no_failure(reported: Report, study: Study) -> None:
    assert reported(study).status == 0


def test_tables_are_written_as_csv(reported: Report, study: Study, tmp_path: Path) -> None:
    assert reported(study, "--csv", "tables").status == 0
    where = tmp_path / "tables"
    names = {path.stem for path in where.iterdir()}
    assert {"cells", "skus", "crosscheck", "regressions", "rivals", "phases", "accuracy", "hypotheses"} <= names
    rows = list(csv.DictReader((where / "cells.csv").read_text("utf-8").splitlines()))
    assert {row["figure"] for row in rows} == {"eager", "graph", "graph-nocompile", "gap", "graphs alone", "compilation"}
    assert len(rows) == 36
    ran = reported(study, "--csv", "tables")
    assert ran.complaint(2).startswith("kerntrace: tables exists already")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--verdict", "H9"), "no such claim"),
        (("--s-form", "cubic"), "not known"),
        (("--s-form", "table"), "needs a table"),
        (("--s-table", "1=3"), "not a table"),
        (("--seed", "-1"), "below zero"),
        (("--resamples", "3"), "not between"),
        (("--predictions", "absent.json"), "cannot be read"),
    ],
)
def test_what_is_asked_wrongly(reported: Report, study: Study, arguments: tuple[str, ...], said: str) -> None:
    ran = reported(study, *arguments)
    assert said in ran.complaint(1 if "--predictions" in arguments else 2)
    assert ran.out == ""


def test_the_form_of_s_that_decides_can_be_chosen(reported: Report) -> None:
    steep = make_study(
        replace(SMALL, rival=RESIDUAL, batches=(1, 4, 8, 16), eager_drift=0.001, eager_noise=0.002, repetitions=5)
    )
    linear = reported(steep, "--json").document()
    log2 = reported(steep, "--json", "--s-form", "log2").document()
    verdicts = [next(one["verdict"] for one in found["hypotheses"] if one["id"] == "H2") for found in (linear, log2)]
    assert verdicts[0] == "supports"
    assert verdicts[1] != "supports"
    assert log2["statistics"]["s_form"] == "log2"


def _refused(study: Study) -> Study:
    return replace(
        study,
        records=tuple(
            replace(one, rules={"dropped records": "7"}, terms={}, within={}, between={}, kernels=(), phases={}, work=())
            if isinstance(one, TracedCell)
            else one
            for one in study.records
        ),
    )


STORES: dict[str, Callable[[Study], Study]] = {
    "one mode": lambda study: without(study, modes=["eager"]),
    "one cell": lambda study: without(study, keep=lambda one: (one.batch, one.context) == (1, 512)),
    "no traces": lambda study: without(study, traces=False),
    "traces only": lambda study: without(study, keep=lambda one: isinstance(one, TracedCell)),
    "some traces": lambda study: without(study, keep=lambda one: not isinstance(one, TracedCell) or one.mode == "eager"),
    "refused traces": _refused,
    "one session": lambda study: without(study, keep=lambda one: not isinstance(one, Wall) or one.session == 0),
    "one repetition": lambda study: without(
        study, keep=lambda one: not isinstance(one, Wall) or (one.session, one.repetition) == (0, 0)
    ),
    "ragged": lambda study: without(
        study, keep=lambda one: not isinstance(one, Wall) or (one.batch + one.session + one.repetition) % 3 > 0
    ),
    "left out": lambda study: left_out(study, "host0", 16, 2048, "does not fit: 50 GB on 40 GB"),
    "hosts only": lambda study: replace(study, records=study.records[:1]),
    "nothing": lambda study: replace(study, records=()),
    "no host record": lambda study: replace(study, records=study.records[1:]),
    "unknown model": lambda study: replace(study, plan=replace(study.plan, model="nobody/nothing")),
    "no claims": lambda study: replace(study, plan=replace(study.plan, hypotheses=())),
    "equal walls": lambda study: replace(
        study,
        records=tuple(replace(one, wall_ns=10**7 * one.tokens) if isinstance(one, Wall) else one for one in study.records),
    ),
    "walls turned round": lambda study: replace(
        study,
        records=tuple(replace(one, wall_ns=10**9 // one.tokens) if isinstance(one, Wall) else one for one in study.records),
    ),
}


@pytest.mark.parametrize("lacking", STORES)
def test_a_store_that_lacks_parts_is_reported_as_far_as_it_goes(reported: Report, study: Study, lacking: str) -> None:
    less = STORES[lacking](study)
    ran, text = reported(less, "--json"), reported(less)
    assert (ran.status, text.status, ran.err, text.err) == (0, 0, "", "")
    document = json.loads(ran.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert len(document["hypotheses"]) == len(less.plan.hypotheses)
    whole = lacking in ("unknown model", "no claims", "equal walls", "walls turned round", "no host record")
    assert (document["missing"] == []) is whole
    if document["missing"]:
        assert ("missing on" if document["hosts"] else "missing, ") in text.out


def test_missing_parts_are_named_with_their_reason(reported: Report, study: Study) -> None:
    text = reported(left_out(study, "host0", 16, 2048, "does not fit: 50 GB on 40 GB")).out
    assert "missing on host0, eager: no walls in 16x2048 (does not fit: 50 GB on 40 GB)" in text
    assert "missing on host0, graph: no trace in 1x512, 16x512 (dropped records: 7)" in reported(_refused(study)).out


def test_several_hosts_are_reported_each(reported: Report) -> None:
    many = make_study(replace(SMALL, gpus=(H200, A100, "A GPU nobody knows")))
    found = reported(many, "--json").document()
    assert {row["gpu"] for row in found["skus"]} == {H200, A100, "A GPU nobody knows"}
    assert {row["grid"] for row in found["skus"]} == {"all", "common", "published 5x3"}
    assert {row["gpu"] for row in found["accuracy"]} == {H200, A100, "pooled"}
    assert any("A GPU nobody knows" in note for note in found["notes"])


def test_hostile_names_do_not_reach_the_terminal(reported: Report, study: Study) -> None:
    bad = replace(study, plan=replace(study.plan, name="x\x1b[31m[bold]y", model="m\x07"))
    text = reported(bad).out
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]y" in text


def test_a_replay_says_that_it_is_one(reported: Report, study: Study) -> None:
    again: Any = replace(study, replayed=True)
    assert "replayed" in reported(again).out
    assert reported(again, "--json").document()["study"]["replayed"] is True


def test_a_directory_that_is_no_study_is_refused(tmp_path: Path) -> None:
    assert "holds no study" in kerntrace("study", "report", tmp_path).complaint(1)


def test_the_command_reports_a_store(tmp_path: Path) -> None:
    small = replace(SMALL, batches=(1, 16), contexts=(512,), modes=("eager", "graph"))
    store = write_study(make_study(small), tmp_path / "store")
    ran = kerntrace("study", "report", store, "--json", "--verdict", "H5", PYTHONHASHSEED="1")
    assert (ran.status, ran.err) == (4, "")
    again = kerntrace("study", "report", store, "--json", PYTHONHASHSEED="2")
    assert again.status == 0
    assert again.out == ran.out  # the same to the byte, in another process


def test_an_estimate_lies_within_its_own_interval(reported: Report, study: Study) -> None:
    """Over sessions the estimate is another than that of all repetitions: each must stand beside its own interval."""
    found = reported(study, "--json").document()
    decisive = [row["decisive"] for row in found["skus"]]
    decisive += [effect["decisive"] for cell in found["cells"] for effect in cell["effects"].values()]
    assert decisive
    for one in decisive:
        assert one["interval"]["low"] <= one["estimate_ns"] <= one["interval"]["high"]
    for claim in found["hypotheses"]:
        if claim["test"] in ("gap-positive", "kill-switch"):
            assert claim["interval"][0] <= claim["estimate"] <= claim["interval"][1]


def test_a_store_without_a_record_misses_everything(reported: Report, study: Study) -> None:
    empty = replace(study, records=())
    found = reported(empty, "--json").document()
    plan = study.plan
    asked = {("walls", mode, n, c) for mode in plan.modes for n in plan.batches for c in plan.contexts}
    asked |= {("trace", mode, n, c) for mode in plan.modes for n in plan.traced_batches for c in plan.traced_contexts}
    assert {(one["what"], one["mode"], one["batch"], one["context"]) for one in found["missing"]} == asked
    assert "missing, eager: no walls in" in reported(empty).out
