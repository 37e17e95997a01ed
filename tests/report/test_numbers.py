"""Every number of a page equals the one that `--json` of the verbs prints."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.report.conftest import TRACES
from tests.support.command import called
from tests.support.pages import Page, read_page

EAGER, GRAPH = TRACES / "h200-native-eager.ktrace", TRACES / "h200-native-graph.ktrace"
HOST = ("host_wait_ns", "launch_call_ns", "launch_latency_ns")


@pytest.fixture(scope="module")
def page(pair: Path) -> Page:
    return read_page(pair)


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    found = {"compare": called("compare", EAGER, GRAPH, "--json").document()}
    for letter, trace in (("a", EAGER), ("b", GRAPH)):
        for verb in ("steps", "kernels", "roofline"):
            found[f"{letter}.{verb}"] = called(verb, trace, "--json").document()
    return found


def at(document: Any, path: str) -> Any:
    for part in path.split("."):
        document = document[int(part) if isinstance(document, list) else part]
    return document


def test_numbers_are_those_of_the_documents(page: Page, documents: dict[str, Any]) -> None:
    keyed = [number for number in page.numbers if "data-key" in number.attributes]
    for number in keyed:
        name, _, path = number.attributes["data-key"].partition(":")
        value = at(documents[name], path)
        assert number.attributes["value"] == ("" if value is None else str(value)), number
    names = {number.attributes["data-key"].partition(":")[0] for number in keyed}
    assert names == set(documents)
    assert len(keyed) > 1000


def test_texts_say_their_values(page: Page) -> None:
    """A reader sees the value: in ms to a microsecond's precision, as a count, or as a share."""
    for number in page.numbers:
        key, text = number.attributes.get("data-key", ""), number.text.replace("\N{MINUS SIGN}", "-").replace(",", "")
        if not number.attributes["value"] or text == "\N{EN DASH}":
            continue
        value = float(number.attributes["value"])
        scale = {"%": 0.01, "us": 1e3, "ms": 1e6, "s": 1e9}
        digits, _, unit = text.partition(" ")
        shown = float(digits)
        if unit == "ns" or not unit:
            in_ms = not unit and ("_ns" in key or "exposure" in "".join(number.attributes))
            factor = 1e6 if in_ms else 1.0
        else:
            factor = scale[unit]
        places = len(digits.partition(".")[2])
        assert shown * factor == pytest.approx(value, abs=0.5001 * factor * 10**-places), number


def test_every_number_says_its_kind(page: Page) -> None:
    kinds = {
        n.attributes.get("data-key", "dilation or exposure"): n.attributes["data-kind"]
        for n in page.numbers
        if n.attributes["value"]
    }
    assert set(kinds.values()) == {"measured", "derived", "predicted"}
    assert kinds["a.steps:summary.0.wall_ns.median"] == "measured"
    assert kinds["compare:cells.0.delta.wall_ns.median"] == "derived"
    assert kinds["a.roofline:cells.0.t_blocks.0.predicted_ns"] == "predicted"
    assert kinds["dilation or exposure"] == "derived"


def test_every_cell_and_kernel_is_there(page: Page, documents: dict[str, Any]) -> None:
    keys = {number.attributes.get("data-key") for number in page.numbers}
    for letter in "ab":
        for c, cell in enumerate(documents[f"{letter}.steps"]["summary"]):
            assert {f"{letter}.steps:summary.{c}.{name}.median" for name in cell if name.endswith("_ns")} - keys <= {
                f"{letter}.steps:summary.{c}.profiler_ns.median",
                f"{letter}.steps:summary.{c}.unattributed_ns.median",
            }
        for c, cell in enumerate(documents[f"{letter}.kernels"]["cells"]):
            places = range(len(cell["kernels"]))
            assert {f"{letter}.kernels:cells.{c}.kernels.{k}.total_mean_ns_per_step" for k in places} <= keys


def test_exposure_by_batch_is_that_of_the_steps(page: Page, documents: dict[str, Any]) -> None:
    found = {
        n.attributes["data-exposure"]: float(n.attributes["value"]) for n in page.numbers if "data-exposure" in n.attributes
    }
    assert len(found) == 8
    for key, value in found.items():
        letter, batch, side = key.split(".")
        steps = [s for s in documents[f"{letter}.steps"]["steps"] if s["steady"] and s["batch"] == int(batch)]
        assert value == median(sum(step[side][term] for term in HOST) for step in steps)


def test_dilation_is_traced_over_untraced(page: Page, documents: dict[str, Any]) -> None:
    found = [n for n in page.numbers if n.attributes.get("data-dilation") == "a"]
    walls = pq.read_table(EAGER / "walls.parquet").to_pylist()
    for number, batch in zip(found, (1, 16)):
        by = {(w["repetition"], w["tokens"]): w["wall_ns"] for w in walls if w["batch"] == batch}
        untraced = median((by[r, 33] - by[r, 1]) / 32 for r in range(5))
        cell = next(c for c in documents["a.steps"]["summary"] if c["batch"] == batch)
        assert float(number.attributes["value"]) == pytest.approx(cell["wall_ns"]["median"] / untraced, rel=1e-12)
    assert len(found) == 2


def test_steps_figure_holds_the_document_s_steps(page: Page, documents: dict[str, Any]) -> None:
    drawn = figure_columns(page.held["figure-steps-a"], {"x", "y", "said"})
    walls = sorted(s["wall_ns"] / 1e6 for s in documents["a.steps"]["steps"] if s["steady"])
    assert any(sorted(source["y"]) == walls for source in drawn)


def figure_columns(item: Any, wanted: set[str]) -> list[dict[str, Any]]:
    """Data of a Bokeh figure's sources that have the wanted columns."""
    found = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if value.get("name") == "ColumnDataSource":
                columns = dict(value["attributes"]["data"]["entries"])
                if wanted <= set(columns):
                    found.append(columns)
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(json.loads(json.dumps(item)))
    return found
