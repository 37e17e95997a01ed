"""Terminal tables that never shorten a figure: text gives way first, and a table that is still too wide is longer than a line.

Rich shrinks every column alike, and a figure that has lost its digits says something else. Room: report.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

_LEAST = 14  # columns that a name keeps
_BETWEEN = 2  # columns between two cells


def table(title: str, columns: dict[str, str]) -> Table:
    """An empty table; `columns` maps headings to justification. Figures are those justified to the right."""
    made = Table(title=title, box=None, pad_edge=False, header_style="dim")
    for heading, justify in columns.items():
        made.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    return made


def show(out: Console, made: Table) -> None:
    """Print a table, its title on a line of its own that is not broken."""
    if made.title:
        out.print(made.title, style="bold", soft_wrap=True)
        made.title = None
    widths = [max((_width(cell) for cell in (column.header, *column.cells)), default=0) for column in made.columns]
    fitted = fit(widths, [column.justify != "right" for column in made.columns], out.width)
    for column, width in zip(made.columns, fitted):
        column.min_width = column.max_width = width
    before = out.width
    out.width = max(before, sum(fitted) + _BETWEEN * len(fitted))
    with out.capture() as drawn:
        out.print(made)
    out.width = before
    lines = drawn.get().splitlines()
    out.file.write("".join(f"{line.rstrip()}\n" for line in lines))


def fit(widths: list[int], is_text: list[bool], width: int) -> list[int]:
    """The columns' widths on a line: text is shortened, the widest first, down to what tells names apart; figures never."""
    fitted = list(widths)
    excess = sum(fitted) + _BETWEEN * (len(fitted) - 1) - width
    while excess > 0:
        longest = max(
            (i for i, text in enumerate(is_text) if text and fitted[i] > _LEAST), key=fitted.__getitem__, default=None
        )
        if longest is None:
            break
        fitted[longest] -= 1
        excess -= 1
    return fitted


def _width(cell: object) -> int:
    return max((line.cell_len for line in Text.from_markup(str(cell)).split("\n")), default=0)
