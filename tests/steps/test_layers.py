"""A step's kernel count, part by part."""

from __future__ import annotations

import pytest
from tests.support.pipeline import account_of
from tests.support.recording import decode_run

from kerntrace.steps.layers import Layers, layers_of


def layers(count: int, *, graph: bool = False) -> Layers | None:
    made = account_of(decode_run(steps=3, layers=count, graph=graph).build())
    assert made is not None
    return layers_of(made.trace, made.ops, made.steps, 2)


@pytest.mark.parametrize("graph", [False, True])
def test_the_layer_that_repeats_and_the_rest(graph: bool) -> None:
    found = layers(5, graph=graph)
    assert found is not None
    assert (found.written, found.step, found.period, found.repeats) == ("22 = 5 x 4 + 2", 2, 4, 5)
    assert sum(count for _, count in found.motif) == 4
    assert sum(count for _, count in found.rest) == 2
    assert [family for family, _ in found.rest] == ["embed", "argmax"]


def test_the_json_form_says_the_same() -> None:
    found = layers(5)
    assert found is not None
    said = found.json()
    assert {key: said[key] for key in ("written", "step", "period", "repeats")} == {
        "written": "22 = 5 x 4 + 2",
        "step": 2,
        "period": 4,
        "repeats": 5,
    }
    assert said["rest"] == [{"family": "embed", "count": 1}, {"family": "argmax", "count": 1}]


def test_a_step_in_which_nothing_repeats() -> None:
    assert layers(1) is None
