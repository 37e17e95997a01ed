"""The ledger: against an oracle that goes nanosecond by nanosecond, and what must not change it."""

from __future__ import annotations

import random
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.support import oracle
from tests.support.pipeline import Account, account_of
from tests.support.random_traces import recordings
from tests.support.recording import Playing, Recording, decode_range, decode_run

from kerntrace.accounting.ledger import GAP_TERMS, HOST_EXPOSED, cause_of, largest_gap
from kerntrace.steps.names import KINDS

# the oracle's test looks at every figure of every example; what may not change shows on fewer
FEWER = settings(max_examples=settings().max_examples // 4)


def account(recording: Recording) -> Account:
    found = account_of(recording.build())
    assert found is not None  # a recording of these tests has a step range
    return found


def figures(made: Account) -> list[dict[str, int]]:
    """Everything the ledger says, a dictionary a step."""
    names = ("wall", "busy", "host_exposed", *GAP_TERMS)
    return [
        {name: int(made.ledger.term(name)[i]) for name in names}
        | {f"within {t}": int(made.ledger.within[t][i]) for t in GAP_TERMS}
        | {f"between {t}": int(made.ledger.between[t][i]) for t in GAP_TERMS}
        | {"overlap": int(made.ledger.overlap[i]), "steady": bool(made.steady[i]), "complete": bool(made.ledger.complete[i])}
        | {n: int(getattr(made.steps, n)[i]) for n in ("kernels", "operations", "launches", "graph_launches")}
        for i in range(len(made.steps))
    ]


@given(recordings())
def test_every_figure_agrees_with_the_oracle(recording: Recording) -> None:
    assume(recording.rows["kernels"] or recording.rows["memops"])
    made = account(recording)
    expected = oracle.account(recording)
    assert len(made.steps) == len(expected)
    for i, (said, step) in enumerate(zip(figures(made), expected)):
        assert KINDS[made.steps.boundaries.kind[i]] == step.kind
        counts = {"kernels": step.kernels, "operations": len(step.operations), "launches": step.launches}
        assert {n: said[n] for n in counts} == counts
        assert said["graph_launches"] == step.graph_launches
        assert (said["complete"], said["steady"]) == (step.complete, step.steady)
        if step.complete:
            terms = {t: step.term(t) for t in GAP_TERMS} | {"wall": step.wall, "busy": step.busy, "overlap": step.overlap}
            assert {n: said[n] for n in terms} == terms
            assert {t: said[f"within {t}"] for t in GAP_TERMS} == {t: step.within[t] for t in GAP_TERMS}
            assert {t: said[f"between {t}"] for t in GAP_TERMS} == {t: step.between[t] for t in GAP_TERMS}


@FEWER
@given(recordings())
def test_terms_are_never_negative_and_sum_to_wall(recording: Recording) -> None:
    ledger = account(recording).ledger
    terms = [ledger.busy, *(ledger.term(name) for name in GAP_TERMS)]
    assert all((term >= 0).all() for term in terms)
    assert all((part >= 0).all() for side in (ledger.within, ledger.between) for part in side.values())
    assert np.array_equal(np.sum(terms, axis=0), ledger.wall)
    assert np.array_equal(ledger.term("host_exposed"), sum(ledger.term(name) for name in HOST_EXPOSED))
    assert (ledger.overlap >= 0).all()


@FEWER
@given(recordings(), st.integers(-(10**17), 10**17))
def test_shifting_time_changes_nothing(recording: Recording, shift: int) -> None:
    assume(shift > 0 or shift < -1000)  # a record at 0/0 is a missing one
    before = figures(account(recording))
    moved = deepcopy(recording)
    for row in (row for rows in moved.rows.values() for row in rows):
        for time in ("start_ns", "end_ns"):
            row[time] = None if row[time] is None else row[time] + shift
    assert figures(account(moved)) == before


@FEWER
@given(recordings(), st.randoms(use_true_random=False))
def test_the_order_of_records_changes_nothing(recording: Recording, rng: random.Random) -> None:
    before = figures(account(recording))
    for rows in recording.rows.values():
        rng.shuffle(rows)
    assert figures(account(recording)) == before


@FEWER
@given(recordings(), st.data())
def test_a_kernel_split_in_two_leaves_busy_and_every_gap_as_they_were(recording: Recording, data: st.DataObject) -> None:
    long_ones = [k for k in recording.rows["kernels"] if k["end_ns"] - k["start_ns"] > 1]
    assume(long_ones)
    before = account(recording).ledger
    kernel = data.draw(st.sampled_from(long_ones))
    middle = data.draw(st.integers(kernel["start_ns"] + 1, kernel["end_ns"] - 1))
    recording.rows["kernels"].append(kernel | {"start_ns": middle})
    kernel["end_ns"] = middle
    after = account(recording).ledger
    assert np.array_equal(before.busy, after.busy)
    assert np.array_equal(before.wall, after.wall)
    assert all(np.array_equal(before.term(t), after.term(t)) for t in GAP_TERMS)


@FEWER
@given(recordings(), st.integers(1, 90), st.integers(0, 20))
def test_another_kernel_that_no_step_owns_never_lowers_busy(recording: Recording, start: int, length: int) -> None:
    before = account(recording).ledger
    recording.kernel(start, start + length, None, "new")
    after = account(recording).ledger
    assert np.array_equal(before.wall[before.complete], after.wall[before.complete])
    assert (after.busy >= before.busy)[before.complete].all()
    assert (after.busy <= before.busy + length)[before.complete].all()


@FEWER
@given(recordings(), st.sampled_from([10**6, 3 * 10**9, 2**40]))
def test_correlation_ids_far_apart_join_like_dense_ones(recording: Recording, factor: int) -> None:
    ids = sorted({r["correlation_id"] for t in ("kernels", "memops", "api_calls") for r in recording.rows[t]} - {None})
    before = figures(account(recording))
    for spread in ({id: 1 + n for n, id in enumerate(ids)}, {id: 1 + factor * n for n, id in enumerate(ids)}):
        renumbered = deepcopy(recording)
        for table in ("kernels", "memops", "api_calls"):
            for row in renumbered.rows[table]:
                row["correlation_id"] = spread.get(row["correlation_id"])
        assert figures(account(renumbered)) == before


def two_steps(first: list[tuple[int, int]], call: tuple[int, int], answer: int) -> Recording:
    """Kernels of a first step, and a second step's kernel that begins at `answer` and was launched by `call`."""
    made = Recording()
    made.range(1, 2, decode_range(1))
    for id, (start, end) in enumerate(first, 100):
        made.call(2, 3, id, name="cudaLaunchKernel")
        made.kernel(start, end, id)
    made.range(call[0], call[1], decode_range(1))
    made.call(*call, id=500)
    made.kernel(answer, answer + 10, 500)
    return made


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ((40, 50), {"device_gap": 30}),  # returned before the device went idle
        ((90, 100), {"device_gap": 30}),  # returned just as it went idle: it was queued
        ((90, 101), {"launch_call": 1, "launch_latency": 29}),
        ((100, 110), {"launch_call": 10, "launch_latency": 20}),
        ((104, 110), {"host_wait": 4, "launch_call": 6, "launch_latency": 20}),
        ((120, 130), {"host_wait": 20, "launch_call": 10}),
        ((120, 140), {"host_wait": 20, "launch_call": 10}),  # still in the call when the kernel starts
        ((90, 200), {"launch_call": 30}),
        ((90, None), {"launch_call": 30}),  # never returned on record
        ((140, 150), {"host_wait": 30}),  # a clock that is behind: all before the call
    ],
)
def test_a_gap_is_split_at_its_launch_call(call: tuple[int, int], expected: dict[str, int]) -> None:
    ledger = account(two_steps([(60, 100)], call, 130)).ledger
    assert {t: int(ledger.between[t][0]) for t in GAP_TERMS if ledger.between[t][0]} == expected
    assert not any(ledger.within[t][0] for t in GAP_TERMS)
    assert (ledger.wall[0], ledger.busy[0]) == (70, 40)


