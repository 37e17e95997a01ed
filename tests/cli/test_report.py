"""`kerntrace report`: the file it writes, what it refuses, what it says."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.support.command import called, kerntrace
from tests.support.pages import read_page
from tests.support.studies import Truth, make_study

pytest.importorskip("bokeh", reason="the report extra is not installed")
pytest.importorskip("jinja2", reason="the report extra is not installed")


def test_the_file_is_written_and_named(tmp_path: Path, bundles: Path) -> None:
    ran = kerntrace("report", bundles / "eager.ktrace", bundles / "graph.ktrace", "-o", "page.html", cwd=tmp_path)
    assert (ran.status, ran.out) == (0, "")
    assert ran.err == "wrote page.html\n"
    page = read_page(tmp_path / "page.html")
    assert page.text.count("Timeline") >= 1
    assert "Only in B: decode batch 8." in page.text


def test_a_file_that_is_there_stays(tmp_path: Path, bundles: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    ran = called("report", bundles / "eager.ktrace", "-o", page)
    assert "exists already" in ran.complaint(2)
    assert page.read_text() == "mine"
    assert called("report", bundles / "eager.ktrace", "-o", page, "--force").status == 0
    assert page.read_text() != "mine"


def test_a_refused_trace_exits_3_and_names_the_rule(tmp_path: Path, bundles: Path) -> None:
    ran = called("report", bundles / "refused.ktrace", "-o", tmp_path / "page.html")
    assert ran.status == 3
    assert "refused by rule dropped-records" in ran.err
    assert (tmp_path / "page.html").exists()


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, bundles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bokeh", None)
    ran = called("report", bundles / "eager.ktrace", "-o", tmp_path / "page.html")
    assert "pip install 'kerntrace[report]'" in ran.complaint(1)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--gpu", "NOPE"], "no GPU 'NOPE'"),
        (["--model", "nope"], "no model 'nope'"),
        (["--add", "study"], "--add puts a study's store beside a study"),
        (["-o", "."], ". is a directory"),
        (["--steps", "5-2"], "names no steps"),
        (["--steps", "x"], "names no steps"),
        (["--steps", "5-999"], "the trace has steps 0 to 13"),
        (["--batch", "7"], "no step of batch 7"),
        (["--mode", "fast"], "--mode 'fast' is not known"),
        (["-o", "nowhere/page.html", "--force"], "cannot be written"),
    ],
)
def test_what_is_asked_wrongly(
    options: list[str], said: str, tmp_path: Path, bundles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = called("report", bundles / "eager.ktrace", *options)
    assert ran.status in (1, 2)
    assert said in ran.complaint(ran.status)
    assert list(tmp_path.iterdir()) == []


def test_steps_choose_the_timeline_and_batch_the_cells(tmp_path: Path, bundles: Path) -> None:
    ran = called("report", bundles / "eager.ktrace", "--steps", "3-4", "--batch", "4", "-o", tmp_path / "page.html")
    assert ran.status == 0
    page = read_page(tmp_path / "page.html")
    (strip,) = page.held["timeline-data-a"]["strips"]
    assert [step["index"] for step in strip["steps"]] == [3, 4]
    cells = {
        number.attributes["data-key"].split(".")[2]
        for number in page.numbers
        if "a.steps:summary." in number.attributes.get("data-key", "")
    }
    assert cells == {"0"}
    assert "batch 4" in page.text


def test_what_is_read_is_never_overwritten(tmp_path: Path) -> None:
    source = tmp_path / "trace.json"
    source.write_text("{}")
    for asked in (("report", source), ("figure", "ledger", source)):
        (tmp_path / "link.svg").unlink(missing_ok=True)
        (tmp_path / "link.svg").symlink_to(source)
        ran = called(*asked, "-o", tmp_path / "link.svg", "--force")
        assert "is what is to be read" in ran.complaint(2)
    assert source.read_text() == "{}"


def test_a_place_that_cannot_be_written_is_told_before_the_work(tmp_path: Path) -> None:
    ran = called("report", tmp_path / "no.ktrace", "-o", tmp_path / "nowhere" / "page.html")
    assert "there is no directory" in ran.complaint(2)


def test_a_roofline_asked_for_in_vain_is_told(tmp_path: Path, bundles: Path) -> None:
    ran = called("report", bundles / "eager.ktrace", "--model", "llama-3.1-8b", "-o", tmp_path / "page.html")
    assert ran.status == 0
    assert "no roofline of eager.ktrace: the trace does not say the context" in ran.err


@pytest.mark.parametrize("verb", [["report"], ["figure", "gap"]])
def test_a_study_takes_nothing_that_is_asked_of_traces(verb: list[str], tmp_path: Path, bundles: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (study / "plan.json").write_text("{}")
    where = tmp_path / "made.svg"
    asked: list[tuple[list[str | Path], str]] = [
        ([study, bundles / "eager.ktrace"], "a study and another trace or study do not go together"),
        ([bundles / "eager.ktrace", study], "a study and another trace or study do not go together"),
        ([study, "--steps", "1"], "are for traces; study is a study"),
        ([study, "--batch", "1"], "are for traces; study is a study"),
        ([study, "--mode", "fast"], "--mode 'fast' is not known"),
    ]
    for arguments, said in asked:
        assert said in called(*verb, *arguments, "-o", where).complaint(2)
    assert not where.exists()


def test_records_without_a_plan_are_a_study_s(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text("")
    assert "holds no study" in called("report", tmp_path, "-o", tmp_path / "page.html").complaint(1)


def test_a_study_s_directory_gives_the_study_s_page_and_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ModuleType("kerntrace.study.store")
    truth = Truth(batches=(1, 4), contexts=(512,), traced=((1, 512),), sessions=1, repetitions=3, resamples=100)
    store.read_study = lambda path: make_study(truth)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "kerntrace.study.store", store)
    where = tmp_path / "study"
    where.mkdir()
    (where / "plan.json").write_text("{}")
    ran = called("report", where, "-o", tmp_path / "page.html")
    assert (ran.status, ran.out) == (0, "")
    page = read_page(tmp_path / "page.html")
    assert "Claims and verdicts" in page.text
    assert "figure-benefit-0" in page.held
    assert called("figure", "gap", where, "-o", tmp_path / "gap.svg").status == 0
    assert called("report", where, "--add", "published", "-o", tmp_path / "same.html").status == 0
    assert read_page(tmp_path / "same.html").numbers == page.numbers
    assert "no figure 'ledger' of a study" in called("figure", "ledger", where, "-o", tmp_path / "x.svg").complaint(2)
