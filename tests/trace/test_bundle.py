"""NAME.ktrace on disk: written whole or not at all, read only if it is what it says it is."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.recording import decode_run
from tests.trace.make_frozen import frozen

from kerntrace.accounting.analysis import Question, analyse
from kerntrace.accounting.summary import phases_of
from kerntrace.errors import KerntraceError, UnreadableError, UsageError
from kerntrace.report.step_rows import step_rows
from kerntrace.trace import bundle
from kerntrace.trace.builder import sorted_table
from kerntrace.trace.bundle import is_bundle, read_bundle, write_bundle
from kerntrace.trace.manifest import Capture, Environment, Manifest
from kerntrace.trace.migrate import migrate
from kerntrace.trace.model import Trace
from kerntrace.trace.schema import FORMAT_MAJOR, TABLES, TEXT, TableSchema
from kerntrace.trace.table import Table

FROZEN = Path(__file__).parent / "frozen-1.0.ktrace"


def contents(trace: Trace) -> dict[str, list[dict[str, Any]]]:
    return {name: table.arrow_table().to_pylist() for name, table in trace.tables().items()}


def read_whole(path: Path) -> None:
    """Open a bundle and look at everything in it, as columns are read late."""
    trace = read_bundle(path)
    for table in trace.tables().values():
        for column in table.schema.columns:
            table.names(column.name) if column.type == TEXT else table.valid(column.name)


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    raw = json.loads((path / "manifest.json").read_bytes())
    change(raw)
    (path / "manifest.json").write_text(json.dumps(raw))


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "a.ktrace"
    write_bundle(decode_run(steps=2).build(), path)
    return path


# ---- there and back


def _values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if kind == TEXT:
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
            ["", "\0", "a\nb", "<b>", "\u202e"]
        )
    if kind == pa.bool_():
        return st.booleans()
    limit = 2**31 if kind == pa.int32() else 2**63
    return st.integers(-limit, limit - 1) | st.sampled_from([-limit, limit - 1, 0, -1])


def tables(schema: TableSchema) -> st.SearchStrategy[Table]:
    row = st.tuples(*[st.none() | _values(c.type) for c in schema.columns])
    columns = st.lists(row, max_size=4).map(lambda rows: list(zip(*rows)) or [()] * len(schema.columns))

    def made(values: list[tuple[Any, ...]]) -> Table:
        arrays = [
            pa.array(v, pa.string()).dictionary_encode().cast(TEXT) if c.type == TEXT else pa.array(v, c.type)
            for c, v in zip(schema.columns, values)
        ]
        return sorted_table(Table.of(schema, {c.name: pa.chunked_array([a]) for c, a in zip(schema.columns, arrays)}))

    return columns.map(made)


@settings(max_examples=settings().max_examples // 4)
@given(st.fixed_dictionaries({name: tables(schema) for name, schema in TABLES.items()}))
def test_any_table_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, random: dict[str, Table]) -> None:
    trace = Trace(Manifest(epoch_ns=2**62, environment=Environment(gpu="\N{GREEK SMALL LETTER MU} [red]\n")), **random)
    path = tmp_path_factory.mktemp("random") / "x.ktrace"
    said = write_bundle(trace, path)
    back = read_bundle(path, verify=True)
    assert contents(back) == contents(trace)
    assert back.manifest == said
    assert {name: info.rows for name, info in said.tables.items()} == {name: len(table) for name, table in random.items()}


def test_more_rows_than_a_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "_ROW_GROUP", 7)
    trace = decode_run().build()
    write_bundle(trace, tmp_path / "a.ktrace")
    assert contents(read_bundle(tmp_path / "a.ktrace")) == contents(trace)


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_bundle(decode_run().build(), tmp_path / name)
    files = [{f.name: f.read_bytes() for f in (tmp_path / f"{name}.ktrace").iterdir()} for name in ("a", "b")]
    assert files[0] == files[1]


def test_the_name_gets_its_suffix_and_directories_are_made(tmp_path: Path) -> None:
    write_bundle(decode_run().build(), tmp_path / "deep" / "er" / "run.1")
    assert is_bundle(tmp_path / "deep" / "er" / "run.1.ktrace")
    assert (tmp_path / "deep" / "er" / "run.1.ktrace").stat().st_mode & 0o777 == 0o755


def test_columns_are_read_when_they_are_asked_for(written: Path) -> None:
    trace = read_bundle(written)
    expected = contents(trace)["kernels"]
    trace = read_bundle(written)
    assert [r["start_ns"] for r in expected] == trace.kernels.ints("start_ns").tolist()
    assert len(trace.ranges) == len(contents(trace)["ranges"])


# ---- writing over something, and failing


def test_an_existing_bundle_is_not_overwritten_without_force(written: Path) -> None:
    before = contents(read_bundle(written))
    with pytest.raises(UsageError, match="exists already") as caught:
        write_bundle(decode_run(steps=3).build(), written)
    assert "--force" in caught.value.hint
    assert contents(read_bundle(written)) == before


def test_force_replaces_the_whole_bundle(written: Path) -> None:
    (written / "kernels.parquet.bak").write_text("an old file")
    trace = decode_run(steps=3).build()
    write_bundle(trace, written, force=True)
    assert contents(read_bundle(written, verify=True)) == contents(trace)
    assert sorted(f.name for f in written.iterdir()) == sorted(["manifest.json", *(f"{t}.parquet" for t in TABLES)])
    assert [f.name for f in written.parent.iterdir()] == ["a.ktrace"]


def _directory_with_a_file(path: Path) -> None:
    path.mkdir()
    (path / "thesis.tex").write_text("years of work")


def _directory_of_an_application(path: Path) -> None:
    path.mkdir()
    (path / "manifest.json").write_text('{"name": "a web application", "icons": []}')
    (path / "index.html").write_text("years of work")


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize(
    "made", [lambda p: p.write_text("a file"), _directory_with_a_file, _directory_of_an_application, _dangling]
)
@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_bundle_is_never_replaced(tmp_path: Path, made: Callable[[Path], object], force: bool) -> None:
    made(tmp_path / "x.ktrace")
    before = sorted((str(f), f.is_file() and f.read_bytes()) for f in tmp_path.rglob("*"))
    with pytest.raises(UsageError):
        write_bundle(decode_run().build(), tmp_path / "x.ktrace", force=force)
    assert sorted((str(f), f.is_file() and f.read_bytes()) for f in tmp_path.rglob("*")) == before


def test_force_takes_an_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "x.ktrace").mkdir()
    write_bundle(decode_run().build(), tmp_path / "x.ktrace", force=True)
    assert is_bundle(tmp_path / "x.ktrace")


def test_a_place_that_cannot_be_written_to_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KerntraceError, match="cannot be written") as caught:
        write_bundle(decode_run().build(), tmp_path / "file" / "x.ktrace")
    assert "\n" not in caught.value.what


@pytest.mark.parametrize("name", [".", "/", ""])
def test_a_name_that_is_none_is_said(name: str) -> None:
    with pytest.raises(KerntraceError):
        write_bundle(decode_run().build(), Path(name))


def test_a_name_that_is_too_long_is_said(tmp_path: Path) -> None:
    with pytest.raises(KerntraceError, match="too long"):
        write_bundle(decode_run().build(), tmp_path / ("x" * 300))


class Failing:
    """Stands for a function of the operating system, and fails when it is called for the n-th time."""

    def __init__(self, function: Callable[..., Any], at: int, error: BaseException) -> None:
        self.function, self.at, self.error, self.calls = function, at, error, 0

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.calls += 1
        if self.calls == self.at:
            raise self.error
        return self.function(*arguments, **options)


FULL = OSError(28, "No space left on device")
FAILURES = [
    *[("fsync", at, FULL) for at in (1, 4, 8)],
    *[("rename", at, FULL) for at in (1, 2)],
    ("write_table", 3, FULL),
    ("write_table", 2, KeyboardInterrupt()),
    ("rename", 1, KeyboardInterrupt()),
    ("rename", 2, KeyboardInterrupt()),
]


@pytest.mark.parametrize(("function", "at", "error"), FAILURES)
def test_a_crash_leaves_the_old_bundle(
    written: Path, monkeypatch: pytest.MonkeyPatch, function: str, at: int, error: BaseException
) -> None:
    before = contents(read_bundle(written))
    module: Any = pq if function == "write_table" else os
    failing = Failing(getattr(module, function), at, error)
    monkeypatch.setattr(module, function, failing)
    with pytest.raises((KerntraceError, KeyboardInterrupt)):
        write_bundle(decode_run(steps=3).build(), written, force=True)
    monkeypatch.undo()
    assert failing.calls >= at
    assert contents(read_bundle(written, verify=True)) == before
    assert [f.name for f in written.parent.iterdir()] == ["a.ktrace"]  # and no draft beside it


@pytest.mark.parametrize(("function", "at", "error"), [f for f in FAILURES if f[:2] != ("rename", 2)])
def test_a_crash_leaves_nothing_where_there_was_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, at: int, error: BaseException
) -> None:
    module: Any = pq if function == "write_table" else os
    monkeypatch.setattr(module, function, Failing(getattr(module, function), at, error))
    with pytest.raises((KerntraceError, KeyboardInterrupt)):
        write_bundle(decode_run(steps=3).build(), tmp_path / "new.ktrace")
    assert list(tmp_path.iterdir()) == []


# ---- what may not be read


def _manifest_is(text: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        (path / "manifest.json").write_text(text, encoding="latin-1")

    return change


def _said(**changes: Any) -> Callable[[Path], None]:
    return lambda path: edit(path, lambda raw: raw.update(changes))


def _rows(path: Path) -> None:
    edit(path, lambda raw: raw["tables"]["kernels"].update(rows=raw["tables"]["kernels"]["rows"] + 1))


def _garbage(path: Path) -> None:
    (path / "kernels.parquet").write_bytes(b"PAR1" + bytes(100))


def _cut(path: Path) -> None:
    whole = (path / "kernels.parquet").read_bytes()
    (path / "kernels.parquet").write_bytes(whole[: len(whole) // 2])


def _replaced_by(column: str, values: Callable[[int], pa.Array]) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        table = pq.read_table(path / "kernels.parquet")
        at = table.schema.get_field_index(column)
        pq.write_table(table.set_column(at, column, values(len(table))), path / "kernels.parquet")

    return change


def _not_utf8(rows: int) -> pa.Array:
    offsets = pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * 2)
    return pa.Array.from_buffers(pa.string(), rows, [None, offsets, pa.py_buffer(b"\xff\xfe" * rows)])


NEWER = {"name": "kerntrace", "major": FORMAT_MAJOR + 1, "minor": 3}
OLDER = {"name": "kerntrace", "major": 0, "minor": 0}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_manifest_is("{"), "not JSON"),
        (_manifest_is(""), "not JSON"),
        (_manifest_is("\xff\xfe"), "not JSON"),
        (_manifest_is("[" * 100_000), "not JSON"),
        (_manifest_is("[]"), "not a kerntrace bundle"),
        (_manifest_is('{"name": "a web application"}'), "not a kerntrace bundle"),
        (_said(format=NEWER), "is of format 2.3"),
        (_said(format=OLDER), "format 0"),
        (_said(format=OLDER, tables=5), "format 0"),
        (_said(tables=[]), "damaged"),
        (_said(producer=None), "damaged"),
        (_rows, "manifest says"),
        (_garbage, "cannot be read"),
        (_cut, "cannot be read"),
        (lambda path: (path / "memops.parquet").unlink(), "missing"),
        (lambda path: (path / "manifest.json").unlink(), "only half of one"),
        (_replaced_by("start_ns", lambda n: pa.array(["soon"] * n)), "cannot be read"),
        (_replaced_by("start_ns", lambda n: pa.array([0.5] * n)), "cannot be read"),
        (_replaced_by("pid", lambda n: pa.array([2**40] * n)), "cannot be read"),
        (_replaced_by("name", lambda n: pa.array([5] * n)), "cannot be read"),
        (_replaced_by("name", _not_utf8), "cannot be read"),
        (_replaced_by("grid_x", lambda n: pa.array([[1]] * n)), "cannot be read"),
    ],
)
def test_a_damaged_bundle_is_refused_in_a_line(written: Path, damage: Callable[[Path], object], said: str) -> None:
    damage(written)
    with pytest.raises(UnreadableError, match=said) as caught:
        read_whole(written)
    assert len(str(caught.value).splitlines()) <= 2


def test_a_newer_major_says_upgrade(written: Path) -> None:
    _said(format=NEWER)(written)
    with pytest.raises(UnreadableError) as caught:
        read_bundle(written)
    assert "pgrade" in caught.value.hint


def test_a_half_written_directory_is_no_bundle(tmp_path: Path) -> None:
    path = tmp_path / "half.ktrace"
    path.mkdir()
    (path / "kernels.parquet").write_bytes(b"PAR1")
    assert not is_bundle(path)
    with pytest.raises(UnreadableError, match="only half of one"):
        read_bundle(path)


def test_a_huge_manifest_is_not_read(written: Path) -> None:
    with (written / "manifest.json").open("ab") as file:
        file.truncate(1 << 25)
    with pytest.raises(UnreadableError, match="too large"):
        read_bundle(written)


def test_a_changed_file_is_found_when_asked_to_verify(written: Path) -> None:
    table = pq.read_table(written / "ranges.parquet")
    at = table.schema.get_field_index("payload")
    pq.write_table(table.set_column(at, "payload", pa.array([1] * len(table), pa.int64())), written / "ranges.parquet")
    assert len(read_bundle(written).ranges) == len(table)
    with pytest.raises(UnreadableError, match="SHA-256"):
        read_bundle(written, verify=True)


def test_verifying_finds_a_single_changed_byte(written: Path) -> None:
    file = written / "api_calls.parquet"
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 3] ^= 1
    file.write_bytes(whole)
    with pytest.raises(UnreadableError, match=r"SHA-256|cannot be read"):
        read_bundle(written, verify=True)


def test_rows_in_another_order_do_not_give_other_figures(written: Path) -> None:
    """Another Parquet tool may write rows in any order; the launch join and the ledger need theirs."""
    expected = analyse(read_bundle(written), Question())
    for table in ("api_calls", "kernels", "ranges"):
        rows = pq.read_table(written / f"{table}.parquet")
        order = pa.array(np.random.default_rng(3).permutation(len(rows)))
        pq.write_table(rows.take(order), written / f"{table}.parquet")
    try:
        found = analyse(read_bundle(written), Question())
    except UnreadableError:
        return  # refusing it is as good
    assert step_rows(found, [0, 1, 2]) == step_rows(expected, [0, 1, 2])


# ---- what a newer minor may add


def test_a_newer_minors_columns_keys_and_tables_are_passed_over(written: Path) -> None:
    expected = contents(read_bundle(written))

    def newer(raw: dict[str, Any]) -> None:
        raw["format"]["minor"] = 7
        raw["new"] = [1]
        raw["capture"]["new"] = "x"
        raw["tables"]["counters"] = {"rows": 1, "sha256": "0"}

    edit(written, newer)
    (written / "counters.parquet").write_bytes(b"of a format to come")
    table = pq.read_table(written / "kernels.parquet")
    table = table.append_column("new_ns", pa.array([1] * len(table))).select(["new_ns", *reversed(table.column_names)])
    pq.write_table(table, written / "kernels.parquet")
    assert contents(read_bundle(written)) == expected


def test_an_older_minors_missing_columns_and_tables_are_null_and_empty(written: Path) -> None:
    table = pq.read_table(written / "kernels.parquet")
    pq.write_table(table.drop_columns(["grid_x", "graph_id"]), written / "kernels.parquet")
    edit(written, lambda raw: raw["tables"].pop("walls"))
    (written / "walls.parquet").unlink()
    trace = read_bundle(written)
    assert not trace.kernels.has("grid_x")
    assert len(trace.walls) == 0


@pytest.mark.parametrize(
    ("table", "column"),
    [("kernels", "name"), ("kernels", "correlation_id"), ("memops", "kind"), ("api_calls", "start_ns"), ("ranges", "start_ns")],
)
def test_a_table_without_a_required_column_is_refused(written: Path, table: str, column: str) -> None:
    """Its values would all be null, and a step's account quite another."""
    rows = pq.read_table(written / f"{table}.parquet")
    pq.write_table(rows.drop_columns([column]), written / f"{table}.parquet")
    with pytest.raises(UnreadableError, match=column):
        read_whole(written)


