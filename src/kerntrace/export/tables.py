"""The tables of a trace and the step ledger as Parquet or CSV files in a directory, for pandas, DuckDB and spreadsheets.

Room: export. Times are the trace's own, in ns.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from kerntrace.accounting.analysis import Analysis
from kerntrace.accounting.ledger import GAP_TERMS
from kerntrace.export.clean import cell
from kerntrace.export.findings import Findings
from kerntrace.export.stretches import Stretches
from kerntrace.steps.names import KINDS, UNKNOWN
from kerntrace.trace.model import Trace
from kerntrace.trace.schema import TABLES, TEXT
from kerntrace.trace.table import Ints, Names

FOUND = ("steps", "gaps", "phases")
NAMES = (*TABLES, *FOUND)


def write_parquet(trace: Trace, findings: Findings, analysis: Analysis, folder: Path) -> None:
    """A file a table in a folder that is there: NAME.parquet."""
    import pyarrow.parquet as pq

    for name, table in _tables(trace, findings, analysis).items():
        with (folder / f"{name}.parquet").open("wb") as file:  # a path that is no UTF-8 is more than Arrow takes
            pq.write_table(table, file, compression="zstd")


def write_csv(trace: Trace, findings: Findings, analysis: Analysis, folder: Path) -> None:
    """A file a table in a folder that is there: NAME.csv. Null is an empty cell."""
    from pyarrow import csv

    for name, table in _tables(trace, findings, analysis).items():
        with (folder / f"{name}.csv").open("wb") as file:
            csv.write_csv(_as_cells(table), file)


def _tables(trace: Trace, findings: Findings, analysis: Analysis) -> dict[str, pa.Table]:
    """Every table; those of the analysis only where there is one."""
    tables = {name: table.arrow_table().replace_schema_metadata(None) for name, table in trace.tables().items()}
    if findings.reason:
        return tables
    found = {name: _stretches(getattr(findings, name), column) for name, column in (("gaps", "cause"), ("phases", "phase"))}
    return tables | {"steps": _ledger(findings, analysis)} | found


def _ledger(findings: Findings, analysis: Analysis) -> pa.Table:
    """A row a step: what `kerntrace steps` shows. An open window's terms go to its own last operation's end."""
    steps, ledger = analysis.steps, analysis.ledger
    assert steps is not None  # where it has none, there is a reason
    assert ledger is not None
    rows, said = findings.steps.step, steps.boundaries
    columns = {
        "step": pa.array(rows),
        "kind": pa.array([KINDS[kind] for kind in said.kind[rows].tolist()], pa.string()),
        "batch": _known(said.batch[rows]),
        "prefill_tokens": _known(said.prefill_tokens[rows]),
        "steady": pa.array(analysis.steady[rows]),
        "complete": pa.array(steps.complete[rows]),
        "kernels": pa.array(steps.kernels[rows]),
        "launches": pa.array(steps.launches[rows]),
        "graph_launches": pa.array(steps.graph_launches[rows]),
        "window_begin_ns": pa.array(findings.steps.start),
        "window_end_ns": pa.array(findings.steps.end),
        **{f"{name}_ns": pa.array(value) for name, value in findings.account.items()},
        "overlap_ns": pa.array(ledger.overlap[rows]),
    }
    for side, terms in (("within", ledger.within), ("between", ledger.between)):
        columns |= {f"{side}_{name}_ns": pa.array(terms[name][rows]) for name in GAP_TERMS}
    return pa.table(columns)


def _known(values: Ints) -> pa.Array:
    return pa.array(values, mask=values == UNKNOWN)


def _stretches(found: Stretches, column: str) -> pa.Table:
    times = {"start_ns": pa.array(found.start), "end_ns": pa.array(found.end)}
    return pa.table({"step": pa.array(found.step), column: _texts(found.name), **times})


def _texts(names: Names) -> pa.Array:
    codes = np.asarray(names.codes, np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(names.values, pa.string()))


def _as_cells(table: pa.Table) -> pa.Table:
    """The table with every text fit for a cell."""
    for place, field in enumerate(table.schema):
        if field.type in (TEXT, pa.string()):
            column = table.column(place).cast(pa.string()).combine_chunks().dictionary_encode()
            column = pa.chunked_array([column]) if not isinstance(column, pa.ChunkedArray) else column
            chunks = [_cells(chunk) for chunk in column.unify_dictionaries().chunks]
            table = table.set_column(place, field.name, pa.chunked_array(chunks, pa.string()))
    return table


def _cells(chunk: pa.DictionaryArray) -> pa.Array:
    return pa.array([cell(value) for value in chunk.dictionary.to_pylist()], pa.string()).take(chunk.indices)
