"""Host time by phase: the innermost range or waiting call, against the per-nanosecond oracle and by example."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from tests.support import oracle
from tests.support.pipeline import account_of
from tests.support.random_traces import recordings
from tests.support.recording import Recording, decode_range

from kerntrace.accounting.phases import NO_RANGE, Phases, phase_name


def phases_of(recording: Recording) -> Phases:
    found = account_of(recording.build())
    assert found is not None
    return found.phases


def split(phases: Phases, step: int = 0) -> tuple[dict[str, int], dict[str, int]]:
    """host_wait and launch_call of a step by the phases that have any."""
    waited, called = (dict(zip(phases.names, table[step].tolist())) for table in (phases.host_wait, phases.launch_call))
    return {n: v for n, v in waited.items() if v}, {n: v for n, v in called.items() if v}


@given(recordings())
def test_phases_agree_with_the_oracle(recording: Recording) -> None:
    found = phases_of(recording)
    assert found.names[-1] == NO_RANGE
    assert len(set(found.names)) == len(found.names)
    for i, step in enumerate(oracle.account(recording)):
        if step.complete:
            waited, called = split(found, i)
            assert Counter(waited) == step.waited
            assert Counter(called) == step.called


@settings(max_examples=settings().max_examples // 4)
@given(recordings())
def test_phases_sum_to_the_ledgers_terms(recording: Recording) -> None:
    found = account_of(recording.build())
    assert found is not None
    assert (found.phases.host_wait >= 0).all()
    assert (found.phases.launch_call >= 0).all()
    assert np.array_equal(found.phases.host_wait.sum(axis=1), found.ledger.term("host_wait"))
    assert np.array_equal(found.phases.launch_call.sum(axis=1), found.ledger.term("launch_call"))


def waiting(*ranges: tuple[int, int | None, str | None]) -> Recording:
    """A gap of which [100, 160) waits for the host and [160, 170) is inside the call, with these ranges on its thread."""
    made = Recording()
    made.range(1, 2, decode_range(1))
    made.call(2, 3, 1)
    made.kernel(50, 100, 1)
    made.range(155, 156, decode_range(1))
    made.call(160, 170, 2)
    made.kernel(170, 180, 2)
    for start, end, name in ranges:
        made.range(start, end, name)
    return made


STEP = {"execute step": 1}  # the range of the step itself, one ns of the gap


@pytest.mark.parametrize(
    ("ranges", "waited", "called"),
    [
        ((), {NO_RANGE: 59}, {NO_RANGE: 10}),
        (((100, 170, "a"),), {"a": 59}, {"a": 10}),
        (((90, 200, "a"),), {"a": 59}, {"a": 10}),
        (((90, None, "a"),), {"a": 59}, {"a": 10}),
        (((90, 200, "a"), (110, 120, "b")), {"a": 49, "b": 10}, {"a": 10}),
        (((90, 200, "a"), (110, 165, "b"), (115, 130, "c")), {"a": 10, "b": 34, "c": 15}, {"a": 5, "b": 5}),
        # not nested: the one that began last counts while it is active
        (((90, 130, "a"), (110, 150, "b")), {"a": 10, "b": 40, NO_RANGE: 9}, {NO_RANGE: 10}),
        (((100, 100, "a"),), {NO_RANGE: 59}, {NO_RANGE: 10}),  # of no length
        (((170, 180, "a"), (10, 100, "b")), {NO_RANGE: 59}, {NO_RANGE: 10}),  # outside the gap
        (((90, 200, None),), {"(unnamed range)": 59}, {"(unnamed range)": 10}),
        # both began before the gap did, and are not nested: still the one that began last
        (((20, 120, "a"), (30, 140, "b")), {"b": 40, NO_RANGE: 19}, {NO_RANGE: 10}),
        (((20, 140, "a"), (30, 120, "b")), {"b": 20, "a": 20, NO_RANGE: 19}, {NO_RANGE: 10}),
    ],
)
def test_the_innermost_range_is_the_one_that_began_last_of_those_active(
    ranges: tuple[tuple[int, int | None, str | None], ...], waited: dict[str, int], called: dict[str, int]
) -> None:
    assert split(phases_of(waiting(*ranges))) == (waited | STEP, called)


def test_a_synchronising_call_is_a_phase_by_its_name() -> None:
    made = waiting((90, 200, "a"))
    made.call(105, 125, None, "cudaStreamSynchronize")
    made.call(130, 140, None, "cudaEventRecord")  # waits for nothing
    assert split(phases_of(made)) == ({"a": 39, "cudaStreamSynchronize": 20} | STEP, {"a": 10})


def test_other_threads_and_processes_explain_nothing() -> None:
    made = waiting()
    made.range(90, 200, "thread", tid=71)
    made.range(90, 200, "process", pid=8)
    made.range(90, 200, "no thread", tid=None)
    assert split(phases_of(made))[1] == {NO_RANGE: 10}


def test_the_profilers_own_time_is_in_no_phase() -> None:
    made = waiting((90, 120, "a"), (120, 200, "b"))
    made.overhead(110, 130)
    assert split(phases_of(made)) == ({"a": 10, "b": 29} | STEP, {"b": 10})


def test_every_steps_own_range_is_one_phase() -> None:
    assert phase_name("execute_context_0(0)_generation_4(4)") == "execute step"
    assert phase_name("execute_4_context_0(sq0sk0)_generation_4(sq4sk900)") == "execute step"
    assert phase_name("kerntrace.step decode=4 prefill=0 prefill_tokens=0") == "execute step"
    assert phase_name("kerntrace.steps") == "kerntrace.steps"
    assert phase_name("forward") == "forward"
