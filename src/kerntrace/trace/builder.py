"""The one door into a trace: every recorder and every reader hands its records to a TraceBuilder. Room: trace.

Here, once for all sources: a timestamp of 0/0 is a missing one, an id of 0 is no id, API names lose their version suffix,
launches are told by name, times are counted from the first event, and rows get their one order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kerntrace.errors import UnreadableError
from kerntrace.trace.api_names import function_name, is_driver, is_launch
from kerntrace.trace.manifest import Capture, Environment, Manifest, WorkloadInfo
from kerntrace.trace.model import Trace
from kerntrace.trace.order import in_order, order_of
from kerntrace.trace.schema import TABLES, TableSchema
from kerntrace.trace.table import Ints, Mask, Names, Table

_FAR = 2**60  # ns, 36 years: a time this far from the others is damage, not an event to count from
_TIMES = ("start_ns", "end_ns")


class TraceBuilder:
    """Collects batches of records and turns them into a Trace.

    Args:
        producer: program and version that made the records.
        epoch_ns: CLOCK_REALTIME nanoseconds of the source's time 0; None where it does not say.
        clock: the clock the source's times were read from.
    """

    def __init__(
        self,
        *,
        producer: str,
        epoch_ns: int | None = None,
        clock: str = "unknown",
        environment: Environment | None = None,
        capture: Capture | None = None,
        workload: WorkloadInfo | None = None,
    ) -> None:
        self.producer = producer
        self.epoch_ns = epoch_ns
        self.clock = clock
        self.environment = environment or Environment()
        self.capture = capture or Capture()
        self.workload = workload or WorkloadInfo()
        self._batches: dict[str, list[dict[str, pa.ChunkedArray]]] = {name: [] for name in TABLES}

    def add(self, table: str, columns: Mapping[str, Any]) -> None:
        """Add a batch of rows to a table, times in the source's own nanoseconds.

        Args:
            table: name of the table.
            columns: by column name, an integer NumPy array (masked where null), an Arrow array, `Names`, a list of texts,
                or one value for all rows. Columns left out are null.

        Raises:
            UnreadableError: if a column's values do not fit its type; the message names table and column.
            ValueError: if columns differ in length or are not of the table.
        """
        schema = TABLES[table]
        unknown = set(columns) - set(schema.names)
        if unknown:
            raise ValueError(f"{table} has no column {sorted(unknown)}")
        lengths = {len(v) for v in columns.values() if not _is_scalar(v)}
        if len(lengths) != 1:
            raise ValueError(f"columns of {table} differ in length: {sorted(lengths)}")
        rows = lengths.pop()
        if rows:
            self._batches[table].append(
                {n: _column(table, n, schema.column(n).type, v, rows) for n, v in columns.items() if v is not None}
            )

    def build(self) -> Trace:
        """The trace of everything added. The builder is empty afterwards."""
        columns = {name: _joined(schema, self._batches[name]) for name, schema in TABLES.items()}
        self._batches = {name: [] for name in TABLES}
        for name in ("kernels", "memops"):
            _clean_device_work(columns[name])
        _clean_calls(columns["api_calls"])
        shift = _first_event(columns)
        for table in columns.values():
            for time in _TIMES:
                if time in table:
                    table[time] = _rebased(table[time], shift)
        manifest = Manifest(
            producer=self.producer,
            epoch_ns=None if self.epoch_ns is None else self.epoch_ns + shift,
            clock=self.clock,
            environment=self.environment,
            capture=self.capture,
            workload=self.workload,
        )
        tables = {name: sorted_table(Table.of(schema, columns[name])) for name, schema in TABLES.items()}
        return Trace(manifest, **tables)


def sorted_table(table: Table) -> Table:
    """The table with its rows in the order its schema states; the same object if they are already."""
    if len(table) < 2:
        return table
    table.load(name.lstrip("-") for name in table.schema.order)
    keys = [_key(table, name) for name in table.schema.order]
    return table if in_order(keys) else table.take(order_of(keys))


def _key(table: Table, name: str) -> Ints:
    if name.startswith("-"):  # descending
        return np.negative(_key(table, name[1:]))
    if pa.types.is_dictionary(table.schema.column(name).type):
        names = table.names(name)
        rank = np.empty(len(names.values) + 1, np.int64)
        rank[sorted(range(len(names.values)), key=names.values.__getitem__)] = np.arange(len(names.values))
        rank[-1] = -1
        return rank[names.codes]
    return table.ints(name, null=np.iinfo(np.int64).max if name in _TIMES else -1)


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, (int, str, np.integer))


def _column(table: str, name: str, kind: pa.DataType, value: Any, rows: int) -> pa.ChunkedArray:
    try:
        return _converted(kind, value, rows)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeError) as error:
        reason = str(error).splitlines()[0][:160]
        raise UnreadableError(
            f"column {name} of {table} holds a value that it cannot hold: {reason}", "The file is damaged or not a trace."
        ) from None


def _converted(kind: pa.DataType, value: Any, rows: int) -> pa.ChunkedArray:
    if _is_scalar(value):
        if pa.types.is_dictionary(kind):
            return pa.chunked_array([pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [value])])
        return pa.chunked_array([pa.repeat(pa.scalar(value, kind), rows)])
    if isinstance(value, Names):
        codes = pa.array(value.codes, mask=value.codes < 0)
        return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, pa.array(value.values, pa.string()))])
    if isinstance(value, np.ma.MaskedArray):
        value = pa.array(np.asarray(value.data), mask=np.ma.getmaskarray(value))
    elif isinstance(value, np.ndarray):
        value = pa.array(value.view(np.int64) if value.dtype == np.uint64 else value)
    elif not isinstance(value, (pa.Array, pa.ChunkedArray)):
        value = pa.array(value, pa.string() if pa.types.is_dictionary(kind) else kind)
    if not isinstance(value, pa.ChunkedArray):
        value = pa.chunked_array([value])
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(value.type):
        value = value.cast(pa.string()).dictionary_encode()
    return value.cast(kind)


def _joined(schema: TableSchema, batches: list[dict[str, pa.ChunkedArray]]) -> dict[str, pa.ChunkedArray]:
    """Batches end to end; a column that a batch lacks is null there."""
    joined = {}
    for column in schema.columns:
        chunks: list[pa.Array] = []
        for batch in batches:
            present = batch.get(column.name)
            rows = len(next(iter(batch.values())))
            chunks += present.chunks if present is not None else [pa.nulls(rows, column.type)]
        joined[column.name] = pa.chunked_array(chunks, column.type)
    return joined


def _clean_device_work(columns: dict[str, pa.ChunkedArray]) -> None:
    start, end = (np.asarray(pc.fill_null(columns[t], 0).to_numpy()) for t in _TIMES)
    missing = pa.array((start == 0) & (end == 0))
    for time in _TIMES:
        columns[time] = _null_where(columns[time], missing)
    for name in ("correlation_id", "graph_id", "graph_node_id"):
        columns[name] = _null_where(columns[name], pc.equal(columns[name], 0))


def _clean_calls(columns: dict[str, pa.ChunkedArray]) -> None:
    columns["correlation_id"] = _null_where(columns["correlation_id"], pc.equal(columns["correlation_id"], 0))
    if not len(columns["name"]):
        return
    table = Table.of(TABLES["api_calls"], columns)
    recorded = table.names("name")
    functions: dict[str, int] = {}
    recode = [functions.setdefault(function_name(value), len(functions)) for value in recorded.values]
    codes = np.array([*recode, -1], np.int32)[recorded.codes]
    names = Names(codes, tuple(functions))
    columns["name"] = _converted(TABLES["api_calls"].column("name").type, names, len(codes))
    columns["is_launch"] = pa.chunked_array([pa.array(names.where(is_launch))])
    if columns["domain"].null_count:
        told = Names(names.where(is_driver).astype(np.int32), ("runtime", "driver"))
        named = _converted(TABLES["api_calls"].column("domain").type, told, len(codes))
        columns["domain"] = pc.if_else(
            pc.is_valid(columns["domain"]), columns["domain"].cast(pa.string()), named.cast(pa.string())
        )
        columns["domain"] = columns["domain"].dictionary_encode().cast(TABLES["api_calls"].column("domain").type)


def _null_where(column: pa.ChunkedArray, condition: Any) -> pa.ChunkedArray:
    if not pc.any(condition).as_py():
        return column
    return pc.if_else(condition, pa.scalar(None, column.type), column)


def _first_event(columns: dict[str, dict[str, pa.ChunkedArray]]) -> int:
    starts = [np.asarray(table["start_ns"].drop_null().to_numpy()) for table in columns.values() if "start_ns" in table]
    whole = np.concatenate(starts) if starts else np.zeros(0, np.int64)
    if not len(whole):
        return 0
    near: Mask = np.abs(whole.astype(np.float64) - float(np.median(whole))) < _FAR
    return int(whole[near].min()) if near.any() else 0


def _rebased(column: pa.ChunkedArray, shift: int) -> pa.ChunkedArray:
    """Times counted from `shift`; one that would leave int64 stays at its end, for the integrity rules to find."""
    valid = pc.is_valid(column)
    times = np.asarray(pc.fill_null(column, 0).to_numpy())
    limits = np.iinfo(np.int64)
    if shift >= 0:
        moved = np.where(times < limits.min + shift, limits.min, times - np.int64(shift))
    else:
        moved = np.where(times > limits.max + shift, limits.max, times - np.int64(shift))
    mask = None if not column.null_count else ~np.asarray(valid.to_numpy(), dtype=bool)
    return pa.chunked_array([pa.array(moved, mask=mask)])
