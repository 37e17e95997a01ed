"""`--steps`: what each way of writing it names, for every verb alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.errors import UsageError
from kerntrace.steps.chosen import read_steps


@given(st.integers(0, 10**8), st.integers(0, 10**8))
def test_each_way_names_the_same_steps(first: int, more: int) -> None:
    assert read_steps(f"{first}-{first + more}") == read_steps(f"{first}:{first + more + 1}") == (first, first + more + 1)
    assert read_steps(str(first)) == (first, first + 1)


@pytest.mark.parametrize(("text", "named"), [(":5", (0, 5)), ("5:", (5, None)), (":", (0, None)), (" 3 ", (3, 4))])
def test_ends_may_be_left_out(text: str, named: tuple[int, int | None]) -> None:
    assert read_steps(text) == named


@pytest.mark.parametrize(
    "text", ["", "a", "-3", "3-", "5-4", "5:5", "5:4", "1,2", "3:7:2", "\N{ARABIC-INDIC DIGIT THREE}", "9" * 12]
)
def test_what_names_no_step_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="names no steps"):
        read_steps(text)