def test_texts_that_are_not_dictionaries_are_read_too(written: Path) -> None:
    expected = contents(read_bundle(written))
    pq.write_table(
        pq.read_table(written / "kernels.parquet"), written / "kernels.parquet", use_dictionary=False, store_schema=False
    )
    assert contents(read_bundle(written)) == expected


def test_older_majors_are_migrated(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An invented major 0, which called kernels `launches` and counted microseconds."""
    expected = contents(read_bundle(written))

    def from_0(raw: Any) -> Any:
        kernels = raw.tables["activity"].rename_columns(
            {"start_tens": "start_ns"} | {n: n for n in raw.tables["activity"].column_names if n != "start_tens"}
        )
        starts = pa.array([10 * t for t in kernels["start_ns"].to_pylist()], pa.int64())
        kernels = kernels.set_column(kernels.schema.get_field_index("start_ns"), "start_ns", starts)
        manifest = raw.manifest | {"format": {"name": "kerntrace", "major": 1, "minor": 0}, "tables": {}}
        return type(raw)(manifest, {n: t for n, t in raw.tables.items() if n != "activity"} | {"kernels": kernels})

    table = pq.read_table(written / "kernels.parquet")
    tens = pa.array([t // 10 for t in table["start_ns"].to_pylist()], pa.int64())
    old = table.set_column(table.schema.get_field_index("start_ns"), "start_tens", tens)
    pq.write_table(old, written / "activity.parquet")
    (written / "kernels.parquet").unlink()

    def older(raw: dict[str, Any]) -> None:
        raw["format"]["major"] = 0
        raw["tables"]["activity"] = raw["tables"].pop("kernels")

    edit(written, older)
    monkeypatch.setattr(bundle, "migrate", partial(migrate, chain={0: from_0}))
    found = read_bundle(written)
    assert found.manifest.format.major == 1
    for row in expected["kernels"]:
        row["start_ns"] = row["start_ns"] // 10 * 10
    assert contents(found) == expected


# ---- the frozen bundle of format 1.0


def test_the_frozen_bundle_still_opens_and_holds_what_was_put_in() -> None:
    trace = read_bundle(FROZEN, verify=True)
    assert contents(trace) == contents(frozen())
    assert trace.manifest.format.major == 1
    assert trace.manifest.epoch_ns == 1_790_000_000_000_050_000
    assert trace.manifest.capture == Capture("synthetic", "written by hand", ("kernel", "memcpy"), "node", dropped_records=0)


def test_the_frozen_bundle_gives_the_numbers_worked_out_by_hand() -> None:
    analysis = analyse(read_bundle(FROZEN), Question())
    assert analysis.ok
    rows = step_rows(analysis, [0, 1, 2, 3, 4])
    assert [row["steady"] for row in rows] == [False, True, True, True, False]
    within = {"device_gap_ns": 3 + 10, "host_wait_ns": 80, "launch_call_ns": 20, "launch_latency_ns": 30, "profiler_ns": 20}
    between = {"device_gap_ns": 0, "host_wait_ns": 480, "launch_call_ns": 10, "launch_latency_ns": 10, "profiler_ns": 0}
    for row in rows[:4]:
        assert (row["kind"], row["batch"], row["kernels"], row["launches"], row["graph_launches"]) == ("decode", 2, 4, 3, 1)
        assert (row["wall_ns"], row["busy_ns"], row["overlap_ns"]) == (1000, 337, 0)
        assert row["within"] == within | {"unattributed_ns": 0}
        assert row["between"] == between | {"unattributed_ns": 0}
        assert {name: row[name] for name in within} == {name: within[name] + between[name] for name in within}
        assert row["host_exposed_ns"] == 560 + 30 + 40
        assert row["queue_delay_mean_ns"] == (10 + 60 + 30 + 170) / 4
        assert row["start_latency_mean_ns"] == (20 + 70 + 50 + 180) / 4
    assert "wall_ns" not in rows[4]
    assert rows[4]["open_window"]["wall_ns"] == 500
    phases = phases_of(analysis)
    assert phases is not None
    assert dict(zip(phases.names, phases.host_wait[1].tolist())) == {"execute step": 420, "sample": 40, "(no range)": 100}
    assert dict(zip(phases.names, phases.launch_call[1].tolist())) == {"execute step": 30, "sample": 0, "(no range)": 0}


def test_the_frozen_bundle_can_be_copied_and_is_small(tmp_path: Path) -> None:
    shutil.copytree(FROZEN, tmp_path / "elsewhere.ktrace")
    assert contents(read_bundle(tmp_path / "elsewhere.ktrace", verify=True)) == contents(frozen())
    assert sum(file.stat().st_size for file in FROZEN.iterdir()) < 40_000
