"""The study recorded on an H200: its report equals a slow count over its raw records, and a replay gives it again."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from tests.support.command import kerntrace

from kerntrace.study.estimate import seconds_of, start_seconds
from kerntrace.study.plan import read_plan
from kerntrace.study.schedule import remaining
from kerntrace.study.store import read_study

STORE = Path(__file__).parents[2] / "traces" / "study-h200"
TRACED = {(batch, context) for batch in (1, 4, 16, 32) for context in (512, 8192)}


def _records(kind: str, store: Path = STORE) -> list[dict[str, Any]]:
    path = store / "records.jsonl"
    data = path.read_bytes() if path.exists() else gzip.decompress(path.with_suffix(".jsonl.gz").read_bytes())
    return [line["record"] for line in map(json.loads, data.splitlines()) if line["kind"] == kind]


def _told(kind: str, store: Path) -> set[str]:
    return {json.dumps(one, sort_keys=True) for one in _records(kind, store)}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    ran = kerntrace("study", "report", STORE, "--json", "--add", "published", "--resamples", "500")
    assert ran.status == 0, ran.err
    return ran.document()


def test_it_is_the_whole_grid(document: dict[str, Any]) -> None:
    assert len(document["cells"]) == 18
    for cell in document["cells"]:
        assert {mode: (arm["sessions"], arm["repetitions"]) for mode, arm in cell["steps"].items()} == dict.fromkeys(
            ("eager", "graph", "graph-nocompile"), (3, 15)
        )


def test_medians_are_those_of_the_raw_walls(document: dict[str, Any]) -> None:
    walls: dict[tuple[Any, ...], dict[int, int]] = defaultdict(dict)
    for one in _records("wall"):
        walls[one["mode"], one["batch"], one["context"], one["session"], one["repetition"]][one["tokens"]] = one["wall_ns"]
    steps = defaultdict(list)
    for (mode, batch, context, *_), pair in walls.items():
        steps[mode, batch, context].append((pair[33] - pair[1]) / 32)
    for cell in document["cells"]:
        for mode, arm in cell["steps"].items():
            assert arm["median_ns"] == pytest.approx(median(steps[mode, cell["batch"], cell["context"]]), abs=0.1)


def test_ledgers_close_and_are_those_of_the_traced_steps(document: dict[str, Any]) -> None:
    traced = {(one["mode"], one["batch"], one["context"]): one for one in _records("traced")}
    assert len(document["crosscheck"]) == len(traced)
    for row in document["crosscheck"]:
        terms = traced[row["mode"], row["batch"], row["context"]]["terms"]
        sums = {name: sum(values) for name, values in terms.items()}
        assert sums["wall"] == sum(total for name, total in sums.items() if name != "wall")
        assert row["traced_wall_ns"] == pytest.approx(sums["wall"] / len(terms["wall"]), abs=0.1)
        assert row["terms_ns"]["busy"] == pytest.approx(sums["busy"] / len(terms["busy"]), abs=0.1)


def test_what_was_not_recorded_is_named(document: dict[str, Any]) -> None:
    have = {(one["mode"], one["batch"], one["context"]) for one in _records("traced")}
    asked = {(mode, *shape) for mode in ("eager", "graph", "graph-nocompile") for shape in TRACED}
    missing = {(one["mode"], one["batch"], one["context"]) for one in document["missing"] if one["what"] == "trace"}
    assert missing == asked - have == set()


def test_graphs_alone_add_a_fill_and_a_copy(document: dict[str, Any]) -> None:
    pairs = [one for one in document["same_work"] if (one["a"], one["b"]) == ("eager", "graph-nocompile")]
    assert len(pairs) == len(TRACED)
    for one in pairs:
        assert {change["family"] for change in one["changes"]} == {"fill", "memcpy32_post"}


def test_the_parts_of_an_iteration_hold_all_that_the_host_is_waited_for(document: dict[str, Any]) -> None:
    parts: dict[tuple[int, int], dict[str, float]] = defaultdict(dict)
    for one in document["attribution"]["phases"]:
        for cell in one["cells"] if one["mode"] == "eager" else ():
            parts[cell["batch"], cell["context"]][one["part"]] = cell["exposed_ns"]
    exposed = {
        (row["batch"], row["context"]): row["terms_ns"]["host_wait"] + row["terms_ns"]["launch_call"]
        for row in document["crosscheck"]
        if row["mode"] == "eager"
    }
    for shape in TRACED:
        named = parts[shape]
        residual = named.pop("residual parts")
        assert sum(named.values()) == pytest.approx(exposed[shape], rel=1e-6)
        assert residual == pytest.approx(sum(named[p] for p in ("core", "schedule", "prepare inputs", "sample", "output")))
        assert named["no range"] < 0.01 * exposed[shape]


def test_a_quick_study_takes_less_than_ten_minutes_by_what_this_one_took() -> None:
    plan, records = read_plan("quick").plan, read_study(STORE).records
    work = remaining(plan, "none yet", [])
    seconds = sum(seconds_of(plan, one, records) for one in work) + len(work) * start_seconds(plan, records)
    assert 300 < seconds < 600


@pytest.mark.parametrize("verb", [("study", "report"), ("report", "-o", "unwritten.html")])
def test_a_study_does_not_stand_beside_itself(verb: tuple[str, ...]) -> None:
    ran = kerntrace(*verb, STORE, "--add", STORE.parent / "." / STORE.name)
    assert ran.status == 2
    assert ran.err.splitlines()[0].endswith("this study is there already")


def test_that_two_cards_ran_it_is_said() -> None:
    assert "not the same throughout: device fcadeab1, then 03d1b758" in kerntrace("study", "report", STORE).out


def test_graphed_steps_wait_for_no_host(document: dict[str, Any]) -> None:
    """What the traces settle: eager steps wait inside the forward, replayed ones do not."""
    for row in document["crosscheck"]:
        exposed = row["medians_ns"]["within"] + row["medians_ns"]["between"]
        if row["mode"] == "eager":
            assert exposed > 0.15 * row["medians_ns"]["wall"]
            assert row["within_share"] > 0.5
        else:
            assert exposed == 0


def test_claims_have_verdicts(document: dict[str, Any]) -> None:
    said = {one["id"]: one["verdict"] for one in document["hypotheses"]}
    assert said["H1"] == "supports"
    assert said["H3"] == "not testable"
    assert said["H5"] == said["KS"] == "contradicts"


def test_a_replay_gives_it_again_and_resumed_changes_nothing(tmp_path: Path) -> None:
    again = tmp_path / "again"
    ran = kerntrace("study", "run", "--replay", STORE, "-o", again)
    assert ran.status in (0, 5), ran.err
    for kind in ("wall", "traced"):
        first, second = ({json.dumps(one, sort_keys=True) for one in _records(kind, store)} for store in (STORE, again))
        assert first == second
    whole = (again / "records.jsonl").read_bytes()
    assert kerntrace("study", "run", "--replay", STORE, "-o", again).status == ran.status
    assert (again / "records.jsonl").read_bytes() == whole


@pytest.mark.parametrize("share", [0.001, 0.3, 0.7, 0.999])
def test_a_replay_cut_anywhere_is_made_whole(tmp_path: Path, share: float) -> None:
    """As a kill leaves it: the store's host was started several times, with other settings each."""
    again = tmp_path / "again"
    assert kerntrace("study", "run", "--replay", STORE, "-o", again).status in (0, 5)
    records = again / "records.jsonl"
    whole = records.read_bytes()
    records.write_bytes(whole[: int(len(whole) * share)])
    assert kerntrace("study", "run", "--replay", STORE, "-o", again).status in (0, 5)
    assert records.read_bytes() == whole
