"""`kerntrace steps`: the document, the rows, the table, the filters and the refusals."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.support import oracle
from tests.support.bundles import HOSTILE
from tests.support.command import called, kerntrace
from tests.support.recording import decode_run

from kerntrace.cli import app

TERMS = [f"{term}_ns" for term in oracle.TERMS]


@pytest.fixture(scope="module")
def document(bundles: Path) -> dict[str, Any]:
    ran = kerntrace("steps", bundles / "eager.ktrace", "--json")
    assert (ran.status, ran.err) == (0, "")
    return ran.document()


def test_the_document_says_what_it_is(document: dict[str, Any]) -> None:
    assert document["schema"] == "kerntrace.steps/1"
    assert document["segmentation"] == "vllm"
    assert document["integrity"]["ok"] is True
    assert document["trace"]["environment"] == {"gpu": "NVIDIA H200"}
    assert sum(document["excluded"].values()) + sum(s["steady"] for s in document["steps"]) == len(document["steps"])


def test_every_step_agrees_with_the_oracle(document: dict[str, Any]) -> None:
    expected = oracle.account(decode_run(batches=(1, 4)))
    assert len(document["steps"]) == len(expected) == 14
    for i, (row, step) in enumerate(zip(document["steps"], expected)):
        assert (row["index"], row["kind"], row["batch"], row["steady"]) == (i, step.kind, step.batch, step.steady)
        assert (row["kernels"], row["launches"], row["graph_launches"]) == (step.kernels, step.launches, step.graph_launches)
        if step.complete:
            assert (row["wall_ns"], row["busy_ns"], row["overlap_ns"]) == (step.wall, step.busy, step.overlap)
            assert {t: row[t] for t in TERMS} == {t: step.term(t.removesuffix("_ns")) for t in TERMS}
            assert row["within"] == {t: step.within[t.removesuffix("_ns")] for t in TERMS}
            assert row["between"] == {t: step.between[t.removesuffix("_ns")] for t in TERMS}
            assert row["busy_ns"] + sum(row[t] for t in TERMS) == row["wall_ns"]
    assert "wall_ns" not in document["steps"][-1]
    assert set(document["steps"][-1]["open_window"]) >= {"wall_ns", "busy_ns", "within", "between", *TERMS}


def test_the_summary_agrees_with_the_oracle(document: dict[str, Any]) -> None:
    expected = oracle.account(decode_run(batches=(1, 4)))
    assert [(cell["kind"], cell["batch"], cell["steps"]) for cell in document["summary"]] == [
        ("decode", 1, 4),
        ("decode", 4, 4),
    ]
    for cell in document["summary"]:
        figures = oracle.medians(expected, cell["batch"])
        assert {name: cell[name]["median"] for name in figures} == figures
        assert all(cell[name]["min"] <= cell[name]["median"] <= cell[name]["max"] for name in figures)
        waited = sum(phase["host_wait_mean_ns"] for phase in cell["phases"])
        steady = [s for s in expected if s.steady and s.batch == cell["batch"]]
        assert waited == pytest.approx(sum(s.term("host_wait") for s in steady) / len(steady))


def test_rows_as_csv(bundles: Path, document: dict[str, Any]) -> None:
    ran = kerntrace("steps", bundles / "eager.ktrace", "--csv")
    assert (ran.status, ran.err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert len(rows) == len(document["steps"])
    columns = {
        "index",
        "kind",
        "batch",
        "prefill_tokens",
        "steady",
        "kernels",
        "launches",
        "graph_launches",
        "wall_ns",
        "busy_ns",
    }
    assert columns | set(TERMS) | {f"{side}.{t}" for side in ("within", "between") for t in TERMS} <= set(rows[0])
    for row, step in zip(rows, document["steps"]):
        assert int(row["kernels"]) == step["kernels"]
        assert row["wall_ns"] == ("" if "wall_ns" not in step else str(step["wall_ns"]))
        assert row["batch"] == ("" if step["batch"] is None else str(step["batch"]))


def test_the_table_for_people(bundles: Path) -> None:
    ran = kerntrace("steps", bundles / "eager.ktrace")
    assert (ran.status, ran.err) == (0, "")
    assert "14 steps by vLLM's execute_context ranges" in ran.out
    for said in (
        "decode batch 1: 4 steady steps",
        "decode batch 4: 4 steady steps",
        "GPU busy",
        "device's own gaps",
        "prefill step",
    ):
        assert said in ran.out
    assert "\x1b" not in ran.out


def test_more_steps_than_a_table_shows(bundles: Path) -> None:
    ran = called("steps", bundles / "many.ktrace")
    assert "211 more steps" in ran.out
    assert len(ran.out.splitlines()) < 90


@pytest.mark.parametrize(
    ("asked", "kinds", "batches"),
    [
        (["--batch", "4"], {"decode"}, {4}),
        (["--batch", "4", "--batch", "1"], {"decode"}, {1, 4}),
        (["--kind", "prefill"], {"prefill"}, {None}),
        (["--kind", "decode", "--batch", "1"], {"decode"}, {1}),
    ],
)
def test_filters(
    asked: list[str], kinds: set[str], batches: set[int | None], bundles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["steps", str(bundles / "eager.ktrace"), "--json", *asked]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {step["kind"] for step in document["steps"]} == kinds
    assert {step["batch"] for step in document["steps"]} == batches
    assert {cell["batch"] for cell in document["summary"]} == batches - {None}


@pytest.mark.parametrize(("asked", "first", "last"), [("2", 2, 2), ("2-4", 2, 4), ("2:4", 2, 3), (":2", 0, 1), ("3:", 3, None)])
def test_steps_are_listed_by_their_numbers(
    asked: str, first: int, last: int | None, document: dict[str, Any], bundles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["steps", str(bundles / "eager.ktrace"), "--steps", asked, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    numbers = [step["index"] for step in document["steps"]]
    assert [int(row["index"]) for row in rows] == numbers[first : None if last is None else last + 1]
    assert app.run(["steps", str(bundles / "eager.ktrace"), "--steps", asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [step["index"] for step in found["steps"]] == [int(row["index"]) for row in rows]
    assert found["summary"] == document["summary"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--batch", "77"], "There are: decode of batch 1, decode of batch 4, prefill."),
        (["--kind", "nonsense"], "Kinds: decode"),
        (["--kind", "mixed"], "There are: decode of batch 1, decode of batch 4, prefill."),
        (["--kind", "prefill", "--batch", "1"], "There are"),
        (["--device", "5"], "Devices in this trace: 0."),
        (["--pid", "5"], "Processes that did: 7."),
        (["--step-range", "("], "escape ( and )"),
        (["--steps", "900"], "The trace has steps 0 to "),
        (["--steps", "4-2"], "The first stands before the last."),
        (["--steps", "x"], "Write 12, 12-19, or 12:20"),
        (["--steps", "0:2", "--batch", "4"], "Leave one of the two out."),
    ],
)
def test_what_makes_no_sense_is_told_with_what_would(
    asked: list[str], said: str, bundles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for form in ([], ["--json"]):
        assert app.run(["steps", str(bundles / "eager.ktrace"), *asked, *form]) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert said in shown.err
        assert len(shown.err.splitlines()) == 2


def test_a_pattern_that_matches_nothing_names_ranges(bundles: Path) -> None:
    said = called("steps", bundles / "eager.ktrace", "--step-range", "^nothing$").complaint(1)
    assert "'sample'" in said
    assert "execute_context_0(0)_generation_4(4)" in said


def test_steps_by_a_pattern_of_ones_own(bundles: Path) -> None:
    document = called("steps", bundles / "eager.ktrace", "--json", "--step-range", "^sample$").document()
    assert document["segmentation"] == "regex"
    assert {step["kind"] for step in document["steps"]} == {"unknown"}
    assert len(document["steps"]) == 12
    assert document["summary"][0]["batch"] is None


def test_one_device_and_process_of_several(bundles: Path) -> None:
    said = called("steps", bundles / "devices.ktrace")
    assert said.status == 3
    assert said.out == ""
    assert "--device" in said.err
    assert "--pid" in said.err
    assert len(said.err.splitlines()) == 4  # two problems, two lines each
    for asked in (["--device", "1"], ["--pid", "9"]):
        document = called("steps", bundles / "devices.ktrace", "--json", *asked).document()
        assert {step["batch"] for step in document["steps"]} == {8}
        assert document["integrity"]["ok"] is True


def test_a_refused_trace_gives_a_document_without_figures(bundles: Path) -> None:
    ran = kerntrace("steps", bundles / "refused.ktrace", "--json")
    assert "dropped-records" in ran.complaint(3)
    document = ran.document()
    assert document["integrity"]["ok"] is False
    assert (document["steps"], document["summary"]) == ([], [])
    for form in ([], ["--csv"]):
        again = called("steps", bundles / "refused.ktrace", *form)
        assert again.complaint(3)
        assert again.out == ""


def test_no_steps_found_says_how_to_name_them(bundles: Path) -> None:
    for form in ([], ["--json"]):
        ran = called("steps", bundles / "unstepped.ktrace", *form)
        said = ran.complaint(1)
        assert "--step-range" in said
        assert "'work a'" in said


def test_a_manifest_with_half_a_character_is_no_defect(bundles: Path, tmp_path: Path) -> None:
    """JSON may say half of a surrogate pair, which no file or terminal can be given."""
    copy = tmp_path / "copy.ktrace"
    shutil.copytree(bundles / "eager.ktrace", copy)
    text = (copy / "manifest.json").read_text().replace('"test 1"', '"\\ud800"')
    (copy / "manifest.json").write_text(text)
    for form in (["--json"], []):
        ran = called("steps", copy, *form)
        assert ran.status in (0, 1)
        assert "defect" not in ran.err


def test_hostile_range_names_do_not_reach_the_terminal(bundles: Path) -> None:
    ran = kerntrace("steps", bundles / "hostile.ktrace")
    assert ran.status == 0
    assert all(line.isprintable() for line in ran.out.splitlines())
    assert len(ran.out) < 20_000
    assert "<script>alert(1)</script>" in ran.out
    phases = called("steps", bundles / "hostile.ktrace", "--json").document()["summary"][0]["phases"]
    assert set(HOSTILE) <= {phase["name"] for phase in phases}


def test_a_step_left_out_says_why(bundles: Path, document: dict[str, Any]) -> None:
    said = {step["index"]: step["excluded"] for step in document["steps"]}
    assert {i for i, reason in said.items() if reason is None} == {s["index"] for s in document["steps"] if s["steady"]}
    assert said[0] == "prefill step"
    assert said[13] == "window not closed (nothing after it on record)"
    assert Counter(reason for reason in said.values() if reason) == document["excluded"]
    rows = csv.DictReader(io.StringIO(called("steps", bundles / "eager.ktrace", "--csv").out))
    assert {int(row["index"]): row["excluded"] or None for row in rows} == said
    shown = kerntrace("steps", bundles / "eager.ktrace").out
    for reason, count in document["excluded"].items():
        numbers = [i for i, why in said.items() if why == reason]
        assert f"left out of headline figures: {count} x {reason} (step{'s' if count > 1 else ''} {numbers[0]}" in shown
