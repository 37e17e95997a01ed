"""The sequence that most steps ran, whatever the others did."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.recording import Playing, decode_range

from kerntrace.accounting.analysis import Analysis, Question, analyse
from kerntrace.evidence.typical_step import typical_step

Sequence = list[str]


def recorded(steps: list[Sequence]) -> Analysis:
    play = Playing()
    for number, sequence in enumerate(steps):
        with play.within(decode_range(1)):
            for name in sequence:
                if name == "copy":
                    play.copy(5)
                else:
                    play.launch(name, 100 + number)
        play.synchronise()
    analysis = analyse(play.build(), Question(), with_ledger=False)
    assert analysis.steps is not None
    return analysis


def owned(analysis: Analysis) -> np.ndarray:
    assert analysis.steps is not None
    return np.flatnonzero(analysis.steps.operations > 0)


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "b", "copy"]), max_size=4).map(lambda more: ["head", *more]), min_size=1, max_size=8
    )
)
def test_it_is_the_sequence_that_most_steps_ran(steps: list[Sequence]) -> None:
    analysis = recorded(steps)
    found = typical_step(analysis, owned(analysis))
    counts = [steps.count(sequence) for sequence in steps]
    usual = steps[counts.index(max(counts))]  # the earliest of several
    assert [member.name for member in found.members] == ["DtoH" if name == "copy" else name for name in usual]
    assert found.steps.tolist() == [number for number, sequence in enumerate(steps) if sequence == usual]
    assert found.of == len(steps)
    lengths = {member.measured_ns for member in found.members if member.is_kernel}
    assert lengths <= {float(np.median([100 + number for number in found.steps.tolist()]))}


def test_work_is_in_launch_order_though_it_ran_otherwise() -> None:
    play = Playing()
    for _ in range(3):
        with play.within(decode_range(1)):
            play.launch("long", 900, stream=7)
            play.launch("behind", 50, stream=7)
            play.launch("beside", 50, stream=8)  # runs before `behind`
        play.synchronise()
    analysis = analyse(play.build(), Question(), with_ledger=False)
    found = typical_step(analysis, owned(analysis))
    assert [member.name for member in found.members] == ["long", "behind", "beside"]
