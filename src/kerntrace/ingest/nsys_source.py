"""Where the tables of an Nsight Systems export come from, and what is checked whichever its file format. Room: ingest."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kerntrace.errors import UnreadableError
from kerntrace.ingest.nsys_schema import NsysColumn, NsysTable, actual_name
from kerntrace.trace.table import Ints

AGAIN = "Export the report again: nsys export -t sqlite REPORT.nsys-rep."


class NsysSource(Protocol):
    """The tables of one export. Attributes: `shown`, how messages call it, and `format`, e.g. `nsys-sqlite`."""

    shown: str
    format: str

    def tables(self) -> Collection[str]:
        """The names of the tables that are there."""

    def columns(self, table: str) -> Collection[str]:
        """The names of a table's columns."""

    def count(self, table: str) -> int:
        """How many rows a table has."""

    def read(
        self, table: str, columns: Sequence[NsysColumn], only: tuple[str, Sequence[str]] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Rows in batches: integer columns as int64, text columns as bytes that need not be UTF-8.

        Args:
            only: a text column, and the values of it whose rows are wanted; no other row leaves the file.

        Raises:
            UnreadableError: if a value is of another type or the file is damaged; the message names table and column.
        """


@dataclass(frozen=True, slots=True)
class Rows:
    """A batch of rows of one table."""

    batch: pa.RecordBatch

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def __contains__(self, column: str) -> bool:
        return column in self.batch.schema.names

    def get(self, column: str) -> Any:
        """The column as an Arrow array; None where the export does not have it."""
        return self.batch.column(column) if column in self else None

    def ints(self, column: str, null: int) -> Ints:
        """An integer column as int64, `null` in place of nulls and everywhere if the export does not have it."""
        if column not in self:
            return np.full(len(self), null, np.int64)
        array = self.batch.column(column)
        if array.null_count:
            array = pc.fill_null(array, null)
        return np.asarray(array.to_numpy(zero_copy_only=False), np.int64)


def read_rows(source: NsysSource, table: NsysTable) -> Iterator[Rows]:
    """The table's rows in batches; none where the export lacks the table.

    Raises:
        UnreadableError: if a required column is missing, or a value is not what the column holds.
    """
    name = actual_name(table, source.tables())
    if name is None:
        return
    columns = _present(source, table, name)
    if not columns:
        return
    filled = [c.name for c in columns if c.filled]
    for batch in source.read(name, columns):
        for column in filled:
            if batch.column(column).null_count:
                raise holds_wrong(source.shown, name, column, "no value in some row")
        yield Rows(batch)


def facts(source: NsysSource, table: NsysTable, names: Sequence[str]) -> dict[str, str]:
    """Of a table of names and values, those named; nothing else of it is read."""
    name = actual_name(table, source.tables())
    if name is None or not {"name", "value"} <= set(source.columns(name)):
        return {}
    found: dict[str, str] = {}
    for batch in source.read(name, table.columns, only=("name", names)):
        for key, value in zip(batch.column("name").to_pylist(), batch.column("value").to_pylist()):
            if key is not None and value is not None:
                found.setdefault(text_of(key), text_of(value))
    return found


def count_rows(source: NsysSource, table: NsysTable) -> int:
    """How many rows the table has; 0 where the export lacks it."""
    name = actual_name(table, source.tables())
    return 0 if name is None else source.count(name)


def text_of(raw: bytes) -> str:
    """Text from a file that promises UTF-8 and need not keep it."""
    return raw.decode("utf-8", "replace")


def utf8(raw: pa.Array) -> pa.Array:
    """An array of bytes as text; bytes that are not UTF-8 become U+FFFD."""
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if value is None else text_of(value) for value in raw.to_pylist()], pa.string())


def holds_wrong(shown: str, table: str, column: str, what: str) -> UnreadableError:
    """The error for a column that holds `what` it cannot hold."""
    return UnreadableError(f"{shown}: column {column} of {table} holds {what}", f"The file is damaged or was edited. {AGAIN}")


def _present(source: NsysSource, table: NsysTable, name: str) -> list[NsysColumn]:
    there = set(source.columns(name))
    for column in table.columns:
        if column.required and column.name not in there:
            raise _lacks(source.shown, name, column.name)
    if table.one_of and not there & set(table.one_of):
        raise _lacks(source.shown, name, " or ".join(table.one_of))
    return [column for column in table.columns if column.name in there]


def _lacks(shown: str, table: str, column: str) -> UnreadableError:
    return UnreadableError(f"{shown}: {table} has no column {column}", f"Without it the trace cannot be read. {AGAIN}")
