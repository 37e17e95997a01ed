"""The page and the figures of a study: every number from its document, verdicts first, references apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.report.test_numbers import figure_columns
from tests.support.command import kerntrace
from tests.support.pages import Page, read_page
from tests.support.studies import A100, H100, H200, Truth, make_study

from kerntrace.evidence.hypotheses import weigh
from kerntrace.evidence.study_evidence import Question, gather
from kerntrace.model.scheduler import SForm, scheduler_ms
from kerntrace.report.figures.study_batch_charts import crosscheck_chart, rival_charts
from kerntrace.report.figures.study_charts import benefit_chart, gap_chart
from kerntrace.report.html.study_page import predictions_of, study_page
from kerntrace.report.study_document import study_document

RECORDED = Path(__file__).parents[2] / "traces" / "study-h200"
TRUTH = Truth(
    gpus=(H200, H100, A100), batches=(1, 2, 4, 16), contexts=(512,), traced=((1, 512), (16, 512)), sessions=2, repetitions=3
)


@pytest.fixture(scope="module")
def parts() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    evidence = gather(make_study(TRUTH), Question(resamples=100, published=True), [])
    document: dict[str, Any] = json.loads(json.dumps(study_document(evidence, weigh(evidence))))
    return document, predictions_of(evidence)


@pytest.fixture(scope="module")
def path(parts: tuple[dict[str, Any], list[dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.html"
    path.write_text(study_page(*parts), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page(path: Path) -> Page:
    return read_page(path)


def _same_numbers(page: Page, document: dict[str, Any]) -> int:
    """How many numbers of the page name a place in the document; each must be what stands there."""
    keyed = [number for number in page.numbers if "data-key" in number.attributes]
    for number in keyed:
        name, _, path = number.attributes["data-key"].partition(":")
        assert name == "study"
        value: Any = document
        for part in path.split("."):
            value = value[int(part) if isinstance(value, list) else part]
        assert number.attributes["value"] == ("" if value is None else str(value)), number
    return len(keyed)


def test_numbers_are_those_of_the_document(page: Page, parts: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
    assert _same_numbers(page, parts[0]) > 300


def test_the_recorded_study_s_page_holds_what_the_verb_prints(tmp_path: Path) -> None:
    made = kerntrace("report", RECORDED, "-o", tmp_path / "page.html")
    assert made.status == 0, made.err
    said = kerntrace("study", "report", RECORDED, "--add", "published", "--json").document()
    page = read_page(tmp_path / "page.html")
    assert _same_numbers(page, said) > 300
    keys = {number.attributes.get("data-key") for number in page.numbers}
    for i, row in enumerate(said["attribution"]["phases"]):  # how long each part of the iteration leaves the GPU waiting
        if any(cell["exposed_ns"] for cell in row["cells"]):
            assert {f"study:attribution.phases.{i}.cells.{j}.exposed_ns" for j in range(len(row["cells"]))} <= keys


def test_every_number_says_its_kind(page: Page) -> None:
    kinds = {
        number.attributes["data-key"]: number.attributes["data-kind"] for number in page.numbers if number.text != "\N{EN DASH}"
    }
    assert kinds["study:reference.0.benefit"] == "reference"
    assert {kind for key, kind in kinds.items() if key.startswith("study:skus")} == {"derived"}
    assert kinds["study:crosscheck.0.ledger_ns"] == "measured"


def test_every_claim_stands_with_its_verdict_before_any_figure(page: Page, parts: tuple[dict[str, Any], list[Any]]) -> None:
    text = " ".join(page.text.split())
    assert text.index("Claims and verdicts") < text.index("Relative benefit against HBM bandwidth")
    for one in parts[0]["hypotheses"]:
        assert f"{one['id']} {one['claim']} {one['verdict']}" in text
        assert one["reason"].split(";")[0] in text


def test_every_figure_of_the_study_is_there(page: Page) -> None:
    names = {name.split("-")[1] for name in page.held}
    assert names == {"benefit", "gap", "rivals", "exposure", "predictions", "crosscheck"}
    assert sum(name.startswith("figure-rivals") for name in page.held) == 3


def test_the_benefit_is_drawn_at_the_bandwidth_of_its_gpu(parts: tuple[dict[str, Any], list[Any]]) -> None:
    chart = benefit_chart(parts[0])
    assert chart is not None
    medians = {one.label: (one.x[0], one.y[0], one.low[0], one.high[0]) for one in chart.series if one.label.endswith("median")}
    rows = {row["gpu"]: row for row in parts[0]["skus"] if (row["grid"], row["effect"]) == ("common", "gap")}
    for gpu, label, bandwidth in ((H200, "H200: median", 4800), (H100, "H100-SXM: median", 3350)):
        interval = rows[gpu]["benefit_median_of_ratios_interval"]
        assert medians[label] == (bandwidth, rows[gpu]["benefit_median_of_ratios"], interval["low"], interval["high"])
    cells = [one for one in chart.series if one.faint]
    assert sum(len(one.x) for one in cells) == len(parts[0]["cells"])
    (reference,) = [one for one in chart.series if one.hollow]
    assert sorted(reference.y) == sorted(row["benefit"] for row in parts[0]["reference"])


def test_the_gap_has_one_place_a_gpu(parts: tuple[dict[str, Any], list[Any]]) -> None:
    chart = gap_chart(parts[0])
    assert chart is not None
    assert [text for _, text in chart.ticks] == ["H200", "H100-SXM", "A100-40GB-SXM"]


def test_a_published_row_of_another_gpu_has_a_place_of_its_own(parts: tuple[dict[str, Any], list[Any]]) -> None:
    only = {**parts[0], "hosts": parts[0]["hosts"][:1]}
    chart = gap_chart(only)
    assert chart is not None
    assert [text for _, text in chart.ticks] == ["H200", "A100-40GB-SXM", "H100-SXM"]
    (published,) = [one for one in chart.series if one.hollow]
    assert sorted(published.x) == [0, 1, 2]


def test_cross_checks_are_drawn_by_their_number_in_the_table(parts: tuple[dict[str, Any], list[Any]], page: Page) -> None:
    rows = json.loads(json.dumps(parts[0]["crosscheck"]))
    rows[1]["against_traced"] = None
    chart = crosscheck_chart({**parts[0], "crosscheck": rows})
    assert chart is not None
    assert sorted(x for one in chart.series for x in one.x) == [1, *range(3, len(rows) + 1)]


def test_rivals_are_drawn_by_their_formulas(parts: tuple[dict[str, Any], list[Any]]) -> None:
    study = parts[0]
    chart = next(one for one in rival_charts(study) if one.title == "H200, context 512")
    contest = next(
        r for r in study["attribution"]["rivals"] if (r["host"], r["target"], r["s_form"]) == ("host0", "gap", "linear")
    )
    fits = {fit["rival"]: fit for fit in contest["fits"]}
    drawn = {one.label.split(":")[0]: one for one in chart.series if ":" in one.label}
    cells = [c for c in study["cells"] if (c["host"], c["context"]) == ("host0", 512)]
    for cell in cells:
        at = drawn["H-D"].x.index(cell["batch"])
        time = cell["steps"]["graph"]["median_ns"] / 1e6
        residual = scheduler_ms(cell["batch"], SForm.LINEAR)
        floor = max(0.0, fits["H-D"]["floor_ms"] - time)
        both = max(0.0, fits["H-D+S"]["floor_ms"] - time) + fits["H-D+S"]["slope"] * residual
        found = {name: one.y[at] for name, one in drawn.items()}
        expected = {"H-D": floor, "H-S": fits["H-S"]["slope"] * residual, "H-C": fits["H-C"]["constant_ms"], "H-D+S": both}
        assert found == pytest.approx(expected)


def test_predictions_stand_against_measured_steps(page: Page, parts: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
    study, predictions = parts
    one = next(p for p in predictions if (p["gpu"], p["of"], p["batch"], p["context"]) == (H200, "graph", 4, 512))
    cell = next(c for c in study["cells"] if (c["gpu"], c["batch"], c["context"]) == (H200, 4, 512))
    point = (cell["steps"]["graph"]["median_ns"] / 1e6, one["predicted_ns"] / 1e6)
    drawn = [
        pair
        for name, item in page.held.items()
        if name.startswith("figure-predictions")
        for source in figure_columns(item, {"x", "y", "said"})
        for pair in zip(source["x"], source["y"])
    ]
    assert any(pair == pytest.approx(point) for pair in drawn)
    assert len(drawn) == len(predictions)


def test_a_study_without_traces_or_references_has_what_it_can(tmp_path: Path) -> None:
    truth = Truth(batches=(1, 4, 16), contexts=(512,), traced=(), sessions=1, repetitions=1, modes=("eager", "graph"))
    evidence = gather(make_study(truth), Question(resamples=100), [])
    path = tmp_path / "study.html"
    path.write_text(study_page(study_document(evidence, weigh(evidence)), []), encoding="utf-8")
    page = read_page(path)
    assert {name.split("-")[1] for name in page.held} == {"benefit", "gap", "rivals"}
    assert "published (reference)" not in page.text


@pytest.mark.browser
def test_it_opens_without_complaint_or_request(chromium: Any, path: Path, parts: tuple[dict[str, Any], list[Any]]) -> None:
    from tests.report.test_browser import opened

    found = opened(chromium, path)
    assert found.errors == []
    assert found.requests == [path.as_uri()]
    assert found.page.locator(".plot.waiting").count() == 0
    search = found.page.locator("#crosscheck input[type=search]")
    search.fill("H100-SXM eager")
    assert found.page.locator("#check-table tbody tr:visible").count() == 2
    assert found.page.evaluate("document.querySelectorAll('#check-table td.bad').length") == sum(
        row[which]["verdict"] == "disagree"
        for row in parts[0]["crosscheck"]
        for which in ("against_traced", "against_untraced")
        if row[which]
    )
    found.page.close()


@pytest.mark.browser
def test_legends_are_dark_where_the_page_is(chromium: Any, path: Path) -> None:
    from tests.report.test_browser import opened

    found = opened(chromium, path, color_scheme="dark")
    colours = found.page.evaluate("""[...kerntrace.drawn.values()].flatMap((model) =>
        [...model.center, ...model.left, ...model.right, ...model.above, ...model.below].filter((one) => one.type === "Legend")
        .map((legend) => legend.background_fill_color?.value ?? legend.background_fill_color))""")
    assert len(colours) > 3
    assert {str(colour) for colour in colours} == {"#12171d"}
    found.page.close()


def test_a_store_with_nothing_in_it_says_so_and_a_long_list_of_missing_parts_is_folded(
    parts: tuple[dict[str, Any], list[Any]], tmp_path: Path
) -> None:
    nothing = {**parts[0], "hosts": [], "cells": [], "skus": [], "crosscheck": [], "missing": []}
    nothing |= {"attribution": {**parts[0]["attribution"], "rivals": []}, "accuracy": []}
    where = tmp_path / "page.html"
    where.write_text(study_page(nothing, []), encoding="utf-8")
    text = read_page(where).text
    assert "nothing is measured yet" in text
    assert "nothing missing" not in text
    lack = {"what": "trace", "host": parts[0]["hosts"][0]["host"], "mode": "graph", "context": 512, "reason": None}
    where.write_text(study_page({**parts[0], "missing": [{**lack, "batch": n} for n in range(20)]}, []), encoding="utf-8")
    text = " ".join(read_page(where).text.split())
    assert "20 parts missing" in text
    assert "8 more missing parts" in text
    assert "missing: trace of H200, graph, batch 19, context 512" in text
