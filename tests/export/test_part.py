"""Part of a trace, by its steps."""

from __future__ import annotations

import pytest
from tests.support.recording import decode_run

from kerntrace.accounting.analysis import Question, analyse
from kerntrace.errors import RefusedError, UsageError
from kerntrace.export.part import Part, part_of, read_part, steps_of


@pytest.mark.parametrize(
    ("text", "part"),
    [("3", Part(3, 4)), ("2:4", Part(2, 4)), (":4", Part(0, 4)), ("5:", Part(5, 8)), (":", Part(0, 8)), ("6:99", Part(6, 8))],
)
def test_what_a_part_is_called(text: str, part: Part) -> None:
    assert read_part(text, 8) == part


@pytest.mark.parametrize("text", ["", "-1", "8", "4:4", "5:3", "a", "1:2:3", "\u0663", "9" * 30])
def test_what_names_no_steps(text: str) -> None:
    with pytest.raises(UsageError, match="--steps"):
        read_part(text, 8)


@pytest.mark.parametrize("graph", [False, True])
def test_a_part_accounts_for_its_steps_as_the_whole_does(graph: bool) -> None:
    whole = analyse(decode_run(graph=graph, batches=(1, 4)).build(), Question())
    steps = steps_of(whole, "t")
    part = analyse(part_of(whole, steps, Part(2, 6)), Question())
    assert part.ledger is not None
    assert whole.ledger is not None
    assert part.steps is not None
    assert part.ledger.busy.tolist() == [*whole.ledger.busy[2:5].tolist(), part.ledger.busy[3]]
    assert part.ledger.term("host_wait")[:3].tolist() == whole.ledger.term("host_wait")[2:5].tolist()
    assert part.steps.kernels.tolist() == steps.kernels[2:6].tolist()
    assert part.steps.launches.tolist() == steps.launches[2:6].tolist()


def test_of_a_refused_trace_no_part_is_known() -> None:
    with pytest.raises(RefusedError, match="dropped-records"):
        steps_of(analyse(decode_run().build(dropped_records=3), Question()), "t")
