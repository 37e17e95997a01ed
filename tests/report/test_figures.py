"""`kerntrace figure`: files for papers, with embedded fonts, from the numbers of the documents."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.report.conftest import TRACES
from tests.support.command import called

from kerntrace.report.figures.chart import Chart, Series
from kerntrace.report.figures.draw import save
from kerntrace.report.figures.trace_charts import ledger_bars

pytest.importorskip("matplotlib", reason="the figures extra is not installed")

EAGER, GRAPH = TRACES / "h200-native-eager.ktrace", TRACES / "h200-native-graph.ktrace"
NAMES = ("ledger", "steps", "timeline", "roofline", "exposure")


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_of_traces_is_drawn(name: str, tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    ran = called("figure", name, EAGER, GRAPH, "-o", path)
    assert (ran.status, ran.out) == (0, "")
    root = ET.parse(path).getroot()
    assert root.tag.endswith("svg")
    assert not [one for one in root.iter() if one.tag.endswith("}text")]  # letters are outlines: no font is needed


def test_a_pdf_embeds_its_font_as_truetype(tmp_path: Path) -> None:
    path = tmp_path / "figure.pdf"
    assert called("figure", "ledger", EAGER, "-o", path).status == 0
    content = path.read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content


def test_equal_data_give_equal_files(tmp_path: Path, bundles: Path) -> None:
    files = [tmp_path / f"{i}.{kind}" for kind in ("svg", "pdf", "png") for i in (1, 2)]
    for path in files:
        assert called("figure", "steps", bundles / "eager.ktrace", "-o", path).status == 0
    for one, other in zip(files[::2], files[1::2]):
        assert one.read_bytes() == other.read_bytes()


def test_the_ledger_s_bars_are_the_summary(bundles: Path) -> None:
    document = called("steps", bundles / "eager.ktrace", "--json").document()
    bars = ledger_bars([(str(row["batch"]), row) for row in document["summary"]])
    for label, _, values in bars.parts:
        term = {
            "GPU busy": "busy_ns",
            "device's own gaps": "device_gap_ns",
            "waiting: launch latency": "launch_latency_ns",
        }.get(label)
        if term:
            assert list(values) == [row[term]["median"] / 1e6 for row in document["summary"]]
    assert "GPU busy" in [label for label, *_ in bars.parts]


def test_names_that_look_like_formulas_are_text(tmp_path: Path) -> None:
    hostile = Series("$\\frac{1}{0}$ \x00", [1.0], [1.0], "#000000")
    save([Chart("$\\undefined$", "$x", "y$", (hostile,), "")], tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000


def test_the_list_names_every_figure() -> None:
    ran = called("figure", "--list")
    assert ran.status == 0
    rows = [line.split()[:2] for line in ran.out.splitlines()]
    assert [name for of, name in rows if of == "trace"] == list(NAMES)
    assert [name for of, name in rows if of == "study"] == ["benefit", "gap", "rivals", "exposure", "predictions", "crosscheck"]


def test_what_is_asked_wrongly(tmp_path: Path, bundles: Path) -> None:
    eager = bundles / "eager.ktrace"
    asked: list[tuple[list[str | Path], int, str]] = [
        (["ledger"], 2, "a figure needs NAME"),
        (["pie", eager, "-o", tmp_path / "f.svg"], 2, "no figure 'pie' of a trace"),
        (["ledger", eager, "-o", tmp_path / "f.jpg"], 2, "does not end in .svg, .pdf or .png"),
        (["ledger", bundles / "refused.ktrace", "-o", tmp_path / "f.svg"], 3, "refused by rule dropped-records"),
        (["roofline", eager, "-o", tmp_path / "f.svg"], 1, "no roofline: the trace does not say which model ran"),
        (["exposure", bundles / "many.ktrace", "-o", tmp_path / "f.svg"], 1, "has nothing to draw"),
    ]
    for arguments, status, said in asked:
        assert said in called("figure", *arguments).complaint(status)
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path, bundles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = called("figure", "ledger", bundles / "eager.ktrace", "-o", tmp_path / "f.svg")
    assert "pip install 'kerntrace[figures]'" in ran.complaint(1)