def test_a_gap_before_work_without_a_launch_is_unattributed() -> None:
    made = two_steps([(60, 100), (130, 135)], (150, 160), 170)
    made.rows["kernels"][1]["correlation_id"] = None
    ledger = account(made).ledger
    assert ledger.within["unattributed"][0] == 30
    assert ledger.between["host_wait"][0] == 15
    assert ledger.busy[0] == 45  # whoever owns it


def test_of_work_that_starts_together_the_one_launched_first_answers() -> None:
    made = two_steps([(60, 100)], (125, 126), 130)
    made.call(105, 106, 600)
    made.kernel(130, 131, 600, stream_id=8)  # launched at 105, in the first step
    made.kernel(130, 131, None, stream_id=9)  # no launch on record: comes last
    ledger = account(made).ledger
    assert {t: int(ledger.between[t][0]) for t in GAP_TERMS if ledger.between[t][0]} == {
        "host_wait": 5,
        "launch_call": 1,
        "launch_latency": 24,
    }


def test_only_the_first_node_of_a_replay_can_wait_for_the_host() -> None:
    play = Playing()
    for _ in range(2):
        with play.within(decode_range(1)):
            play.replay([("a", 50), ("b", 50), ("c", 50)], call=100, latency=20, apart=3)  # the call outlives the first gaps
        play.synchronise()
    ledger = account(play).ledger
    assert ledger.within["device_gap"][0] == 6
    assert ledger.within["launch_call"][0] == 0
    assert ledger.between["launch_call"][0] == 20


