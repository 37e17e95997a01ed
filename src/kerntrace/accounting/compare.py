"""Two traces side by side: the cells that both have, the difference of every term, and whether the same kernels ran.

Room: accounting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kerntrace.accounting.analysis import Analysis
from kerntrace.accounting.summary import Cell, cells_of
from kerntrace.steps.work import SameWork, families_in, same_work


@dataclass(frozen=True, slots=True)
class Pair:
    """One cell that both traces have.

    Attributes:
        delta: a - b of the medians, by the name of the count or, with `_ns`, of the term.
        work: whether they ran the same kernels.
    """

    a: Cell
    b: Cell
    delta: dict[str, float]
    work: SameWork

    @property
    def told(self) -> Cell:
        """The cell whose kind and batch are known, where they are of one of the two."""
        return self.b if self.a.batch is None else self.a

    @property
    def assumed(self) -> bool:
        """Whether one trace does not say the batch, and its steps are taken for those of the other's only cell."""
        return self.a.batch != self.b.batch


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two analyses and what they have in common.

    Attributes:
        unpaired: cells that only one of them has, with the side ("a" or "b").
    """

    a: Analysis
    b: Analysis
    pairs: tuple[Pair, ...]
    unpaired: tuple[tuple[str, Cell], ...]


def compare(a: Analysis, b: Analysis, batches: Sequence[int] = (), kind: str | None = None) -> Comparison:
    """Pair the cells of two analyses by kind and batch.

    A trace without ranges does not say its batch. Its one cell is paired with the other's, if that has but one.

    Args:
        batches, kind: cells asked for; all where empty or None.
    """
    cells_a, cells_b = ({(c.kind, c.batch): c for c in cells_of(one) if _asked(c, batches, kind)} for one in (a, b))
    if len(cells_a) == len(cells_b) == 1:
        (one,), (other,) = cells_a.values(), cells_b.values()
        if (one.batch is None) != (other.batch is None):
            return Comparison(a, b, (_pair(a, b, one, other),), ())
    pairs = tuple(_pair(a, b, cell, cells_b[key]) for key, cell in cells_a.items() if key in cells_b)
    alone = [("a", cell) for key, cell in cells_a.items() if key not in cells_b]
    alone += [("b", cell) for key, cell in cells_b.items() if key not in cells_a]
    return Comparison(a, b, pairs, tuple(alone))


def _asked(cell: Cell, batches: Sequence[int], kind: str | None) -> bool:
    """Whether a cell is asked for; one that does not say its batch and kind may be any."""
    if cell.batch is None:
        return kind is None or cell.kind in (kind, "unknown")
    return (not batches or cell.batch in batches) and (kind is None or cell.kind == kind)


def _pair(a: Analysis, b: Analysis, cell_a: Cell, cell_b: Cell) -> Pair:
    delta = {name: cell_a.counts[name].median - cell_b.counts[name].median for name in cell_a.counts}
    delta |= {f"{name}_ns": cell_a.terms[name].median - cell_b.terms[name].median for name in cell_a.terms}
    families = []
    for analysis, cell in ((a, cell_a), (b, cell_b)):
        assert analysis.steps is not None  # a cell exists only where steps do
        families.append(families_in(analysis.trace, analysis.ops, analysis.steps, cell.steps))
    return Pair(cell_a, cell_b, delta, same_work(*families))
