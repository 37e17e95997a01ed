"""An SQLite file with the tables of an Nsight Systems export, filled column by column through ADBC. Room: export."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from kerntrace.export.nsys_tables import ENUMS, create_statements
from kerntrace.trace.table import Mask

_ROWS = 1 << 17


class NsysFile:
    """The file while it is being written. On leaving, it is complete and at rest: no journal, no log beside it."""

    def __init__(self, path: Path) -> None:
        from adbc_driver_sqlite import dbapi

        self._connection = dbapi.connect(f"file:{quote(os.fsencode(path.absolute()))}", autocommit=True)
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "encoding = 'UTF-8'"):
            self._run(f"PRAGMA {pragma}")
        self._run("BEGIN")
        for statement in create_statements():
            self._run(statement)
        for table, rows in ENUMS.items():
            self.rows(table, dict(zip(("id", "name", "label"), map(list, zip(*rows)))))

    def __enter__(self) -> NsysFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._run("COMMIT")
        finally:
            self._connection.close()

    def add(self, table: str, columns: Mapping[str, Any], rows: int, only: Mask | None = None) -> None:
        """Add rows to a table.

        Args:
            columns: by name: an array of integers (masked where null), an Arrow array, or one value for all rows.
            rows: how many rows the columns have.
            only: the rows to add, if not all.
        """
        chosen = None if only is None or only.all() else np.flatnonzero(only)
        count = rows if chosen is None else len(chosen)
        for low in range(0, count, _ROWS):
            part: Any = slice(low, low + _ROWS) if chosen is None else chosen[low : low + _ROWS]
            size = min(_ROWS, count - low)
            self._ingest(table, {name: _part(value, part, size) for name, value in columns.items()})

    def rows(self, table: str, columns: Mapping[str, list[Any]]) -> None:
        """Add rows given as lists of texts and integers; columns of nothing but None are left out."""
        kept = {name: values for name, values in columns.items() if any(value is not None for value in values)}
        if kept:
            self._ingest(table, {name: pa.array(values) for name, values in kept.items()})

    def _ingest(self, table: str, columns: Mapping[str, pa.Array]) -> None:
        with _said_plainly(), closing(self._connection.cursor()) as cursor:
            cursor.adbc_ingest(table, pa.table(dict(columns)), mode="append")

    def _run(self, statement: str) -> None:
        with _said_plainly(), closing(self._connection.cursor()) as cursor:
            cursor.execute(statement)


@contextmanager
def _said_plainly() -> Iterator[None]:
    """Errors of ADBC as what they are: Ctrl-C, which it tells as a statement that cannot be cancelled, or no room to write.

    Raises:
        KeyboardInterrupt: if the user interrupted a statement.
        OSError: if the file cannot be written.
    """
    from adbc_driver_manager import Error

    try:
        yield
    except Error as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        if "disk is full" in str(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        if "disk I/O error" in str(error):
            raise OSError(errno.EIO, os.strerror(errno.EIO)) from None
        raise


def _part(value: Any, part: Any, size: int) -> pa.Array:
    if isinstance(value, (int, np.integer)):
        return pa.repeat(pa.scalar(int(value), pa.int64()), size)
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        taken = value.take(pa.array(np.arange(len(value))[part]))
        return taken.cast(pa.string()) if pa.types.is_dictionary(taken.type) else taken
    if isinstance(value, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(value)[part]
        return pa.array(np.asarray(value.data)[part].astype(np.int64), mask=mask if mask.any() else None)
    return pa.array(np.asarray(value)[part].astype(np.int64, copy=False))
