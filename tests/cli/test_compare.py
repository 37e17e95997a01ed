"""`kerntrace compare`."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from tests.support import oracle
from tests.support.command import called, kerntrace
from tests.support.recording import decode_run

from kerntrace.cli import app


@pytest.fixture(scope="module")
def document(bundles: Path) -> dict[str, Any]:
    ran = kerntrace("compare", bundles / "eager.ktrace", bundles / "graph.ktrace", "--json")
    assert (ran.status, ran.err) == (0, "")
    return ran.document()


def test_cells_that_both_have(document: dict[str, Any]) -> None:
    assert document["schema"] == "kerntrace.compare/1"
    assert [cell["batch"] for cell in document["cells"]] == [1, 4]
    assert document["unpaired"] == [{"side": "b", "kind": "decode", "batch": 8}]
    assert document["integrity"]["a"]["ok"] is document["integrity"]["b"]["ok"] is True


def test_every_delta_is_a_minus_b(document: dict[str, Any]) -> None:
    a, b = (oracle.account(decode_run(batches=(1, 4), graph=graph)) for graph in (False, True))
    for cell in document["cells"]:
        one, other = oracle.medians(a, cell["batch"]), oracle.medians(b, cell["batch"])
        for name in one:
            assert cell["a"][name]["median"] == one[name]
            assert cell["b"][name]["median"] == other[name]
            assert cell["delta"][name]["median"] == one[name] - other[name]
        assert cell["delta"]["launches"]["median"] == 11


def test_the_same_work(document: dict[str, Any]) -> None:
    assert document["same_work"]["verdict"] == "same"
    assert document["same_work"]["only_a"] == document["same_work"]["only_b"] == []
    assert all(cell["same_work"]["verdict"] == "same" for cell in document["cells"])


def test_the_table_for_people(bundles: Path) -> None:
    ran = called("compare", bundles / "eager.ktrace", bundles / "graph.ktrace")
    assert (ran.status, ran.err) == (0, "")
    for said in (
        "A = eager.ktrace on NVIDIA H200",
        "B = graph.ktrace",
        "decode batch 1",
        "GPU busy",
        "same work: yes",
        "only in B",
    ):
        assert said in ran.out


def test_rows_as_csv(bundles: Path, document: dict[str, Any]) -> None:
    ran = called("compare", bundles / "eager.ktrace", bundles / "graph.ktrace", "--csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert list(rows[0]) == ["kind", "batch", "figure", "a", "b", "delta"]
    wall = {row["batch"]: float(row["delta"]) for row in rows if row["figure"] == "wall_ns"}
    assert wall == {str(cell["batch"]): cell["delta"]["wall_ns"]["median"] for cell in document["cells"]}


def test_one_batch(bundles: Path) -> None:
    ran = called("compare", bundles / "eager.ktrace", bundles / "graph.ktrace", "--json", "--batch", "4")
    assert [cell["batch"] for cell in ran.document()["cells"]] == [4]


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
def test_a_batch_that_neither_has_is_the_users_mistake(
    form: list[str], bundles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for `steps`; and a batch of one trace only is told as such, not as nothing in common."""
    arguments = ["compare", str(bundles / "eager.ktrace"), str(bundles / "graph.ktrace"), *form]
    assert app.run([*arguments, "--batch", "77"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "77" in shown.err
    assert len(shown.err.splitlines()) <= 2


def test_traces_without_a_cell_in_common(bundles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    eager = str(bundles / "eager.ktrace")
    assert app.run(["compare", eager, str(bundles / "hostile.ktrace"), "--batch", "4"]) in (1, 2)
    assert len(capsys.readouterr().err.splitlines()) <= 2


@pytest.mark.parametrize("refused_first", [False, True])
def test_a_refused_trace_on_either_side(refused_first: bool, bundles: Path) -> None:
    pair = [bundles / "refused.ktrace", bundles / "eager.ktrace"]
    ran = called("compare", *(pair if refused_first else pair[::-1]), "--json")
    assert "refused.ktrace: refused by rule dropped-records" in ran.complaint(3)
    document = ran.document()
    assert document["integrity"]["a" if refused_first else "b"]["ok"] is False
    assert document["cells"] == []


def test_both_refused_are_two_problems(bundles: Path) -> None:
    ran = called("compare", bundles / "refused.ktrace", bundles / "refused.ktrace")
    assert ran.status == 3
    assert len(ran.err.splitlines()) == 4
    assert ran.out == ""


def test_a_missing_second_trace(bundles: Path) -> None:
    assert "gone" in called("compare", bundles / "eager.ktrace", bundles / "gone").complaint(1)


def test_hostile_names_do_not_reach_the_terminal(bundles: Path) -> None:
    ran = called("compare", bundles / "eager.ktrace", bundles / "hostile.ktrace")
    assert (ran.status, ran.err) == (0, "")
    assert "same work: no" in ran.out
    assert all(line.isprintable() for line in ran.out.splitlines())
    assert len(ran.out) < 20_000
