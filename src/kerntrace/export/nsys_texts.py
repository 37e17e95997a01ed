"""StringIds: every text once, by number. Room: export."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kerntrace.export.clean import without_nul
from kerntrace.trace.table import Names

UNNAMED = "(unnamed)"


class Texts:
    """The texts of an export. Ids count from 1."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def id(self, text: str) -> int:
        return self._ids.setdefault(without_nul(text), len(self._ids) + 1)

    def ids(self, names: Names, form: Callable[[str], str] = str) -> np.ma.MaskedArray:
        """The id of each row's text, masked where it is null.

        Args:
            form: what to make of each distinct text.
        """
        used = np.zeros(len(names.values) + 1, bool)
        used[names.codes] = True  # the last place is that of nulls
        number = np.zeros(len(used), np.int64)
        for code in np.flatnonzero(used[:-1]).tolist():
            number[code] = self.id(form(names.values[code]))
        return np.ma.array(number[names.codes], mask=names.codes < 0)

    def rows(self) -> dict[str, list[int] | list[str]]:
        """The columns of StringIds."""
        return {"id": list(self._ids.values()), "value": list(self._ids)}
