"""Ranges around the parts of an iteration: where they lie, and that a method does with one what it did without."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from kerntrace.engines.protocol import EngineSpec
from kerntrace.engines.vllm_engine import environment
from kerntrace.engines.vllm_phases import SCOPES, wanted, watch_phases
from kerntrace.evidence.phase_trend import RESIDUAL_PARTS, part_of


class Ranges:
    """A stack, and what was opened at which depth."""

    def __init__(self) -> None:
        self.opened: list[tuple[int, str]] = []
        self.depth = 0

    def push(self, name: str, payload: int) -> None:
        self.opened.append((self.depth, name))
        self.depth += 1

    def pop(self) -> None:
        self.depth -= 1


class Runner:
    def prepare_inputs(self, scheduled: int, *, doubled: bool = False) -> int:
        return scheduled * (2 if doubled else 1)

    def sample(self) -> None:
        raise ValueError("no logits")

    def sample_tokens(self) -> None:
        self.sample()


class Scheduler:
    def schedule(self) -> str:
        return "scheduled"


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> type[Scheduler]:
    module = ModuleType("vllm.v1.core.sched.scheduler")
    fresh = type("Scheduler", (Scheduler,), {})
    module.Scheduler = fresh  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm.v1.core.sched.scheduler", module)
    monkeypatch.delitem(sys.modules, "vllm.v1.engine.core", raising=False)
    return fresh


def test_methods_are_marked_and_do_what_they_did(core: type[Scheduler]) -> None:
    ranges, worker = Ranges(), SimpleNamespace(model_runner=Runner())
    scheduler = type("AsyncScheduler", (core,), {})()  # it is there before it is watched
    marked = watch_phases(worker, ranges)
    assert set(marked) == {"Runner.prepare_inputs", "Runner.sample", "Runner.sample_tokens", "Scheduler.schedule"}
    assert worker.model_runner.prepare_inputs(4, doubled=True) == 8
    assert scheduler.schedule() == "scheduled"
    with pytest.raises(ValueError, match="no logits"):
        worker.model_runner.sample_tokens()
    assert ranges.depth == 0
    assert ranges.opened == [
        (0, "engine: prepare inputs"), (0, "engine: schedule"), (0, "engine: sample"), (1, "engine: sample")
    ]  # fmt: skip


def test_a_class_is_marked_once(core: type[Scheduler]) -> None:
    ranges = Ranges()
    for _ in range(2):
        watch_phases(SimpleNamespace(), ranges)
    core().schedule()
    assert ranges.opened == [(0, "engine: schedule")]


def test_an_engine_without_any_of_it_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("vllm.v1.core.sched.scheduler", "vllm.v1.engine.core"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert watch_phases(SimpleNamespace(model_runner=object()), Ranges()) == ()


def test_scopes_asked_for_are_scopes_wanted_in_the_engines_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for asked in (False, True):
        spec = EngineSpec("vllm", "model", "eager", (1,), 512, 33, nvtx_scopes=asked)
        monkeypatch.delenv(SCOPES, raising=False)
        for name, value in environment(spec).items():
            monkeypatch.setenv(name, value)
        assert wanted() is asked


@pytest.mark.parametrize(
    ("phase", "part"),
    [
        ("engine: schedule", "schedule"), ("engine: update states", "prepare inputs"),
        ("engine: prepare inputs", "prepare inputs"),
        ("engine: sample", "sample"), ("engine: postprocess", "output"), ("engine: update from output", "output"),
        ("engine: core step", "core"), ("engine: input queue", "core"), ("execute step", "forward"),
    ],
)  # fmt: skip
def test_every_part_is_known_to_the_evidence(phase: str, part: str) -> None:
    assert part_of(phase) == part
    assert (part in RESIDUAL_PARTS) == (part not in ("forward",))


def test_calls_keep_their_arguments(core: type[Scheduler]) -> None:
    seen: list[Any] = []
    core.update_from_output = lambda self, *a, **k: seen.append((a, k))  # type: ignore[attr-defined]
    watch_phases(SimpleNamespace(), Ranges())
    core().update_from_output(1, b=2)  # type: ignore[attr-defined]
    assert seen == [((1,), {"b": 2})]
