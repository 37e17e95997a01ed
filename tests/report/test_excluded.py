"""Which steps are left out, in words; and the rows of steps with and without what takes a pass over every call."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.recording import Playing, decode_range, decode_run, prefill_range

from kerntrace.accounting.analysis import Question, analyse
from kerntrace.accounting.summary import cells_of
from kerntrace.report.documents import brief_steps_document, steps_document
from kerntrace.report.excluded import LeftOut, _numbers, left_out
from kerntrace.steps.work import brief_kernels_in, kernels_in


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([4], "step 4"),
        ([0, 2], "steps 0, 2"),
        ([0, 1], "steps 0 to 1"),
        ([0, 1, 2, 5, 7, 8], "steps 0 to 2, 5, 7 to 8"),
        (list(range(0, 12, 2)), "steps 0, 2, 4, 6, 8, 10"),
        (list(range(0, 14, 2)), "steps 0, 2, 4, 6, 8, 10, ..."),
    ],
)
def test_runs_of_numbers_are_told_by_their_ends(numbers: list[int], said: str) -> None:
    assert _numbers(numbers) == said


def test_each_reason_names_its_steps() -> None:
    play = Playing()
    for name in [prefill_range(8)] * 2 + [decode_range(1)] * 4:
        with play.within(name):
            play.launch("k", 50)
        play.synchronise()
    assert sorted(left_out(analyse(play.build(), Question())), key=lambda one: one.which) == [
        LeftOut("next to a step of another kind or batch", 1, "step 2"),
        LeftOut("window not closed (nothing after it on record)", 1, "step 5"),
        LeftOut("prefill step", 2, "steps 0 to 1"),
    ]


@pytest.mark.parametrize("graph", [False, True])
def test_the_brief_document_is_the_whole_one_without_what_it_leaves_out(graph: bool) -> None:
    analysis = analyse(decode_run(batches=(1, 4), graph=graph).build(), Question())
    cells, shown = cells_of(analysis), [0, 3, 13]
    whole, brief = steps_document(analysis, cells, shown), brief_steps_document(analysis, cells, shown)
    left = {"graph_coverage", "queue_delay_mean_ns", "start_latency_mean_ns", "largest_gap_ns", "largest_gap_cause"}
    for row in whole["steps"]:
        assert left - {"largest_gap_ns", "largest_gap_cause"} <= set(row)
        for part in (row, row.get("open_window", {})):
            for key in left:
                part.pop(key, None)
    assert brief == whole


def test_the_page_s_kernels_are_those_of_the_verb_without_shapes() -> None:
    analysis = analyse(decode_run(batches=(1, 4)).build(), Question())
    assert analysis.steps is not None
    for cell in cells_of(analysis):
        asked = (analysis.trace, analysis.ops, analysis.steps, cell.steps)
        assert brief_kernels_in(*asked) == [replace(use, shapes=()) for use in kernels_in(*asked)]
