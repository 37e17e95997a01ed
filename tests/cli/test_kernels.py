"""`kerntrace kernels`: counts, shares, the layer, and names made to break a terminal."""

from __future__ import annotations

import csv
import io
import unicodedata
from pathlib import Path

import pytest
from tests.support.bundles import HOSTILE
from tests.support.command import called, kerntrace

from kerntrace.cli import app


def test_the_document(bundles: Path) -> None:
    ran = kerntrace("kernels", bundles / "eager.ktrace", "--json", "--batch", "4")
    assert (ran.status, ran.err) == (0, "")
    document = ran.document()
    assert document["schema"] == "kerntrace.kernels/1"
    (cell,) = document["cells"]
    assert (cell["kind"], cell["batch"], cell["steps"]) == ("decode", 4, 4)
    assert cell["kernels_per_step"] == {"median": 14, "min": 14, "max": 14}
    assert cell["motif"]["written"] == "14 = 3 x 4 + 2"
    assert sum(kernel["count_per_step"] for kernel in cell["kernels"]) == 14
    gemm = cell["kernels"][0]
    assert (gemm["name"], gemm["count_per_step"], gemm["median_ns"], gemm["total_mean_ns_per_step"]) == (
        "gemm_kernel",
        3,
        64,
        192,
    )
    assert gemm["varies"] is False
    assert gemm["share_of_busy"] == pytest.approx(192 / cell["busy_ns"]["median"])


def test_graph_kernels_are_told(bundles: Path) -> None:
    document = called("kernels", bundles / "graph.ktrace", "--json").document()
    shares = {k["name"]: k["graph_share"] for cell in document["cells"] for k in cell["kernels"]}
    assert (shares["gemm_kernel"], shares["argmax_kernel"]) == (1, 0)
    assert [cell["batch"] for cell in document["cells"]] == [1, 4, 8]


def test_the_table_for_people(bundles: Path) -> None:
    ran = called("kernels", bundles / "eager.ktrace")
    assert (ran.status, ran.err) == (0, "")
    assert "14 = 3 x 4 + 2" in ran.out
    assert "attention_kernel" in ran.out
    assert ran.out.count("steady steps") == 2


def test_rows_as_csv(bundles: Path) -> None:
    ran = called("kernels", bundles / "eager.ktrace", "--csv", "--batch", "1")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert {
        "kind",
        "batch",
        "family",
        "name",
        "count_per_step",
        "total_mean_ns_per_step",
        "median_ns",
        "share_of_busy",
        "shapes",
    } <= set(rows[0])
    assert {row["batch"] for row in rows} == {"1"}
    assert sum(float(row["count_per_step"]) for row in rows) == 14


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_a_kind_without_steady_steps_gives_no_rows_but_a_header(
    form: str, bundles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["kernels", str(bundles / "eager.ktrace"), form, "--kind", "prefill"]) == 0
    out = capsys.readouterr().out
    assert '"cells": []' in out if form == "--json" else out.startswith("kind,batch,family,name")


@pytest.mark.parametrize(("asked", "status"), [(["--batch", "77"], 2), (["--kind", "nonsense"], 2), (["--device", "8"], 2)])
def test_what_makes_no_sense(asked: list[str], status: int, bundles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["kernels", str(bundles / "eager.ktrace"), *asked]) == status
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 2


def test_a_refused_trace(bundles: Path) -> None:
    ran = called("kernels", bundles / "refused.ktrace", "--json")
    assert "dropped-records" in ran.complaint(3)
    document = ran.document()
    assert document["integrity"]["ok"] is False
    assert document["cells"] == []


def test_no_steps_found(bundles: Path) -> None:
    assert "--step-range" in called("kernels", bundles / "unstepped.ktrace").complaint(1)


def test_hostile_names_do_not_reach_the_terminal(bundles: Path) -> None:
    ran = kerntrace("kernels", bundles / "hostile.ktrace")
    assert (ran.status, ran.err) == (0, "")
    assert all(line.isprintable() for line in ran.out.splitlines())
    assert len(ran.out) < 20_000
    for said in ("[red]boo[/red] [bold]", "[/]", "<script>alert(1)</script>", "\N{CJK UNIFIED IDEOGRAPH-6F22}", "(no name)"):
        assert said in ran.out
    assert "C1" in ran.out


def test_hostile_names_come_whole_out_of_the_document(bundles: Path) -> None:
    ran = called("kernels", bundles / "hostile.ktrace", "--json")
    assert {kernel["name"] for kernel in ran.document()["cells"][0]["kernels"]} == set(HOSTILE)
    assert {c for c in ran.out if ord(c) < 32} == {"\n"}


def test_hostile_names_in_rows_are_quoted_and_are_no_formulas(bundles: Path) -> None:
    ran = called("kernels", bundles / "hostile.ktrace", "--csv")
    csv.field_size_limit(1 << 22)
    names = [row["name"] for row in csv.DictReader(io.StringIO(ran.out, newline=""))]
    assert len(names) == len(HOSTILE)
    assert not any(name[:1] in ("=", "+", "-", "@", "\t", "\r") for name in names)
    kept = {name for name in HOSTILE if not any(unicodedata.category(c) == "Cc" for c in name) and not name.startswith("=")}
    assert kept <= set(names)


def test_a_run_on_a_terminal_is_escaped_too(bundles: Path) -> None:
    """Where output has colours, what comes from names has none."""
    ran = kerntrace("kernels", bundles / "hostile.ktrace", FORCE_COLOR="1", COLUMNS="160")
    assert ran.status == 0
    assert "\x1b[31m" not in ran.out
    assert "\x1b]0;" not in ran.out
    assert "\x9b" not in ran.out
    assert "\x07" not in ran.out
