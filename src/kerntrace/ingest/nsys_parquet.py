"""Nsight Systems' export to a directory of Parquet files, one a table: NAME_pqtdir/StringIds.parquet. Room: ingest.

The tables and columns are those of the SQLite export; integers come in several widths, serialised ids as unsigned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kerntrace.errors import UnreadableError
from kerntrace.ingest.nsys_schema import NsysColumn, is_nsys
from kerntrace.ingest.nsys_source import holds_wrong
from kerntrace.ingest.nsys_trace import nsys_trace
from kerntrace.trace.model import Trace

SUFFIX = ".parquet"
_AGAIN = "Export the report again: nsys export -t parquetdir REPORT.nsys-rep."
_BATCH = 1 << 17
_SERIALISED = ("globalTid", "globalPid", "uint64Value")  # all 64 bits are used: kept as they are, whatever their sign


def is_nsys_parquet(path: Path) -> bool:
    """Whether the directory holds tables of an Nsight Systems export."""
    return is_nsys([file.stem for file in path.glob(f"*{SUFFIX}")])


def read_nsys_parquet(path: Path) -> Trace:
    """The trace in a directory that `nsys export -t parquetdir` made.

    Raises:
        UnreadableError: if a file of it is damaged or a table lacks a required column.
    """
    return nsys_trace(ParquetSource(path))


class ParquetSource:
    """The tables in a directory of Parquet files."""

    format = "nsys-parquet"

    def __init__(self, path: Path) -> None:
        self.shown = str(path)
        self._files = {file.stem: file for file in path.glob(f"*{SUFFIX}") if file.is_file()}
        self._schemas: dict[str, Any] = {}

    def tables(self) -> frozenset[str]:
        return frozenset(self._files)

    def columns(self, table: str) -> tuple[str, ...]:
        if table not in self._schemas:
            with self._opened(table) as file:
                self._schemas[table] = file.schema_arrow
        return tuple(self._schemas[table].names)

    def count(self, table: str) -> int:
        with self._opened(table) as file:
            return int(file.metadata.num_rows)

    def read(
        self, table: str, columns: Sequence[NsysColumn], only: tuple[str, Sequence[str]] | None = None
    ) -> Iterator[pa.RecordBatch]:
        with self._opened(table) as file:
            batches = file.iter_batches(batch_size=_BATCH, columns=[c.name for c in columns])
            while (raw := self._next(batches, table)) is not None:
                typed = [self._typed(raw.column(c.name), table, c) for c in columns]
                batch = pa.record_batch(typed, names=[c.name for c in columns])
                yield batch if only is None else _only(batch, only)

    def _next(self, batches: Any, table: str) -> Any:
        try:
            return next(batches, None)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(table, error) from None

    def _opened(self, table: str) -> Any:
        import pyarrow.parquet as pq

        try:
            return pq.ParquetFile(self._files[table])
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(table, error) from None

    def _typed(self, raw: pa.Array, table: str, column: NsysColumn) -> pa.Array:
        kind = raw.type
        if pa.types.is_dictionary(kind):
            raw, kind = raw.dictionary_decode(), kind.value_type
        if pa.types.is_null(kind):
            return raw.cast(pa.binary() if column.is_text else pa.int64())
        is_text = any(is_it(kind) for is_it in _TEXTS)
        if is_text != column.is_text or not (is_text or pa.types.is_integer(kind)):
            raise holds_wrong(self.shown, table, column.name, f"{kind}, not {'text' if column.is_text else 'whole numbers'}")
        try:
            if is_text:
                return raw.cast(pa.binary())
            if pa.types.is_uint64(kind) and column.name in _SERIALISED:
                return pc.cast(raw, pa.int64(), safe=False)
            return raw.cast(pa.int64())
        except pa.ArrowInvalid:
            raise holds_wrong(self.shown, table, column.name, "a number beyond 2^63") from None

    def _damaged(self, table: str, error: Exception) -> UnreadableError:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:160]
        return UnreadableError(f"{self.shown}/{table}{SUFFIX} is damaged: {reason}", _AGAIN)


_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


def _only(batch: pa.RecordBatch, only: tuple[str, Sequence[str]]) -> pa.RecordBatch:
    wanted = pa.array([value.encode() for value in only[1]], pa.binary())
    return batch.filter(pa.array(np.asarray(pc.is_in(batch.column(only[0]), value_set=wanted))))
