"""Reference rows: what a published study found stands beside our figures, and goes into none of them."""

from __future__ import annotations

import pytest

from kerntrace.evidence.published import beside_published, efficiency_to_over_predict, reference_for
from kerntrace.hardware import find_gpu
from kerntrace.model.architecture import load_model
from kerntrace.model.predict import Prediction, predict_step
from kerntrace.model.profile import load_profile, with_efficiency
from kerntrace.workload import Cell, Mode


def grid(gpu: str, mode: Mode, model: str = "llama-3.1-8b", profile: str = "affine") -> list[Prediction]:
    cells = [Cell(mode, batch, context) for batch in (1, 4, 16) for context in (512, 2048)]
    return [predict_step(load_model(model), find_gpu(gpu), cell, load_profile(profile)) for cell in cells]


@pytest.mark.parametrize(
    ("gpu", "eager", "graph"), [("A100-40GB-SXM", 18.99, 13.92), ("H100", 9.91, 6.52), ("H200", 9.48, 5.12)]
)
def test_steps_follow_from_gap_and_share(gpu: str, eager: float, graph: float) -> None:
    rows = beside_published(grid(gpu, Mode.EAGER) + grid(gpu, Mode.GRAPH))
    assert [(row.mode, row.cells, round(row.reference_ms, 2)) for row in rows] == [
        (Mode.EAGER, 6, eager),
        (Mode.GRAPH, 6, graph),
    ]
    assert rows[0].efficiency_needed is None


def test_the_efficiency_found_does_over_predict_by_a_third() -> None:
    (row,) = beside_published(grid("H200", Mode.GRAPH, profile="ideal"))
    assert row.efficiency_needed is not None
    flat = with_efficiency(load_profile("flat"), row.efficiency_needed)
    model, gpu = load_model("llama-3.1-8b"), find_gpu("H200")
    steps = sorted(
        predict_step(model, gpu, Cell(Mode.GRAPH, batch, context), flat).t_blocks_ns
        for batch in (1, 4, 16)
        for context in (512, 2048)
    )
    assert (steps[2] + steps[3]) / 2e6 == pytest.approx(1.332 * row.reference_ms, rel=0.01)


def test_only_what_was_studied_has_a_row() -> None:
    assert beside_published(grid("L40S", Mode.GRAPH)) == []
    assert beside_published(grid("H200", Mode.GRAPH, model="qwen3-8b")) == []
    assert beside_published(grid("H200", Mode.COMPILE)) == []
    assert reference_for("H200", "llama-3.2-1b") is None
    assert reference_for("H200", "llama-3.1-8b", "float16", "bfloat16") is not None
    assert reference_for("H200", "llama-3.1-8b", "bfloat16", "fp8") is None


def test_an_efficiency_is_the_ideal_over_what_would_be_predicted() -> None:
    assert efficiency_to_over_predict(3.0, 5.0, by=0.2) == pytest.approx(0.5)
