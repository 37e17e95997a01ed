"""The timeline's marks against the trace and the ledger."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.recording import decode_run

from kerntrace.accounting.analysis import Analysis, Question, analyse
from kerntrace.accounting.ledger import GAP_TERMS
from kerntrace.accounting.summary import cells_of
from kerntrace.report.html.choose import DRAWN_STEPS, Run, sample_steps, timeline_runs
from kerntrace.report.html.marks import CLASSES
from kerntrace.report.html.range_marks import _depths
from kerntrace.report.html.timeline import strip


@pytest.fixture(scope="module", params=[False, True], ids=["eager", "graph"])
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return analyse(decode_run(batches=(1, 4), graph=request.param).build(), Question())


def of_class(found: dict[str, Any], *names: str) -> np.ndarray[Any, Any]:
    kinds = [CLASSES.index(name) for name in names]
    return np.flatnonzero(np.isin(found["marks"]["kind"], kinds))


def test_gap_marks_are_the_ledger(analysis: Analysis) -> None:
    ledger = analysis.ledger
    assert ledger is not None
    found = strip(analysis, Run(None, 2, 5, ""))
    for term in GAP_TERMS:
        assert found["marks"]["length"][of_class(found, term)].sum() == ledger.term(term)[2:6].sum()
    marks = found["marks"]
    gaps = of_class(found, *GAP_TERMS)
    order = gaps[np.argsort(marks["start"][gaps], kind="stable")]
    ends = marks["start"][order] + marks["length"][order]
    assert np.all(ends[:-1] <= marks["start"][order][1:])  # terms of one gap follow on one another


def test_operations_of_the_steps_are_there_with_their_launch(analysis: Analysis) -> None:
    steps, ops = analysis.steps, analysis.ops
    assert steps is not None
    found = strip(analysis, Run(None, 2, 5, ""))
    marks = found["marks"]
    rows = of_class(found, "matrix product", "attention", "other kernel", "copy or memset")
    drawn = Counter(zip((marks["start"][rows] + found["origin_ns"]).tolist(), marks["length"][rows].tolist()))
    owned = np.isin(steps.owner, (2, 3, 4, 5))
    expected = Counter(zip(ops.start[owned].tolist(), (ops.end - ops.start)[owned].tolist()))
    assert expected <= drawn
    calls = {int(id_): i for i, id_ in enumerate(marks["id"]) if id_ >= 0}
    launch = {(int(s), int(launch)) for s, launch in zip(ops.start, ops.launch)}
    for i in rows:
        assert (int(marks["start"][i]) + found["origin_ns"], int(marks["by"][i])) in launch
        assert int(marks["by"][i]) in calls


def test_a_graph_replay_is_one_launch_with_many_nodes() -> None:
    analysis = analyse(decode_run(graph=True).build(), Question())
    found = strip(analysis, Run(None, 2, 2, ""))
    marks = found["marks"]
    for replay in of_class(found, "replay"):
        nodes = [
            i
            for i in range(len(marks["by"]))
            if marks["by"][i] == marks["by"][replay] and marks["kind"][i] > CLASSES.index("replay")
        ]
        assert len(nodes) == marks["more"][replay] > 1
        assert marks["start"][replay] == min(marks["start"][nodes])
        assert marks["start"][replay] + marks["length"][replay] == max(marks["start"][nodes] + marks["length"][nodes])
    assert len(of_class(found, "replay")) >= 1


def test_runs_are_steady_steps_in_a_row(analysis: Analysis) -> None:
    for run, cell in zip(timeline_runs(analysis, cells_of(analysis), None), cells_of(analysis)):
        assert set(range(run.first, run.last + 1)) <= set(cell.steps.tolist())
        assert run.batch == cell.batch


def test_a_long_trace_is_sampled_by_the_rule_it_states() -> None:
    play = decode_run(steps=DRAWN_STEPS + 500)
    analysis = analyse(play.build(), Question())
    assert analysis.ledger is not None
    found = sample_steps(analysis)
    count = len(analysis.steps or ())
    assert f"every 2nd of {count} steps" in found.rule
    assert set(range(0, count, 2)) <= set(found.steps.tolist())
    assert set(np.flatnonzero(analysis.ledger.wall > np.sort(analysis.ledger.wall)[-100]).tolist()) <= set(found.steps.tolist())
    assert len(found.steps) <= count // 2 + 101


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), max_size=30))
def test_depths_count_the_open_ranges(spans: list[tuple[int, int]]) -> None:
    spans = sorted((start, start + length) for start, length in spans)
    depths = _depths([start for start, _ in spans], [end for _, end in spans])
    for i, depth in enumerate(depths):
        assert depth == sum(end > spans[i][0] for _, end in spans[:i])
