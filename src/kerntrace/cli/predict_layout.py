"""Columns of plain text. Drawing the same with rich takes as long as the prediction itself. Room: cli."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence

_PIPE_WIDTH = 150
_LEAST = 20
_BETWEEN = 2


def width() -> int:
    """Characters a line may have: the terminal's, or what wide tables need where there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_WIDTH


def columns(title: str, left: Sequence[str], right: Sequence[str], rows: Sequence[dict[str, str]], room: int) -> str:
    """A table: its title, names of columns, a line, and the rows.

    Args:
        left, right: names of the columns by how they are aligned; the last one on the left is wrapped where there is no room.
        rows: what stands in each column.
        room: characters a line may have.
    """
    names = (*left, *right)
    shown = [[_printable(row[name]) for name in names] for row in rows]
    widths = [max([len(name), *(len(row[n]) for row in shown)]) for n, name in enumerate(names)]
    last = len(left) - 1
    if last >= 0:
        spare = room - sum(widths) - _BETWEEN * (len(names) - 1) + widths[last]
        widths[last] = min(widths[last], max(_LEAST, spare))
    rule = "─" * min(room, sum(widths) + _BETWEEN * (len(names) - 1))
    lines = [*textwrap.wrap(_printable(title), room), _line(names, widths, len(left)), rule]
    for row in shown:
        folded = (textwrap.wrap(row[last], widths[last]) or [""]) if last >= 0 else [""]
        if last >= 0:
            row[last] = folded[0]
        lines.append(_line(row, widths, len(left)))
        indent = sum(widths[:last]) + _BETWEEN * max(last, 0)
        lines += [" " * indent + rest for rest in folded[1:]]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    placed = [
        cell.ljust(width) if n < left else cell.rjust(width) for n, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return (" " * _BETWEEN).join(placed).rstrip()


def _printable(text: str) -> str:
    """Without what could steer a terminal: names come from paths and files."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
