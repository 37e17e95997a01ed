"""How a worker's steps are told from what the scheduler gave it, in vLLM releases that differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.engines.protocol import step_name
from kerntrace.engines.vllm_steps import EngineChangedError, StepNamer, stepped, version_of, watch_class, watch_worker
from kerntrace.errors import KerntraceError
from kerntrace.steps.names import read_step_name


@dataclass
class New:
    req_id: str
    prompt_token_ids: list[int] | None
    num_computed_tokens: int = 0


@dataclass
class Cached:
    req_ids: list[str] = field(default_factory=list)
    num_computed_tokens: list[int] = field(default_factory=list)


def output(new: list[New], cached: dict[str, int], tokens: dict[str, int], finished: set[str] | None = None) -> Any:
    return SimpleNamespace(
        scheduled_new_reqs=new,
        scheduled_cached_reqs=Cached(list(cached), list(cached.values())),
        num_scheduled_tokens=tokens,
        finished_req_ids=finished or set(),
    )


class Ranges:
    """Remembers what was pushed and whether every push was popped."""

    def __init__(self) -> None:
        self.pushed: list[tuple[str, int]] = []
        self.depth = 0

    def push(self, name: str, payload: int) -> None:
        self.pushed.append((name, payload))
        self.depth += 1

    def pop(self) -> None:
        self.depth -= 1


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 100_000), st.none() | st.integers(1, 100_000))
def test_a_name_says_what_the_reader_of_traces_reads(decode: int, prefill: int, tokens: int, context: int | None) -> None:
    said = read_step_name(step_name(decode, prefill, tokens, context))
    expected = "mixed" if prefill and decode else "prefill" if prefill else "decode" if decode else "empty"
    assert said.kind == expected
    assert said.batch == (decode if expected == "decode" else None)
    assert said.prefill_tokens == (tokens if prefill else None)


def test_a_prompt_in_chunks_prefills_until_it_is_computed() -> None:
    namer = StepNamer("0.24.0")
    prompt = list(range(10))
    assert namer.name(output([New("a", prompt)], {}, {"a": 6})) == step_name(0, 1, 6)
    assert namer.name(output([], {"a": 6}, {"a": 4})) == step_name(0, 1, 4)
    assert namer.name(output([], {"a": 10}, {"a": 1})) == step_name(1, 0, 0, 10)


def test_a_new_request_beside_a_decoding_one_makes_a_mixed_step() -> None:
    namer = StepNamer("0.24.0")
    namer.name(output([New("a", [1] * 8)], {}, {"a": 8}))
    name = namer.name(output([New("b", [1] * 5)], {"a": 8}, {"a": 1, "b": 5}))
    assert read_step_name(name).kind == "mixed"
    assert name == step_name(1, 1, 5, 8)


def test_a_preempted_request_prefills_again() -> None:
    namer = StepNamer("0.24.0")
    namer.name(output([New("a", [1] * 8)], {}, {"a": 8}))
    namer.name(output([], {"a": 8}, {"a": 1}))
    assert namer.name(output([], {"a": 0}, {"a": 9})) == step_name(0, 1, 9)


def test_contexts_that_differ_are_not_named() -> None:
    namer = StepNamer("0.24.0")
    namer.name(output([New("a", [1] * 8), New("b", [1] * 9)], {}, {"a": 8, "b": 9}))
    assert namer.name(output([], {"a": 8, "b": 9}, {"a": 1, "b": 1})) == step_name(2, 0, 0)


def test_a_cached_prefix_does_not_make_a_new_request_decode() -> None:
    assert StepNamer("0.24.0").name(output([New("a", [1] * 8, 7)], {}, {"a": 1})) == step_name(0, 1, 1)


def test_a_finished_request_is_forgotten() -> None:
    namer = StepNamer("0.24.0")
    namer.name(output([New("a", [1] * 8)], {}, {"a": 8}))
    namer.name(output([], {}, {}, {"a"}))
    # The same id with a shorter prompt is another request: were the old one remembered, it would still be prefilling.
    assert namer.name(output([New("a", [1] * 2)], {}, {"a": 2})) == step_name(0, 1, 2)
    assert namer.name(output([], {"a": 2}, {"a": 1})) == step_name(1, 0, 0, 2)


@pytest.mark.parametrize(
    ("version", "attribute"),
    [("0.20.0", "num_scheduled_tokens"), ("0.33.0", "scheduled_new_reqs"), ("0.33.0", "finished_req_ids")],
)
def test_an_output_that_lacks_what_is_read_is_named_with_the_version(version: str, attribute: str) -> None:
    changed = output([], {}, {})
    delattr(changed, attribute)
    with pytest.raises(EngineChangedError, match=rf"vLLM {version} has no SchedulerOutput\.{attribute}"):
        StepNamer(version).name(changed)


def test_requests_as_a_list_are_named_with_the_version() -> None:
    old = output([], {}, {})
    old.scheduled_cached_reqs = []
    with pytest.raises(EngineChangedError, match=r"vLLM 0\.20\.1 has no CachedRequestData\.req_ids"):
        StepNamer("0.20.1").name(old)


@pytest.mark.parametrize("version", ["0.20.0", "0.24.0", "0.33.1", "1.0.0", "0.1.dev1+gabc", "unknown"])
def test_versions_that_are_known_or_newer_pass(version: str) -> None:
    assert version_of(SimpleNamespace(__version__=version)) == version


def test_an_older_version_is_refused() -> None:
    with pytest.raises(KerntraceError, match=r"vLLM 0\.19\.1 is older than 0\.20"):
        version_of(SimpleNamespace(__version__="0.19.1"))


def test_a_step_is_numbered_and_closed_even_where_it_fails() -> None:
    ranges = Ranges()

    def execute_model(scheduled: Any) -> str:
        if not scheduled.num_scheduled_tokens:
            raise ValueError("the worker's own")
        return "out"

    execute = stepped(execute_model, StepNamer("0.24.0"), ranges)
    assert execute(output([New("a", [1] * 8)], {}, {"a": 8})) == "out"
    with pytest.raises(ValueError, match="the worker's own"):
        execute(output([], {}, {}))
    assert ranges.pushed == [(step_name(0, 1, 8), 0), (step_name(0, 0, 0), 1)]
    assert ranges.depth == 0


def test_a_worker_without_execute_model_is_refused() -> None:
    for watch in (watch_worker, watch_class):
        with pytest.raises(EngineChangedError, match=r"vLLM 0\.33\.0 has no Worker\.execute_model"):
            watch(object(), "0.33.0", Ranges())


def test_a_class_is_watched_once_and_each_worker_counts_for_itself() -> None:
    class Worker:
        def execute_model(self, scheduled: Any) -> str:
            return "out"

    ranges = Ranges()
    watch_class(Worker, "0.24.0", ranges)
    watch_class(Worker, "0.24.0", ranges)
    first, second = Worker(), Worker()
    for worker in (first, second, first):
        assert worker.execute_model(output([], {}, {})) == "out"
    assert [payload for _, payload in ranges.pushed] == [0, 0, 1]
