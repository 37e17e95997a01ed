"""What is handed to the exporters: its sums are the ledger's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.support.random_traces import recordings
from tests.support.recording import Playing, Recording, decode_run

from kerntrace.accounting.analysis import Analysis, Question, analyse
from kerntrace.accounting.ledger import GAP_TERMS
from kerntrace.accounting.phases import attribute_phases
from kerntrace.export.findings import find, total_by_name
from kerntrace.trace.model import Trace


def analysis_of(trace: Trace) -> Analysis:
    return analyse(trace, Question())


@pytest.mark.parametrize("graph", [False, True])
def test_a_step_is_named_for_what_it_is(graph: bool) -> None:
    found = find(analysis_of(decode_run(batches=(1, 4), graph=graph).build()))
    names = {found.steps.name.values[code] for code in found.steps.name.codes}
    assert names == {
        "step prefill (not steady)",
        "step decode batch 1",
        "step decode batch 1 (not steady)",
        "step decode batch 4",
        "step decode batch 4 (not steady)",
        "step decode batch 4 (not closed)",
    }
    assert found.account["wall"].tolist() == (found.steps.end - found.steps.start).tolist()


@given(recordings())
@settings(max_examples=150)
def test_idle_pieces_tile_the_gaps_and_sum_to_the_ledger(recording: Recording) -> None:
    analysis = analysis_of(recording.build())
    found = find(analysis)
    if analysis.ledger is None:
        assert found.reason
        assert not len(found.gaps)
        return
    gaps = analysis.ledger.gaps
    for name in GAP_TERMS:
        assert total_by_name(found.gaps).get(name, 0) == int(gaps.terms[name].sum())
    assert np.all(found.gaps.end > found.gaps.start)
    pieces = sorted(zip(found.gaps.step.tolist(), found.gaps.start.tolist(), found.gaps.end.tolist()))
    covered = {(step, at) for step, a, b in pieces for at in range(a, b)}
    assert covered == {
        (step, at) for step, a, b in zip(gaps.step.tolist(), gaps.start.tolist(), gaps.end.tolist()) for at in range(a, b)
    }
    assert len(covered) == sum(b - a for _, a, b in pieces)


@given(recordings())
@settings(max_examples=150)
def test_phases_sum_to_those_of_the_account(recording: Recording) -> None:
    analysis = analysis_of(recording.build())
    if analysis.ledger is None or analysis.steps is None:
        return
    gaps = analysis.ledger.gaps
    if np.any(gaps.start[1:] < gaps.end[:-1]):  # windows out of order share gaps
        return
    phases = attribute_phases(analysis.trace, gaps, len(analysis.steps))
    told = (phases.host_wait + phases.launch_call).sum(axis=0).tolist()
    assert total_by_name(find(analysis).phases) == {name: ns for name, ns in zip(phases.names, told) if ns}


def test_the_profilers_own_time_is_cut_out_where_it_was() -> None:
    play = Playing()
    for _ in range(3):
        with play.within("execute_context_0(0)_generation_1(1)"):
            play.launch("k", 10)
            play.wait(100)
            play.overhead(play.host - 60, play.host - 40)
            play.launch("k", 10)
        play.synchronise()
    analysis = analysis_of(play.build())
    found = find(analysis)
    own = np.flatnonzero(found.gaps.name.codes == GAP_TERMS.index("profiler"))
    records = analysis.trace.overheads
    times = list(zip(found.gaps.start[own].tolist(), found.gaps.end[own].tolist()))
    assert times == list(zip(records.ints("start_ns").tolist(), records.ints("end_ns").tolist()))


def test_a_refused_trace_has_no_findings_but_a_reason() -> None:
    found = find(analysis_of(decode_run().build(dropped_records=3)))
    assert "dropped-records" in found.reason
    assert not len(found.steps)
    assert not len(found.gaps)
