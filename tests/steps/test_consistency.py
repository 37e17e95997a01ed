"""The rules over steps, directly: launches whose kernels are lost, and counts that fall."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.pipeline import account_of
from tests.support.recording import Playing, decode_range

from kerntrace.steps.consistency import check_steps
from kerntrace.trace.integrity import Rule


def count_rule(kernels: list[int], launches: list[int] | None = None, missing: list[int] | None = None) -> Rule:
    """The kernel-count rule over steady steps with these counts, between a first and a last step that are not steady."""
    play = Playing()
    for _ in range(len(kernels) + 2):
        with play.within(decode_range(1)):
            play.launch("k", 10)
        play.synchronise()
    made = account_of(play.build())
    assert made is not None
    counted, called = (np.array([v[0], *v, v[-1]], np.int64) for v in (kernels, launches or [1] * len(kernels)))
    steps = replace(made.steps, kernels=counted, launches=called)
    lost = np.array([0, *(missing or [0] * len(kernels)), 0], np.int64)
    return check_steps(steps, made.steady, lost)[0]


@pytest.mark.parametrize(
    ("kernels", "ok"),
    [
        ([100] * 9, True),
        ([100] * 6 + [96] * 3, True),
        ([100] * 6 + [95] * 3, True),  # just a twentieth
        ([100] * 6 + [94] * 3, False),
        ([100, 94], False),
        ([94, 100], True),
        ([100], True),
        ([1000] * 6 + [951] * 3, True),
        ([1000] * 6 + [949] * 3, False),
        ([100, 100, 60, 100, 100, 100], False),
        ([100, 100, 140, 100, 100, 100], True),
        ([0] * 6, True),
    ],
)
def test_steps_with_the_same_calls_keep_their_kernels(kernels: list[int], ok: bool) -> None:
    rule = count_rule(kernels)
    assert rule.rule == "kernel-count"
    assert rule.ok is ok
    assert bool(rule.fix) is not ok


def test_another_number_of_calls_may_make_another_number_of_kernels_once() -> None:
    """Longer contexts may need other kernels: that is one change, not a fall from level to level."""
    assert count_rule([100] * 6 + [80] * 6, [100] * 6 + [80] * 6).ok
    assert not count_rule([100] * 4 + [90] * 4 + [80] * 4, [100] * 4 + [90] * 4 + [80] * 4).ok


@pytest.mark.parametrize(("missing", "said"), [([0, 1, 0], "1 launches in 1 of 3"), ([2, 0, 3], "5 launches in 2 of 3")])
def test_launches_without_kernels_in_steady_steps(missing: list[int], said: str) -> None:
    rule = count_rule([5, 5, 5], missing=missing)
    assert not rule.ok
    assert said in rule.detail


def test_no_steady_step_is_nothing_to_compare() -> None:
    play = Playing()
    with play.within(decode_range(1)):
        play.launch("k", 10)
    made = account_of(play.build())
    assert made is not None
    rule = check_steps(made.steps, made.steady, np.array([7]))[0]
    assert rule.ok
    assert "no steady step" in rule.detail


def test_counts_that_go_up_and_down_are_no_loss() -> None:
    up_and_down = [44, 39, 46, 40, 45, 38, 41, 39, 37]
    assert count_rule(up_and_down, up_and_down).ok


def test_one_launch_of_very_many_without_a_kernel_leaves_its_step_out_only() -> None:
    assert count_rule([5_000] * 4, [5_000] * 4, missing=[0, 1, 0, 0]).ok
    assert not count_rule([5_000] * 4, [5_000] * 4, missing=[0, 3, 0, 0]).ok
