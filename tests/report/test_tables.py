"""A figure is printed whole at any width; names give way, and a title is never broken."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from kerntrace.report.tables import fit, show, table

TITLE = "a title that is longer than the table that stands below it, and than most terminals as well, [dim]markup[/] included"


def _drawn(width: int) -> list[str]:
    out = Console(file=io.StringIO(), width=width, highlight=False)
    made = table(TITLE, {"kernel": "left", "ms": "right", "of busy": "right", "family": "left"})
    made.add_row("void cutlass::device_kernel<FlashAttnFwdSm90>", "1234.567", "100.0 %", "attention FA3 with a long name")
    made.add_row("[bold]short[/]", "0.001", "99.9 %", "x")
    show(out, made)
    return out.file.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("width", [1, 20, 50, 80, 100, 200])
def test_figures_are_whole(width: int) -> None:
    title, *rows = _drawn(width)
    assert title.startswith("a title")
    assert title.endswith("markup included")
    text = "\n".join(rows)
    for figure in ("1234.567", "0.001", "100.0 %", "99.9 %", "of busy", "short"):
        assert figure in text
    assert len(rows) == 3
    assert all(row == row.rstrip() for row in rows)


def test_names_give_way_only_where_they_must() -> None:
    assert "void cutlass::device_kernel<FlashAttnFwdSm90>" in "\n".join(_drawn(200))
    assert max(map(len, _drawn(80)[1:])) <= 80


@given(st.lists(st.tuples(st.integers(0, 200), st.booleans()), min_size=1, max_size=12), st.integers(1, 300))
def test_widths_fit_or_no_name_can_give_more(columns: list[tuple[int, bool]], width: int) -> None:
    widths, is_text = [w for w, _ in columns], [text for _, text in columns]
    fitted = fit(widths, is_text, width)
    for before, after, text in zip(widths, fitted, is_text):
        assert after == before if not text else min(before, 14) <= after <= before
    total = sum(fitted) + 2 * (len(fitted) - 1)
    assert total <= width or all(after <= 14 for after, text in zip(fitted, is_text) if text)
    if sum(widths) + 2 * (len(widths) - 1) <= width:
        assert fitted == widths
