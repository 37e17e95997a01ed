"""From a trace to its account: what is refused, what is asked, and what is left when something is missing."""

from __future__ import annotations

import pytest
from tests.support.recording import Playing, Recording, decode_run, play_step

from kerntrace.accounting.analysis import Analysis, Question, analyse
from kerntrace.accounting.summary import cells_of, phases_of
from kerntrace.errors import KerntraceError, UsageError
from kerntrace.report.documents import check_document, steps_document


def analysed(made: Recording, **asked: object) -> Analysis:
    return analyse(made.build(), Question(**asked))  # type: ignore[arg-type]


def test_a_sound_trace_gets_everything() -> None:
    found = analysed(decode_run())
    assert found.ok
    assert found.steps is not None
    assert found.ledger is not None
    assert found.steady.sum() == 4


def test_the_ledger_is_kept_only_if_asked() -> None:
    found = analyse(decode_run().build(), Question(), with_ledger=False)
    assert found.ok
    assert found.steps is not None
    assert found.ledger is None


def test_a_failed_rule_forbids_the_ledger_and_leaves_the_steps() -> None:
    made = decode_run()
    made.rows["kernels"].append(dict(made.rows["kernels"][4]))
    found = analysed(made)
    assert not found.ok
    assert found.steps is not None
    assert found.ledger is None
    assert cells_of(found) == []
    assert phases_of(found) is None


def test_a_blinding_rule_forbids_the_steps_too() -> None:
    made = decode_run()
    made.rows["kernels"][4] |= {"start_ns": 0, "end_ns": 0}
    found = analysed(made)
    assert not found.ok
    assert found.steps is None
    assert len(found.steady) == 0


def test_an_empty_trace_is_refused_and_not_zero_percent_idle() -> None:
    found = analysed(Recording())
    assert [rule.rule for rule in found.rules if not rule.ok] == ["kernels-recorded"]
    assert steps_document(found, [], [])["steps"] == []
    assert check_document(found)["ok"] is False


def test_a_trace_without_ranges_or_repetition_has_no_steps_but_is_sound() -> None:
    play = Playing()
    for name in "abcd":
        play.launch(name, 10)
    found = analysed(play)
    assert found.ok
    assert found.steps is None


def test_a_trace_of_kernels_alone_is_accounted_for_by_periodicity() -> None:
    """As exported without API calls: all idle time is without a launch on record."""
    made = decode_run(steps=8)
    made.rows["api_calls"].clear()
    made.rows["ranges"].clear()
    found = analysed(made)
    assert found.ok
    cell = cells_of(found)[0]
    assert cell.terms["unattributed"].min > 0
    assert cell.terms["host_exposed"].max == 0
    assert phases_of(found) is not None


@pytest.mark.parametrize("asked", [{"device": 3}, {"pid": 4}, {"device": -2}, {"pid": 2**40}])
def test_a_device_or_process_that_ran_nothing(asked: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        analysed(decode_run(), **asked)


def test_the_pattern_is_read_before_anything_else() -> None:
    with pytest.raises(UsageError, match="regular expression"):
        analysed(decode_run(), step_range="(")
    with pytest.raises(KerntraceError, match="no range matches"):
        analysed(decode_run(), step_range="nothing like it")


def two_devices() -> Playing:
    """Two processes on a device each, whose calls share their ids."""
    play = Playing()
    for batch, (pid, device) in ((2, (7, 0)), (8, (9, 1))):
        play.pid, play.last_id, play.free = pid, 0, {}
        for _ in range(5):
            play_step(play, batch, graph=False)
        for row in [*play.rows["kernels"], *play.rows["memops"]]:
            if row["pid"] == pid:
                row["device_id"] = device
    return play


@pytest.mark.parametrize(
    ("asked", "batch"), [({"device": 0}, 2), ({"device": 1}, 8), ({"pid": 7}, 2), ({"pid": 9, "device": 1}, 8)]
)
def test_each_device_and_process_has_the_account_it_would_have_alone(asked: dict[str, int], batch: int) -> None:
    assert not analysed(two_devices()).ok
    found = analysed(two_devices(), **asked)
    assert found.ok
    (cell,) = cells_of(found)
    assert (cell.batch, len(cell.steps), cell.counts["kernels"].median) == (batch, 3, 14)
    alone = Playing()
    for _ in range(5):
        play_step(alone, batch, graph=False)
    (expected,) = cells_of(analysed(alone))
    assert cell.terms == expected.terms
    assert cell.counts == expected.counts


def test_coverage_is_known_for_every_replay() -> None:
    found = analysed(decode_run(graph=True))
    assert found.coverage.seen.tolist() == found.coverage.expected.tolist() == [12] * 6
