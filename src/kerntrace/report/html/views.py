"""The first screen: for each cell a sentence, its numbers and a bar a mode. Room: report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kerntrace.report.figures.palette import DARK_CLASSES, TERM_COLOURS
from kerntrace.report.html.side import Side, Untraced
from kerntrace.report.html.verdict import bound, exposure
from kerntrace.report.text import TERM_NAMES
from kerntrace.units import ms, share

Json = dict[str, Any]

_LONGEST_BAR = 100.0
_SPOKEN = 7  # of a hundred of the longest bar: a part this wide has its number written on it


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar: one term of the ledger. `width` in percent of its bar."""

    width: float
    colour: str
    dark: bool
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class View:
    """A cell of one trace.

    Attributes:
        place: in the trace's `summary`.
        row: that row of it.
        width: of its bar, in percent of the room.
        within: host-exposed time inside the step, median, ns.
    """

    side: Side
    place: int
    row: Json
    bound: str
    width: float
    parts: tuple[Part, ...]
    within: float
    untraced: Untraced | None

    @property
    def exposed(self) -> bool:
        """Whether the wait is long enough to say where it lies: a hundredth of the step."""
        return bool(self.row["host_exposed_ns"]["median"] > 0.01 * self.row["wall_ns"]["median"])

    @property
    def within_text(self) -> str:
        return ms(self.within)

    @property
    def untraced_text(self) -> str:
        return ms(self.untraced.median) if self.untraced else ""

    @property
    def untraced_range(self) -> str:
        return f"{ms(min(self.untraced.times))} to {ms(max(self.untraced.times))}" if self.untraced else ""


@dataclass(frozen=True, slots=True)
class Block:
    """A cell of all traces that have it.

    Attributes:
        pair: its place in the comparison's cells; None where there is none.
        has: whether a term is above zero anywhere in it.
    """

    label: str
    views: tuple[View, ...]
    pair: int | None
    has: dict[str, bool]

    @property
    def other(self) -> Side:
        return self.views[-1].side

    @property
    def alt(self) -> str:
        """The bars in words."""
        return "; ".join(f"{view.side.mode or view.side.name}: {_spoken(view.row)}" for view in self.views)


def blocks_of(sides: Sequence[Side], compare: Json | None) -> list[Block]:
    """The cells that both traces have, or all of them where there is one trace or no comparison."""
    if compare is not None:
        places = [{(cell.kind, cell.batch): i for i, cell in enumerate(side.cells)} for side in sides]
        wanted = [(cell["kind"], cell["batch"]) for cell in compare["cells"]]
        return [
            _block([(side, place[key]) for side, place in zip(sides, places)], pair if len(sides) > 1 else None)
            for pair, key in enumerate(wanted)
        ]
    return [_block([(side, i)], None) for side in sides for i in range(len(side.cells))]


def label_of(row: Json) -> str:
    return f"batch {row['batch']}" if row["batch"] is not None else f"{row['kind']} steps"


def _block(members: list[tuple[Side, int]], pair: int | None) -> Block:
    rows = [side.documents["steps"]["summary"][place] for side, place in members]
    longest = max(row["wall_ns"]["median"] for row in rows) or 1
    views = tuple(_view(side, place, row, longest) for (side, place), row in zip(members, rows))
    has = {term: any(row[f"{term}_ns"]["max"] > 0 for row in rows) for term in TERM_NAMES}
    return Block(label_of(rows[0]), views, pair, has)


def _view(side: Side, place: int, row: Json, longest: float) -> View:
    cell = side.cells[place]
    found = exposure(side.analysis, cell)
    width = _LONGEST_BAR * row["wall_ns"]["median"] / longest
    untraced = side.untraced.get(cell.batch) if cell.batch is not None else None
    return View(side, place, row, bound(row, found), round(width, 3), _parts(row, width), found.within, untraced)


def _parts(row: Json, width: float) -> tuple[Part, ...]:
    """The terms as shares of their sum, which for medians is not exactly the median wall."""
    values = {term: row[f"{term}_ns"]["median"] for term in TERM_COLOURS}
    whole = sum(values.values()) or 1
    parts = []
    for term, value in values.items():
        if not value:
            continue
        portion = 100 * value / whole
        text = ms(value) if portion * width / 100 >= _SPOKEN else ""
        title = f"{TERM_NAMES[term]}: {ms(value)} ms, {share(value, whole)}"
        parts.append(Part(round(portion, 3), TERM_COLOURS[term], term in DARK_CLASSES or term == "busy", text, title))
    return tuple(parts)


def _spoken(row: Json) -> str:
    said = [f"{TERM_NAMES[term]} {ms(row[f'{term}_ns']['median'])} ms" for term in TERM_COLOURS if row[f"{term}_ns"]["median"]]
    return f"step wall {ms(row['wall_ns']['median'])} ms, of it {', '.join(said)}"
