"""Plain columns: aligned, wrapped where there is no room, and without what could steer a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kerntrace.cli.predict_layout import columns

words = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)


def test_columns_are_aligned_and_the_last_left_one_is_wrapped() -> None:
    rows = [{"name": "a", "why": "because it was so in all of them", "us": "1.5"}, {"name": "bbb", "why": "-", "us": "12.0"}]
    lines = columns("title", ("name", "why"), ("us",), rows, 34).splitlines()
    assert lines[0] == "title"
    assert lines[1] == "name  " + "why".ljust(22) + "    us"
    assert lines[2] == 34 * "─"
    wrapped = ["a     " + "because it was so in".ljust(22) + "   1.5", "      all of them"]
    assert lines[3:] == [*wrapped, "bbb   " + "-".ljust(22) + "  12.0"]


def test_without_columns_on_the_left_there_are_still_rows() -> None:
    assert columns("t", (), ("a", "b"), [{"a": "1", "b": "22"}], 40).splitlines()[1:] == ["a   b", "─────", "1  22"]


def test_a_name_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in columns("t\x1b[31m", ("n",), (), [{"n": "\x1b]0;x\x07"}], 40)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=6))
def test_every_cell_is_there_in_order(cells: list[tuple[str, str]]) -> None:
    shown = columns("t", ("a",), ("b",), [{"a": a, "b": b} for a, b in cells], 80).splitlines()[3:]
    assert [tuple(line.split()) for line in shown] == cells
