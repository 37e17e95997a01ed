"""Two traces side by side."""

from __future__ import annotations

import pytest
from tests.support import oracle
from tests.support.recording import Recording, decode_run

from kerntrace.accounting.analysis import Analysis, Question, analyse
from kerntrace.accounting.compare import compare
from kerntrace.accounting.summary import TERMS


def analysed(made: Recording) -> Analysis:
    return analyse(made.build(), Question())


def test_cells_that_both_have_are_paired_and_the_others_named() -> None:
    found = compare(analysed(decode_run(batches=(1, 2, 4))), analysed(decode_run(batches=(8, 4, 1), graph=True)))
    assert [(p.a.batch, p.b.batch) for p in found.pairs] == [(1, 1), (4, 4)]
    assert [(side, cell.batch) for side, cell in found.unpaired] == [("a", 2), ("b", 8)]


def test_every_delta_is_a_minus_b_of_the_medians() -> None:
    eager, graph = decode_run(steps=7), decode_run(steps=6, graph=True)
    (pair,) = compare(analysed(eager), analysed(graph)).pairs
    a, b = (oracle.medians(oracle.account(run), 4) for run in (eager, graph))
    assert {name: pair.delta[name] for name in a} == {name: a[name] - b[name] for name in a}
    assert pair.delta["kernels"] == 0
    assert pair.delta["launches"] == 14 - 3
    assert pair.delta["graph_launches"] == -1
    assert set(pair.delta) == {*pair.a.counts, *(f"{t}_ns" for t in TERMS)}


def test_terms_of_the_delta_need_not_sum_but_those_of_alike_steps_do() -> None:
    (pair,) = compare(analysed(decode_run()), analysed(decode_run(graph=True))).pairs
    parts = ("busy", "device_gap", "host_exposed", "profiler", "unattributed")
    assert sum(pair.delta[f"{name}_ns"] for name in parts) == pair.delta["wall_ns"]


def test_the_same_kernels_are_the_same_work_however_launched() -> None:
    (pair,) = compare(analysed(decode_run()), analysed(decode_run(graph=True))).pairs
    assert pair.work.same
    assert pair.work.only_a == pair.work.only_b == ()


def test_another_layer_count_is_other_work() -> None:
    (pair,) = compare(analysed(decode_run(layers=3)), analysed(decode_run(layers=4))).pairs
    assert not pair.work.same
    assert {c.what for c in pair.work.changed} == {"count"}
    assert all(c.b.count - c.a.count == 1 for c in pair.work.changed)


def test_a_trace_against_itself_differs_in_nothing() -> None:
    one = analysed(decode_run(batches=(1, 4)))
    found = compare(one, one)
    assert found.unpaired == ()
    for pair in found.pairs:
        assert set(pair.delta.values()) == {0}
        assert pair.work.same
        assert pair.work.changed == ()


@pytest.mark.parametrize("swap", [False, True])
def test_a_refused_trace_has_no_cells_to_pair(swap: bool) -> None:
    sound = analysed(decode_run())
    refused = analyse(decode_run().build(dropped_records=4), Question())
    found = compare(refused, sound) if swap else compare(sound, refused)
    assert found.pairs == ()
    assert [(side, cell.batch) for side, cell in found.unpaired] == [("b" if swap else "a", 4)]


def without_ranges(steps: int = 9) -> Analysis:
    """A run whose steps are told apart by their launches alone, so that its batch is not known."""
    made = decode_run(steps=steps)
    made.rows["ranges"].clear()
    return analysed(made)


@pytest.mark.parametrize("silent_first", [False, True])
def test_a_trace_that_does_not_say_its_batch_is_paired_with_the_others_only_cell(silent_first: bool) -> None:
    silent, saying = without_ranges(), analysed(decode_run(batches=(1, 4)))
    both = (silent, saying) if silent_first else (saying, silent)
    assert compare(*both).pairs == ()  # two cells: which one it is, nobody knows
    (pair,) = compare(*both, batches=[4]).pairs
    assert pair.assumed
    assert (pair.told.kind, pair.told.batch) == ("decode", 4)
    assert {pair.a.batch, pair.b.batch} == {4, None}


def test_only_what_is_asked_for_is_paired() -> None:
    one = analysed(decode_run(batches=(1, 4)))
    assert [p.told.batch for p in compare(one, one, batches=[4]).pairs] == [4]
    assert [p.told.batch for p in compare(one, one, kind="decode").pairs] == [1, 4]
    assert compare(one, one, kind="prefill").pairs == ()
    assert not any(p.assumed for p in compare(one, one).pairs)
