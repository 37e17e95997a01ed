"""One table of a trace in memory: columns, loaded when first asked for, seen as NumPy arrays. Room: trace.

Columns are Arrow arrays underneath, which know nulls and dictionaries; analysis asks for plain arrays and, where nulls matter,
for the mask beside them. Nothing here changes a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kerntrace.trace.schema import TableSchema, arrow_schema

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Loader = Callable[[list[str]], Mapping[str, pa.ChunkedArray]]


@dataclass(frozen=True, slots=True)
class Names:
    """A text column: `values[codes[i]]` is row i's text; code -1 stands for null."""

    codes: npt.NDArray[np.int32]
    values: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def text(self, row: int) -> str | None:
        code = int(self.codes[row])
        return None if code < 0 else self.values[code]

    def where(self, predicate: Callable[[str], bool]) -> Mask:
        """Rows whose text fulfils the predicate; it is asked once for each distinct text. Null rows do not."""
        chosen = np.array([predicate(value) for value in self.values] + [False], dtype=bool)
        return chosen[self.codes]


def distinct(values: npt.NDArray[np.integer]) -> Ints:
    """The distinct values, ascending. Nearly every process and device column holds one value, which is told at once."""
    if len(values) and values.min() == values.max():
        return values[:1].astype(np.int64)
    return np.unique(values).astype(np.int64)


class Table:
    """Rows of one kind. Columns that the source did not have are there, all null.

    Args:
        schema: what the columns are.
        rows: how many rows there are.
        load: returns the named columns, each of `rows` values and of its schema type; called at most once a column.
    """

    def __init__(self, schema: TableSchema, rows: int, load: Loader) -> None:
        self.schema = schema
        self.rows = rows
        self._load = load
        self._arrow: dict[str, pa.ChunkedArray] = {}
        self._views: dict[tuple[str, str], Any] = {}

    @classmethod
    def of(cls, schema: TableSchema, columns: Mapping[str, pa.ChunkedArray]) -> Table:
        """A table of columns already in memory."""
        rows = len(next(iter(columns.values()))) if columns else 0
        return cls(schema, rows, lambda names: {n: columns[n] for n in names if n in columns})

    @classmethod
    def empty(cls, schema: TableSchema) -> Table:
        return cls(schema, 0, lambda names: {})

    def __len__(self) -> int:
        return self.rows

    def load(self, names: Iterable[str]) -> None:
        """Read several columns at once, which is faster than one by one."""
        wanted = [n for n in names if n not in self._arrow]
        if not wanted:
            return
        found = self._load(wanted)
        for name in wanted:
            column = found.get(name)
            if column is None:
                column = pa.chunked_array([pa.nulls(self.rows, self.schema.column(name).type)])
            self._arrow[name] = column

    def arrow(self, name: str) -> pa.ChunkedArray:
        self.load([name])
        return self._arrow[name]

    def ints(self, name: str, null: int = 0) -> Ints:
        """An integer column of its own width (int32 or int64), with `null` in place of nulls."""

        def view() -> Any:
            column = self.arrow(name)
            if column.null_count:
                column = pc.fill_null(column, pa.scalar(null, column.type))
            return _numpy(column)

        return self._view(name, f"ints{null}", view)  # type: ignore[no-any-return]

    def mask(self, name: str) -> Mask:
        """A boolean column; null is False."""
        return self._view(  # type: ignore[no-any-return]
            name, "mask", lambda: _numpy(pc.fill_null(self.arrow(name), False)) if self.rows else np.zeros(0, bool)
        )

    def valid(self, name: str) -> Mask:
        """Where the column is not null."""

        def view() -> Mask:
            column = self.arrow(name)
            if not column.null_count:
                return np.ones(self.rows, dtype=bool)
            return np.asarray(_numpy(pc.is_valid(column)), dtype=bool)

        return self._view(name, "valid", view)  # type: ignore[no-any-return]

    def has(self, name: str) -> bool:
        """Whether any row has a value in this column."""
        return bool(self.rows) and self.arrow(name).null_count < self.rows

    def names(self, name: str) -> Names:
        """A text column as codes and distinct texts."""
        return self._view(name, "names", lambda: _names(self.arrow(name)))  # type: ignore[no-any-return]

    def where(self, keep: Mask) -> Table:
        """The rows for which `keep` is True, in the same order."""
        return self.take(np.flatnonzero(keep))

    def take(self, rows: npt.NDArray[np.intp]) -> Table:
        """These rows, in this order."""
        indices = pa.array(rows)

        def load(names: list[str]) -> Mapping[str, pa.ChunkedArray]:
            self.load(names)
            return {n: self._arrow[n].take(indices) for n in names}

        return Table(self.schema, len(rows), load)

    def arrow_table(self) -> pa.Table:
        """Every column, as an Arrow table of the schema."""
        self.load(self.schema.names)
        return pa.table([self._arrow[n] for n in self.schema.names], schema=arrow_schema(self.schema))

    def _view(self, name: str, kind: str, make: Callable[[], Any]) -> Any:
        key = name, kind
        if key not in self._views:
            self._views[key] = make()
        return self._views[key]


def _numpy(column: pa.ChunkedArray) -> Any:
    if column.num_chunks == 1:
        return column.chunk(0).to_numpy(zero_copy_only=False)
    return column.to_numpy()


def _names(column: pa.ChunkedArray) -> Names:
    if not len(column):
        return Names(np.zeros(0, np.int32), ())
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # pyarrow keeps an empty or oversized column chunked
        whole = pa.concat_arrays(whole.chunks)
    codes = whole.indices
    if codes.null_count:
        codes = pc.fill_null(codes, -1)
    return Names(np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int32), tuple(whole.dictionary.to_pylist()))
