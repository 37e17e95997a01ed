"""Headline figures against the standard library's medians and the oracle's ledger."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import oracle
from tests.support.recording import Playing, Recording, decode_range, decode_run

from kerntrace.accounting.analysis import Analysis, Question, analyse
from kerntrace.accounting.summary import TERMS, cells_of, delays_of, graph_coverage, phase_shares, phases_of, spread


def analysed(made: Recording) -> Analysis:
    found = analyse(made.build(), Question())
    assert found.ok, [rule for rule in found.rules if not rule.ok]
    return found


@given(st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=9))
def test_spread_is_the_median_with_its_halves_and_the_ends(values: list[int]) -> None:
    found = spread(np.array(values, np.int64))
    assert (found.median, found.min, found.max) == (median(values), min(values), max(values))
    assert isinstance(found.median, int) or found.median % 1 == 0.5


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("steps", [5, 6])
def test_a_cells_medians_are_those_of_its_steady_steps(graph: bool, steps: int) -> None:
    play = decode_run(steps=steps, graph=graph, batches=(1, 4))
    for n, call in enumerate(play.rows["api_calls"]):  # make steps differ
        call["end_ns"] += n % 3
    found, expected = cells_of(analysed(play)), oracle.account(play)
    assert [(c.kind, c.batch, len(c.steps)) for c in found] == [("decode", 1, steps - 2), ("decode", 4, steps - 2)]
    for cell in found:
        assert cell.batch is not None
        figures = oracle.medians(expected, cell.batch)
        assert {f"{term}_ns": cell.terms[term].median for term in TERMS} == figures
        assert cell.counts["kernels"].median == median(s.kernels for s in expected if s.steady and s.batch == cell.batch)


def test_host_exposed_is_the_median_of_the_steps_sums_and_not_the_sum_of_medians() -> None:
    """Three steady steps whose waits peak in turn: each term's median is low, each step's sum is high."""
    play = Playing()
    for wait, call, latency in [(0, 10, 20), (900, 10, 20), (0, 910, 20), (0, 10, 1_820), (0, 10, 20), (0, 10, 20)]:
        with play.within(decode_range(1)):
            play.launch("k", 100, call=10, latency=20)
            play.host = max(play.free.values())
            play.wait(wait)
            play.launch("l", 50, call=call, latency=max(latency, call))
        play.host = max(play.free.values())
    (cell,) = cells_of(analysed(play))
    parts = sum(cell.terms[name].median for name in ("host_wait", "launch_call", "launch_latency"))
    assert cell.terms["host_exposed"].median > parts + 500


def test_no_cells_without_a_ledger() -> None:
    assert cells_of(analyse(decode_run().build(), Question(), with_ledger=False)) == []


def test_phases_of_a_cell_sum_to_the_mean_of_the_terms() -> None:
    found = analysed(decode_run(batches=(1, 4)))
    phases = phases_of(found)
    assert phases is not None
    assert found.ledger is not None
    for cell in cells_of(found):
        shares = phase_shares(phases, cell)
        assert {s.name for s in shares} <= {"execute step", "sample", "cudaStreamSynchronize", "(no range)"}
        assert sum(s.host_wait for s in shares) == pytest.approx(found.ledger.term("host_wait")[cell.steps].mean())
        assert sum(s.launch_call for s in shares) == pytest.approx(found.ledger.term("launch_call")[cell.steps].mean())
        costs = [s.host_wait + s.launch_call for s in shares]
        assert costs == sorted(costs, reverse=True)
        assert all(costs)


def test_delays_are_means_over_the_first_operation_of_each_launch() -> None:
    play = Playing()
    for _ in range(2):
        with play.within(decode_range(1)):
            play.launch("a", 100, call=10, latency=25)  # starts 25 after the call began, 15 after it ended
            play.launch("b", 10, call=10, latency=15)  # queued behind a: starts 115 after its call began
            play.replay([("c", 5), ("d", 5)], call=20)  # its first node starts right after b
        play.synchronise()
    with play.within(decode_range(1)):
        play.wait(5)
    delays = delays_of(analysed(play))
    assert delays.launch_latency[:2].tolist() == [(25 + 115 + 115) / 3] * 2
    assert delays.queue_delay[:2].tolist() == [(15 + 105 + 95) / 3] * 2
    assert np.isnan(delays.queue_delay[2])
    assert np.isnan(delays.launch_latency[2])


def test_work_that_starts_inside_its_call_has_no_queue_delay() -> None:
    play = Playing()
    for _ in range(2):
        with play.within(decode_range(1)):
            play.launch("a", 10, call=50, latency=20)
        play.synchronise()
    delays = delays_of(analysed(play))
    assert np.isnan(delays.queue_delay).all()
    assert delays.launch_latency.tolist() == [20, 20]


def test_delays_without_calls_are_unknown() -> None:
    made = decode_run(steps=8)
    made.rows["api_calls"].clear()
    made.rows["ranges"].clear()
    found = analyse(made.build(), Question(), with_ledger=False)
    assert found.steps is not None
    assert np.isnan(delays_of(found).queue_delay).all()


def test_graph_coverage_of_each_step() -> None:
    found = analysed(decode_run(graph=True, steps=3))
    covered = graph_coverage(found)
    assert np.isnan(covered[0])  # the prefill step launches no graph
    assert covered[1:].tolist() == [1, 1, 1]
