"""The tables as Parquet and CSV."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.export.roundtrip import exported, rows
from tests.support.bundles import HOSTILE, hostile_run
from tests.support.recording import decode_run

from kerntrace.accounting.analysis import Question, analyse
from kerntrace.accounting.ledger import GAP_TERMS
from kerntrace.trace.model import Trace


def folder(trace: Trace, name: str, path: Path) -> Path:
    path.mkdir()
    return exported(trace, name, path)


def test_parquet_holds_the_tables_and_the_ledger(tmp_path: Path) -> None:
    trace = decode_run(graph=True, batches=(1, 4)).build()
    made = folder(trace, "parquet", tmp_path / "out")
    assert {name: pq.read_table(made / f"{name}.parquet").to_pylist() for name in trace.tables()} == rows(trace)
    ledger = analyse(trace, Question()).ledger
    assert ledger is not None
    steps = pq.read_table(made / "steps.parquet").to_pydict()
    assert steps["step"] == list(range(len(ledger.wall)))
    assert steps["busy_ns"] == ledger.busy.tolist()
    for row in pq.read_table(made / "steps.parquet").to_pylist():
        assert row["wall_ns"] == row["busy_ns"] + sum(row[f"{name}_ns"] for name in GAP_TERMS)
        assert all(row[f"{n}_ns"] == row[f"within_{n}_ns"] + row[f"between_{n}_ns"] for n in GAP_TERMS)
    gaps = pq.read_table(made / "gaps.parquet").to_pylist()
    assert sum(g["end_ns"] - g["start_ns"] for g in gaps if g["cause"] == "host_wait") == int(ledger.term("host_wait").sum())


@pytest.mark.parametrize("name", ["parquet", "csv"])
def test_a_refused_trace_has_its_tables_only(name: str, tmp_path: Path) -> None:
    made = folder(decode_run().build(dropped_records=3), name, tmp_path / "out")
    assert {file.stem for file in made.iterdir()} == {"kernels", "memops", "api_calls", "ranges", "overheads", "walls"}


def test_csv_cells_are_no_formulas_and_names_are_whole(tmp_path: Path) -> None:
    play = hostile_run()
    play.launch("nul\0", 5)
    made = folder(play.build(), "csv", tmp_path / "out")
    csv.field_size_limit(10_000_000)
    with (made / "kernels.csv").open(newline="") as file:
        names = {row["name"] for row in csv.DictReader(file)}
    expected = {f"'{name}" if name.startswith("=") else name for name in HOSTILE}
    assert names == {*expected, "nul\N{REPLACEMENT CHARACTER}"}


def test_parquet_names_are_as_they_were(tmp_path: Path) -> None:
    made = folder(hostile_run().build(), "parquet", tmp_path / "out")
    assert set(pq.read_table(made / "kernels.parquet").column("name").to_pylist()) == set(HOSTILE)


def test_duckdb_answers_from_them(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    trace = decode_run().build()
    made = folder(trace, "parquet", tmp_path / "out")
    sql = f"SELECT name, count(*) FROM '{made}/kernels.parquet' GROUP BY name ORDER BY 2 DESC LIMIT 1"
    assert duckdb.sql(sql).fetchall()[0][1] == 19  # six steps of three layers, and the prefill's one
