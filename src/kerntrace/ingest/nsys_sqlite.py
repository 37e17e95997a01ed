"""Nsight Systems' SQLite export, read through ADBC into Arrow batches. Room: ingest.

SQLite lets any value stand in any column and ADBC takes a column's type from its first batch. So text columns are cast to text
and never null as they come out, integer columns have to come out as int64 or are told by name, and every scan is of the table
itself (no index, no view), bounded by what a file of its size can hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from kerntrace.errors import UnreadableError
from kerntrace.ingest.nsys_schema import NsysColumn
from kerntrace.ingest.nsys_source import AGAIN, holds_wrong, text_of
from kerntrace.ingest.nsys_trace import nsys_trace
from kerntrace.ingest.sqlite_file import at_rest
from kerntrace.trace.model import Trace

_BATCH = 1 << 17
_TEXT_BATCH = 1 << 14  # rows with text may be long
_ROW_BYTES = 5  # the least that a row takes in the file, beside a byte a column: its place, length, id and header
_TEXT_GROWTH = 8  # and the most that text and its place in an Arrow array take, against the same in the file


def read_nsys_sqlite(path: Path, *, shown: str | None = None, verify: bool = False) -> Trace:
    """The trace in an SQLite file that `nsys export -t sqlite` made, of any version.

    Args:
        shown: how messages call the file, if not by its path.
        verify: first have SQLite check every page of the file.

    Raises:
        UnreadableError: if the file is damaged, is not an nsys export, or lacks a required column.
    """
    shown = shown or str(path)
    with at_rest(path, shown) as uri:
        source = SqliteSource(uri, shown, path.stat().st_size)
        if verify:
            source.check_pages()
        return nsys_trace(source)


class SqliteSource:
    """The tables of an SQLite file. Each query has a connection of its own, so that two tables can be read at once.

    Args:
        uri: the file's, for SQLite.
        shown: how messages call the file.
        file_bytes: the file's size.
    """

    format = "nsys-sqlite"

    def __init__(self, uri: str, shown: str, file_bytes: int) -> None:
        self.shown = shown
        self._uri = uri
        self._file_bytes = file_bytes
        self._columns: dict[str, tuple[str, ...]] = {}
        real = "schema = 'main' AND type = 'table'"  # by what SQLite takes it for: a view or a virtual table could do anything
        self._tables = frozenset(self._texts(f"SELECT ifnull(CAST(name AS TEXT), '') FROM pragma_table_list WHERE {real}"))

    def tables(self) -> frozenset[str]:
        return self._tables

    def columns(self, table: str) -> tuple[str, ...]:
        if table not in self._columns:
            sql = f"SELECT ifnull(CAST(name AS TEXT), '') FROM pragma_table_info({_quoted(table)})"
            self._columns[table] = tuple(self._texts(sql))
        return self._columns[table]

    def count(self, table: str) -> int:
        batches = self._batches(f"SELECT count(*) FROM {_name(table)} NOT INDEXED", 1)
        return int(next(iter(batches)).column(0)[0].as_py())

    def check_pages(self) -> None:
        """
        Raises:
            UnreadableError: if SQLite finds a page that is not as it should be.
        """
        found = self._texts("SELECT ifnull(CAST(quick_check AS TEXT), '') FROM pragma_quick_check")
        if found != ["ok"]:
            raise UnreadableError(f"{self.shown} is damaged: {' '.join(found).split(chr(10))[-1][:160]}", AGAIN)

    def read(
        self, table: str, columns: Sequence[NsysColumn], only: tuple[str, Sequence[str]] | None = None
    ) -> Iterator[pa.RecordBatch]:
        where = f" WHERE {_name(only[0])} IN ({', '.join(map(_quoted, only[1]))})" if only else ""
        terms = [term for column in columns for term in _terms(column)]
        sql = f"SELECT {', '.join(terms)} FROM {_name(table)} NOT INDEXED{where}"
        rows = text_bytes = 0
        for raw in self._batches(sql, _TEXT_BATCH if any(c.is_text for c in columns) else _BATCH, table, columns):
            if raw.num_rows:
                batch = self._typed(raw, table, columns)
                rows += batch.num_rows
                text_bytes += sum(batch.column(c.name).nbytes for c in columns if c.is_text)
                self._bound(table, rows * (_ROW_BYTES + len(columns)), text_bytes)
                yield batch

    def _bound(self, table: str, row_bytes: int, text_bytes: int) -> None:
        """Pages that refer to each other in a circle, or many rows to one text, would never end or fill the memory."""
        if max(row_bytes, text_bytes // _TEXT_GROWTH) > self._file_bytes:
            raise self._damaged(f"{table} yields more than a file of {self._file_bytes} bytes can hold")

    def _typed(self, raw: pa.RecordBatch, table: str, columns: Sequence[NsysColumn]) -> pa.RecordBatch:
        arrays, place = [], 0
        for column in columns:
            if column.is_text:
                is_null, text = raw.column(place), raw.column(place + 1)
                arrays.append(_with_nulls(text.cast(pa.binary()), is_null))
            elif raw.schema.field(place).type != pa.int64():
                raise self._wrong(table, column.name, str(raw.schema.field(place).type))
            else:
                arrays.append(raw.column(place))
            place += len(_terms(column))
        return pa.record_batch(arrays, names=[c.name for c in columns])

    def _wrong(self, table: str, column: str, found: str) -> UnreadableError:
        return holds_wrong(self.shown, table, column, f"{_FOUND.get(found, found)} where a whole number belongs")

    def _texts(self, sql: str) -> list[str]:
        return [text_of(value) for batch in self._batches(sql, _TEXT_BATCH) for value in _bytes(batch.column(0))]

    def _batches(
        self, sql: str, batch_rows: int, table: str = "", columns: Sequence[NsysColumn] = ()
    ) -> Iterator[pa.RecordBatch]:
        import adbc_driver_manager

        try:
            with _connected(self._uri, self.shown) as connection, _statement(connection) as statement:
                statement.set_options(**{"adbc.sqlite.query.batch_rows": str(batch_rows)})
                statement.set_sql_query(sql)
                stream, _ = statement.execute_query()
                with closing(pa.RecordBatchReader.from_stream(stream)) as batches:
                    yield from batches
        except (adbc_driver_manager.Error, OSError, pa.ArrowException, UnicodeError) as error:
            raise self._told(str(error), table, columns) from None

    def _told(self, message: str, table: str, columns: Sequence[NsysColumn]) -> UnreadableError:
        mismatch = re.search(r"Type mismatch in column (\d+): expected (\w+) but got (\S+)", message)
        if mismatch and table:
            places = [column.name for column in columns for _ in _terms(column)]
            found = mismatch[3] if mismatch[2] == "INT64" else mismatch[2]
            return self._wrong(table, places[int(mismatch[1])], found.lower())
        reason = re.sub(r"^(\w+: )?(\[SQLite\] )?(Failed to \w+ \w+: )?", "", message.partition("\n")[0])[:160]
        return self._damaged(reason if reason != "(unknown error)" else "SQLite cannot read it to the end")

    def _damaged(self, reason: str) -> UnreadableError:
        return UnreadableError(f"{self.shown} is damaged: {reason}", AGAIN)


_FOUND = {"string": "text", "string/binary": "text", "binary": "text", "blob": "text", "double": "a fraction"}


@contextmanager
def _connected(uri: str, shown: str) -> Iterator[Any]:
    import adbc_driver_manager
    import adbc_driver_sqlite

    with closing(adbc_driver_sqlite.connect(uri)) as database:
        try:
            connection = adbc_driver_manager.AdbcConnection(database)
        except adbc_driver_manager.Error as error:
            raise UnreadableError(f"{shown} cannot be opened by SQLite", AGAIN) from error
        with closing(connection):
            yield connection


@contextmanager
def _statement(connection: Any) -> Iterator[Any]:
    import adbc_driver_manager

    statement = adbc_driver_manager.AdbcStatement(connection)
    try:
        yield statement
    except BaseException:
        with suppress(adbc_driver_manager.Error):  # closing says once more what reading said
            statement.close()
        raise
    statement.close()


def _name(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _terms(column: NsysColumn) -> tuple[str, ...]:
    """The terms of a SELECT that bring a column out with one certain type."""
    name = _name(column.name)
    return (f"{name} IS NULL", f"ifnull(CAST({name} AS TEXT), '')") if column.is_text else (name,)


def _with_nulls(text: pa.Array, is_null: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(is_null, 1), pa.scalar(None, text.type), text)


def _bytes(text: pa.Array) -> list[bytes]:
    values: list[bytes] = text.cast(pa.binary()).to_pylist()
    return values
