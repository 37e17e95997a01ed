"""Which steps headline figures are taken over, and why the others are not."""

from __future__ import annotations

import pytest
from tests.support.pipeline import Account, account_of
from tests.support.recording import Playing, decode_range, prefill_range

from kerntrace.steps.boundaries import compile_pattern, find_ranges
from kerntrace.steps.steady import exclusions, why_left_out

KINDS = {"d": decode_range(1), "D": decode_range(2), "p": prefill_range(8), "e": "execute_context_0(0)_generation_0(0)"} | {
    "m": "execute_context_1(8)_generation_2(2)",
    "u": "unknown a",
    "U": "unknown b",
}


def played(kinds: str, pattern: str | None = None) -> Account:
    """A step a letter. An empty iteration launches nothing; `U` runs another kernel than `u`."""
    play = Playing()
    for kind in kinds:
        play.wait(100)
        with play.within(KINDS[kind]):
            if kind != "e":
                play.launch("k", 50)
                play.launch("b" if kind == "U" else "a", 50)
            else:
                play.wait(20)
        play.synchronise()
    trace = play.build()
    boundaries = find_ranges(trace, compile_pattern(pattern)) if pattern else None
    found = account_of(trace, boundaries)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("kinds", "steady"),
    [
        ("ddd", ".x."),
        ("dddd", ".xx."),
        ("dd", ".."),
        ("d", "."),
        ("pdddd", "..xx."),
        ("dddDDD", ".x..x."),
        ("ddpdd", "....."),
        ("ddedd", "....."),
        ("dddde", ".xx.."),
        ("ppp", "..."),
        ("mmm", "..."),
        ("DDD", ".x."),
    ],
)
def test_both_neighbours_are_decode_steps_of_the_same_batch(kinds: str, steady: str) -> None:
    assert "".join("x" if s else "." for s in played(kinds).steady) == steady


@pytest.mark.parametrize(("kinds", "steady"), [("uuu", ".x."), ("uuUuu", "....."), ("uuUUUuu", "...x..."), ("ueu", "...")])
def test_of_unknown_steps_both_neighbours_ran_the_same_kernels(kinds: str, steady: str) -> None:
    assert "".join("x" if s else "." for s in played(kinds, "unknown|generation_0").steady) == steady


def test_every_step_left_out_is_counted_under_its_reason() -> None:
    made = played("pdddmddeddDD")
    left_out = exclusions(made.steps, made.steady)
    assert sum(left_out.values()) + int(made.steady.sum()) == 12
    assert left_out == {
        "prefill step": 1,
        "next to a step of another kind or batch": 7,
        "prefill and decode in one step": 1,
        "empty iteration": 1,
        "window not closed (nothing after it on record)": 1,
    }


def test_the_first_step_and_one_that_ran_nothing_have_reasons_of_their_own() -> None:
    play = Playing()
    for step in range(5):
        with play.within(decode_range(1)):
            play.wait(10)
            if step != 2:
                play.launch("k", 50)
        play.synchronise()
    made = account_of(play.build())
    assert made is not None
    assert made.steady.tolist() == [False, True, False, True, False]
    assert exclusions(made.steps, made.steady) == {
        "first step on record": 1,
        "ran nothing on the device": 1,
        "window not closed (nothing after it on record)": 1,
    }


def test_nothing_left_out() -> None:
    made = played("ddd")
    made.steady[:] = True
    assert exclusions(made.steps, made.steady) == {}


def test_every_step_left_out_has_its_reason() -> None:
    made = played("pdddmddeddDD")
    reasons = why_left_out(made.steps, made.steady)
    assert ["" if steady else reason for steady, reason in zip(made.steady, reasons)] == reasons.tolist()
    assert (reasons == "").tolist() == made.steady.tolist()
    assert {i: reason for i, reason in enumerate(reasons) if reason and not reason.startswith("next to")} == {
        0: "prefill step",
        4: "prefill and decode in one step",
        7: "empty iteration",
        11: "window not closed (nothing after it on record)",
    }


def test_a_steady_step_that_is_kept_out_lacks_work_on_record() -> None:
    made = played("ddddd")
    fewer = made.steady.copy()
    fewer[2] = False
    assert why_left_out(made.steps, fewer).tolist()[1:4] == ["", "launched work that is not on record", ""]
    assert exclusions(made.steps, fewer)["launched work that is not on record"] == 1


def test_a_window_that_the_next_step_s_work_does_not_close() -> None:
    made = played("ddddd")
    made.steps.complete[1] = False
    made.steady[1] = False
    reasons = why_left_out(made.steps, made.steady)
    assert reasons[1] == "window not closed (the next step's work does not start later)"
    assert reasons[4] == "window not closed (nothing after it on record)"
