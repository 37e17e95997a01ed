"""Study files: what they become, and how a wrong one is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.study_stores import SOURCE

from kerntrace.errors import UsageError
from kerntrace.study.plan import TESTS, default_hypotheses, parse_plan, plan_digest, preset_studies, read_plan


def test_the_presets_are_those_that_are_documented() -> None:
    assert preset_studies() == ("h200-paper", "quick")
    plan = read_plan("h200-paper").plan
    assert (plan.batches, plan.contexts) == ((1, 2, 4, 8, 16, 32), (512, 2048, 8192))
    assert plan.modes == ("eager", "graph", "graph-nocompile")
    assert (plan.repetitions, plan.sessions, plan.resamples) == (15, 3, 5000)
    assert (plan.traced_batches, plan.traced_contexts) == ((1, 4, 16, 32), (512, 8192))
    assert plan.capture_sizes == plan.batches
    assert read_plan("quick").plan.traced_batches


def test_every_hypothesis_has_a_test_that_decides_it() -> None:
    claims = default_hypotheses()
    assert [claim.id for claim in claims] == ["H1", "H2", "H3", "H4", "H5", "H6", "KS"]
    assert tuple(claim.test for claim in claims) == TESTS


def test_a_file_brings_its_own_hypotheses() -> None:
    own = b'[[hypotheses]]\nid = "X"\nclaim = "none"\ntest = "kill-switch"\nsettings = {margin_ms = 0.2}\n'
    plan = parse_plan(SOURCE + own, "own.toml").plan
    assert [(claim.id, claim.settings) for claim in plan.hypotheses] == [("X", {"margin_ms": 0.2})]


def test_the_digest_covers_grid_and_hypotheses() -> None:
    plan = parse_plan(SOURCE, "a.toml").plan
    assert plan_digest(plan) == plan_digest(parse_plan(SOURCE + b"# a comment\n", "b.toml").plan)
    claims = (replace(plan.hypotheses[0], claim="something else"), *plan.hypotheses[1:])
    assert len({plan_digest(p) for p in (plan, replace(plan, seed=6), replace(plan, hypotheses=claims))}) == 3


def test_a_model_directory_is_known_by_its_last_name(tmp_path: Path) -> None:
    place = tmp_path / "secret" / "my-model"
    place.mkdir(parents=True)
    asked = parse_plan(SOURCE.replace(b"llama-3.1-8b", str(place).encode()), "a.toml")
    assert (asked.plan.model, asked.model) == ("my-model", str(place))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"batches = [1, 4]\ncontexts = [16, 64]", b"batches = [0]\ncontexts = [16]", "grid.batches"),
        (b"batches = [1, 4]\ncontexts = [16, 64]", b"batches = []\ncontexts = [16]", "grid.batches"),
        (b"[16, 64]", b"[16, 16]", "grid.contexts names one value twice"),
        (b'"graph"', b'"graphs"', "grid.modes"),
        (b"tokens = 9", b"tokens = 1", "run.tokens"),
        (b"tokens = 9", b"tokens = 3", "run.tokens is 3"),
        (b"tokens = 9", b"token = 9", "token"),
        (b"sessions = 3", b'sessions = "3"', "run.sessions"),
        (b"contexts = [16]", b"contexts = [17]", "traced.contexts holds 17"),
        (b"contexts = [16]\n", b"", "traced needs batches and contexts"),
        (b"[traced]\n", b"[traced]\nrecorded = 4\n", "traced.recorded"),
        (b"[traced]\n", b'[engine]\nname = "tensorrt"\n[traced]\n', "engine.name"),
        (b"[traced]\n", b'[engine]\nweights = "some"\n[traced]\n', "engine.weights"),
        (b'name = "made-up"', b'name = "../up"', "name"),
        (b"[grid]", b"[grid", "not a TOML file"),
        (b"seed = 5", b"seed = \xff", "not a TOML file"),
        (b"[traced]\n", b'[[hypotheses]]\nid = "A"\nclaim = ""\ntest = "no-test"\n[traced]\n', "asks for test 'no-test'"),
        (b"[grid]", b"[none]\n[grid]", "none"),
    ],
)
def test_what_is_wrong_is_named(old: bytes, new: bytes, said: str) -> None:
    assert old in SOURCE
    with pytest.raises(UsageError) as caught:
        parse_plan(SOURCE.replace(old, new, 1), "wrong.toml")
    assert said in caught.value.what
    assert caught.value.what.startswith("wrong.toml: ")
    assert "\n" not in caught.value.what


def test_a_study_that_is_not_there_lists_the_presets() -> None:
    with pytest.raises(UsageError) as caught:
        read_plan("no-such-study")
    assert "h200-paper, quick" in caught.value.hint