def test_the_last_gap_of_a_window_is_between_only_if_it_reaches_the_windows_end() -> None:
    made = two_steps([(60, 100), (110, 130)], (105, 120), 130)
    ledger = account(made).ledger
    assert not any(ledger.between[t][0] for t in GAP_TERMS)
    assert ledger.within["device_gap"][0] == 10


def test_work_of_no_length_counts_as_a_kernel_and_splits_no_gap() -> None:
    made = account(two_steps([(60, 100), (115, 115)], (104, 110), 130))
    assert made.steps.kernels[0] == 2
    assert made.ledger.between["host_wait"][0] == 4
    assert len(made.ledger.gaps.step[made.ledger.gaps.step == 0]) == 1


def test_profilers_own_time_is_taken_from_waiting_on_the_launching_thread_alone() -> None:
    made = two_steps([(60, 100)], (120, 125), 130)
    made.overhead(90, 104)
    made.overhead(103, 108)  # overlaps: counted once
    made.overhead(118, 123)  # ends in the call, of which nothing is the profiler's
    made.overhead(109, 117, tid=71)  # another thread
    made.overhead(109, 117, pid=8)
    ledger = account(made).ledger
    assert ledger.between["profiler"][0] == 8 + 2
    assert ledger.between["host_wait"][0] == 20 - 10
    assert ledger.between["launch_call"][0] == 5


def test_steps_out_of_order_on_the_device_get_no_ledger() -> None:
    made = Recording()
    for step, (call, start) in enumerate([(10, 100), (20, 60), (30, 200)]):
        made.range(call - 1, call, decode_range(1))
        made.call(call, call + 2, step + 1)
        made.kernel(start, start + 10, step + 1)
    found = account(made)
    assert found.ledger.complete.tolist() == [False, True, False]
    assert found.ledger.wall[1] == 140
    assert found.ledger.busy[1] == 20  # the first step's kernel runs in this window
    assert found.steady.tolist() == [False, True, False]


def test_an_empty_step_closes_no_window() -> None:
    made = two_steps([(60, 100)], (150, 160), 170)
    made.range(140, 141, "execute_context_0(0)_generation_0(0)")
    found = account(made)
    assert found.ledger.complete.tolist() == [True, False, False]
    assert found.ledger.wall.tolist() == [110, 0, 10]


def test_times_far_into_a_recording_are_exact() -> None:
    """2**53 ns is 104 days: a double would lose the last digits."""
    made = two_steps([(60, 100)], (104, 110), 130)
    base = 2**62 + 1
    for rows in made.rows.values():
        for row in rows:
            row["start_ns"], row["end_ns"] = row["start_ns"] + base, row["end_ns"] + base
    ledger = account(made).ledger
    assert {t: int(ledger.between[t][0]) for t in GAP_TERMS if ledger.between[t][0]} == {
        "host_wait": 4,
        "launch_call": 6,
        "launch_latency": 20,
    }


def test_the_largest_gap_and_its_cause_are_found() -> None:
    made = two_steps([(60, 100), (103, 110)], (104, 110), 150)
    found = account(made)
    largest = largest_gap(found.ledger.gaps, len(found.steps))
    gap = int(largest[0])
    assert (found.ledger.gaps.end - found.ledger.gaps.start)[gap] == 40
    assert cause_of(found.ledger.gaps, gap) == "device_gap"
    assert largest[1] == -1


@pytest.mark.parametrize("graph", [False, True])
def test_a_played_run_agrees_with_the_oracle(graph: bool) -> None:
    play = decode_run(graph=graph, batches=(1, 4))
    found, expected = account(play), oracle.account(play)
    assert found.steady.sum() == sum(s.steady for s in expected) == 8
    for i, step in enumerate(expected):
        if step.complete:
            assert {t: int(found.ledger.term(t)[i]) for t in GAP_TERMS} == {t: step.term(t) for t in GAP_TERMS}
            assert found.ledger.busy[i] == step.busy
