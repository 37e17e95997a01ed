"""Damaged, foreign and hostile databases: an error that names what is wrong, never a traceback and never garbage."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.ingest.nsys_files import GRAPH_TRACE, KERNEL, MEMCPY, NVTX, RUNTIME, Export, small_export

from kerntrace.errors import UnreadableError
from kerntrace.ingest import nsys_sqlite, private_copy
from kerntrace.ingest.nsys_sqlite import read_nsys_sqlite
from kerntrace.ingest.open_any import OpenOptions, open_any

PAGE = 512  # bytes of a page in the file that `deep_tree` makes


def refusal(path: Path) -> UnreadableError:
    with pytest.raises(UnreadableError) as caught:
        read_nsys_sqlite(path)
    assert caught.value.exit_code == 1
    assert "\n" not in caught.value.what
    assert "\n" not in caught.value.hint
    return caught.value


def with_cell(tmp_path: Path, table: str, column: str, value: object, *, others: int = 0) -> Path:
    """A small export in which one value, after `others` good rows, is another."""
    export = small_export()
    for at in range(others):
        export.kernel(10_000 + at, 10_001 + at)
        export.call(10_000 + at, 10_001 + at)
    path = export.sqlite(tmp_path / "x.sqlite")
    with sqlite3.connect(path) as db:
        db.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = (SELECT max(rowid) FROM "{table}")', (value,))
    db.close()
    return path


@pytest.mark.parametrize(
    ("value", "said"),
    [("soon", "text where"), (1.5, "a fraction where"), (b"\x00\x01", "text where"), (float("inf"), "a fraction where")],
)
@pytest.mark.parametrize(
    ("table", "column"),
    [
        (KERNEL, "start"),
        (KERNEL, "demangledName"),
        (KERNEL, "gridX"),
        (KERNEL, "graphNodeId"),
        (MEMCPY, "bytes"),
        (RUNTIME, "globalTid"),
        (NVTX, "end"),
        (NVTX, "textId"),
    ],
)
def test_a_value_of_another_type_is_told_by_table_and_column(
    tmp_path: Path, table: str, column: str, value: object, said: str
) -> None:
    what = refusal(with_cell(tmp_path, table, column, value)).what
    assert f"column {column} of {table} holds {said} a whole number belongs" in what


@pytest.mark.parametrize("value", ["soon", 1.5, b"\xff"])
@pytest.mark.parametrize(("table", "column"), [(KERNEL, "end"), (RUNTIME, "correlationId")])
def test_a_value_of_another_type_is_told_however_late_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, column: str, value: object
) -> None:
    monkeypatch.setattr(nsys_sqlite, "_BATCH", 64)
    assert f"column {column} of {table} holds" in refusal(with_cell(tmp_path, table, column, value, others=500)).what


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (KERNEL, "start"),
        (KERNEL, "end"),
        (RUNTIME, "start"),
        (RUNTIME, "nameId"),
        (NVTX, "start"),
        (NVTX, "eventType"),
        (MEMCPY, "end"),
    ],
)
def test_a_null_where_nsys_always_writes_is_told(tmp_path: Path, table: str, column: str) -> None:
    assert f"column {column} of {table} holds no value" in refusal(with_cell(tmp_path, table, column, None)).what


@pytest.mark.parametrize(("table", "column"), [(KERNEL, "correlationId"), (KERNEL, "globalPid"), (NVTX, "globalTid")])
def test_a_null_where_nsys_may_leave_one_is_unknown(tmp_path: Path, table: str, column: str) -> None:
    trace = read_nsys_sqlite(with_cell(tmp_path, table, column, None))
    assert len(trace.kernels) == 2
    assert len(trace.ranges) == 1


def test_a_number_beyond_its_columns_range_is_told(tmp_path: Path) -> None:
    assert "device_id" in refusal(with_cell(tmp_path, KERNEL, "deviceId", 2**40)).what


@pytest.mark.parametrize("time", [2**63 - 1, -(2**63), 2**62])
def test_absurd_times_are_read_for_the_integrity_rules_to_find(tmp_path: Path, time: int) -> None:
    export = small_export()
    export.kernel(time, time)
    assert len(read_nsys_sqlite(export.sqlite(tmp_path / "x.sqlite")).kernels) == 3


NAMES = {
    "markup": "<script>alert('x')</script> & \"q\"",
    "newlines": "one\ntwo\r\nthree\t\x1b[31m",
    "nul": "before\0after",
    "unicode": "ядро_核_🚀_\u202egnirts",
    "sql": "'; DROP TABLE StringIds; --",
    "long": "x" * 1_000_000,
    "empty": "",
}


@pytest.mark.parametrize("which", sorted(NAMES))
def test_hostile_names_survive_as_they_are(tmp_path: Path, which: str) -> None:
    export = Export()
    export.kernel(1, 2, name=NAMES[which])
    export.call(3, 4, name=NAMES[which] or "f")
    export.range(5, 6, NAMES[which])
    trace = read_nsys_sqlite(export.sqlite(tmp_path / "x.sqlite"))
    assert trace.kernels.names("name").text(0) == NAMES[which]
    assert trace.ranges.names("name").text(0) == NAMES[which]


def test_bytes_that_are_not_utf8_become_replacement_characters(tmp_path: Path) -> None:
    export = small_export()
    path = export.sqlite(tmp_path / "x.sqlite")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE StringIds SET value = CAST(x'6bff6b' AS TEXT) WHERE value = 'norm'")
        db.execute(f"UPDATE {NVTX} SET text = CAST(x'ff7374fe' AS TEXT)")
    db.close()
    trace = read_nsys_sqlite(path)
    assert trace.kernels.arrow("name").to_pylist() == ["void gemm<float>(int)", "k\ufffdk"]
    assert trace.ranges.arrow("name").to_pylist() == ["\ufffdst\ufffd"]


def test_numbers_and_blobs_in_text_columns_are_read_as_text(tmp_path: Path) -> None:
    path = small_export().sqlite(tmp_path / "x.sqlite")
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE loose (id INTEGER, value)")
        db.execute("INSERT INTO loose SELECT id, CASE value WHEN 'norm' THEN 17 ELSE CAST(value AS BLOB) END FROM StringIds")
        db.execute("DROP TABLE StringIds")
        db.execute("ALTER TABLE loose RENAME TO StringIds")
    db.close()
    assert read_nsys_sqlite(path).kernels.arrow("name").to_pylist() == ["void gemm<float>(int)", "17"]


def test_an_utf16_database_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    db = sqlite3.connect(path)
    db.execute("PRAGMA encoding = 'UTF-16le'")
    db.execute("CREATE TABLE seed (x)")
    db.commit()
    db.close()
    export = small_export()
    export.kernel(3_500, 3_600, name="核")
    assert read_nsys_sqlite(export.sqlite(path)).kernels.arrow("name").to_pylist()[-1] == "核"


def test_an_empty_database_and_a_foreign_one_are_not_exports(tmp_path: Path) -> None:
    for name, script in (("a", "CREATE TABLE t (x); DROP TABLE t"), ("b", "CREATE TABLE StringIds (id, value)")):
        path = tmp_path / name
        db = sqlite3.connect(path)
        db.executescript(script)
        db.close()
        assert "is not an Nsight Systems export" in refusal(path).what


def test_views_and_virtual_tables_are_not_run(tmp_path: Path) -> None:
    path = small_export().sqlite(tmp_path / "x.sqlite")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i AS end FROM n"
    with sqlite3.connect(path) as db:
        db.execute(f"CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS {endless}")
        db.execute("CREATE  VIRTUAL TABLE PROFILER_OVERHEAD USING fts4(a)")
        db.execute(f"CREATE VIEW {GRAPH_TRACE} AS {endless}")
    db.close()
    trace = read_nsys_sqlite(path)
    assert [len(trace.memops), len(trace.overheads), trace.manifest.capture.whole_graph_replays] == [1, 0, 0]


def test_an_index_that_lies_is_not_used(tmp_path: Path) -> None:
    export = small_export()
    export.tables[MEMCPY][0] |= {f"wide{at}": "x" * 40 for at in range(20)}  # so that SQLite would rather scan the index
    path = export.sqlite(tmp_path / "x.sqlite")
    columns = '"start", "end", "correlationId", "globalPid", "deviceId", "streamId", "bytes", "copyKind"'
    db = sqlite3.connect(path)
    db.execute(f"CREATE INDEX covering ON {MEMCPY} ({columns})")
    db.execute("PRAGMA writable_schema = ON")
    db.execute(f"CREATE TABLE empty ({columns})")
    db.execute("CREATE INDEX hollow ON empty (" + columns + ")")
    db.execute(
        "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'hollow') WHERE name = 'covering'"
    )
    db.commit()
    db.close()
    assert len(read_nsys_sqlite(path).memops) == 1


@pytest.mark.parametrize("share", [0.05, 0.5, 0.98])
def test_a_cut_database_is_told(tmp_path: Path, share: float) -> None:
    export = small_export()
    for at in range(2_000):
        export.kernel(at * 10, at * 10 + 5)
    path = export.sqlite(tmp_path / "x.sqlite")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    assert "cut off" in refusal(path).what


def test_a_header_without_a_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"SQLite format 3\0")
    assert "cut off" in refusal(path).what


def test_any_damaged_page_gives_an_error_or_a_trace(tmp_path: Path) -> None:
    export = small_export()
    for at in range(500):
        export.kernel(at * 10, at * 10 + 5, name=f"kernel {at}")
    whole = export.sqlite(tmp_path / "x.sqlite").read_bytes()
    refused = 0
    for page in range(len(whole) // 4096):
        path = tmp_path / f"{page}.sqlite"
        path.write_bytes(whole[: page * 4096 + 104] + b"\xa5" * 900 + whole[page * 4096 + 1004 :])
        try:
            kernels = len(read_nsys_sqlite(path).kernels)
        except UnreadableError as error:
            refused += str(path) in error.what
        else:
            assert kernels == 502  # the damage is elsewhere: rows are never left out
    assert refused > 5


def test_verifying_finds_a_damaged_page_that_reading_does_not_touch(tmp_path: Path) -> None:
    path = small_export().sqlite(tmp_path / "x.sqlite")
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE unread (x TEXT)")
    db.executemany("INSERT INTO unread VALUES (?)", [("text" * 50,)] * 500)
    db.commit()
    root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'unread'").fetchone()[0]
    db.close()
    raw = bytearray(path.read_bytes())
    raw[root * 4096 - 4090 : root * 4096 - 3000] = b"\xff" * 1090
    path.write_bytes(raw)
    assert len(open_any(path).kernels) == 2
    with pytest.raises(UnreadableError, match="is damaged"):
        open_any(path, OpenOptions(verify=True))


def test_verifying_a_sound_file_reads_it(tmp_path: Path) -> None:
    assert len(open_any(small_export().sqlite(tmp_path / "x.sqlite"), OpenOptions(verify=True)).kernels) == 2


def test_pages_that_are_listed_over_and_over_end_in_an_error(tmp_path: Path) -> None:
    """An inner page may name the same leaf many times, so that a small file yields rows without end."""
    path = deep_tree(tmp_path)
    raw = bytearray(path.read_bytes())
    multiply(raw, root_of(path, KERNEL))
    path.write_bytes(raw)
    assert "yields more than a file of" in refusal(path).what


def test_pages_that_refer_to_themselves_end_in_an_error(tmp_path: Path) -> None:
    path = deep_tree(tmp_path)
    raw = bytearray(path.read_bytes())
    name_child_everywhere(raw, root_of(path, KERNEL), root_of(path, KERNEL))
    path.write_bytes(raw)
    assert "is damaged" in refusal(path).what


def deep_tree(tmp_path: Path) -> Path:
    """An export whose pages are so small that there are two levels of inner pages over the kernels."""
    path = tmp_path / "x.sqlite"
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA page_size = {PAGE}")
    db.execute("CREATE TABLE seed (x)")
    db.commit()
    db.close()
    export = Export()
    for at in range(3_000):
        export.kernel(at * 10, at * 10 + 5)
    return export.sqlite(path)


def root_of(path: Path, table: str) -> int:
    db = sqlite3.connect(path)
    (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    db.close()
    return int(root)


def multiply(raw: bytearray, root: int) -> None:
    """Make the tree yield its first leaf over and over: every entry of the root leads to it, by every entry in between."""
    inner = children(raw, root)[0]
    leaf = children(raw, inner)[0]
    raw[(root - 1) * PAGE : root * PAGE] = raw[(inner - 1) * PAGE : inner * PAGE]
    name_child_everywhere(raw, root, inner)
    name_child_everywhere(raw, inner, leaf)


def children(raw: bytearray, page: int) -> list[int]:
    return [int.from_bytes(raw[place : place + 4], "big") for place in cells(raw, page)]


def cells(raw: bytearray, page: int) -> list[int]:
    """Where the cells of an inner page of a table begin: each begins with the number of a page below."""
    base = (page - 1) * PAGE
    assert raw[base] == 5
    count = int.from_bytes(raw[base + 3 : base + 5], "big")
    return [base + int.from_bytes(raw[base + 12 + 2 * i : base + 14 + 2 * i], "big") for i in range(count)]


def name_child_everywhere(raw: bytearray, page: int, child: int) -> None:
    for place in cells(raw, page):
        raw[place : place + 4] = child.to_bytes(4, "big")


def test_what_waits_in_the_write_ahead_log_is_seen(tmp_path: Path) -> None:
    path = write_ahead(tmp_path)
    before = sorted(entry.name for entry in path.parent.iterdir())
    assert len(read_nsys_sqlite(path).kernels) == 3
    assert sorted(entry.name for entry in path.parent.iterdir()) == before


def test_an_empty_write_ahead_log_is_no_obstacle(tmp_path: Path) -> None:
    path = small_export().sqlite(tmp_path / "x.sqlite")
    (tmp_path / "x.sqlite-wal").touch()
    assert len(read_nsys_sqlite(path).kernels) == 2


def test_a_write_ahead_log_without_room_for_a_copy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_ahead(tmp_path)
    monkeypatch.setattr(private_copy, "SPARE_BYTES", 1 << 60)
    assert "does not fit" in refusal(path).what


def test_a_file_that_is_written_to_while_it_is_copied_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_ahead(tmp_path)
    real: Callable[[Path, Path], object] = shutil.copyfile

    def copy_and_write(source: Path, target: Path) -> object:
        os.utime(source, ns=(1, 1))
        return real(source, target)

    monkeypatch.setattr(shutil, "copyfile", copy_and_write)
    assert "being written to" in refusal(path).what


def write_ahead(tmp_path: Path) -> Path:
    """An export whose third kernel is only in its write-ahead log, left by a program that ended early."""
    folder = tmp_path / "wal"
    folder.mkdir()
    path = small_export().sqlite(folder / "x.sqlite")
    script = (
        "import os, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1])\n"
        "db.execute('PRAGMA journal_mode = WAL')\n"
        "db.execute('PRAGMA wal_autocheckpoint = 0')\n"
        f"db.execute('INSERT INTO {KERNEL} SELECT * FROM {KERNEL} LIMIT 1')\n"
        "db.commit()\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    (folder / "x.sqlite-shm").unlink()
    assert (folder / "x.sqlite-wal").stat().st_size
    return path


def test_a_transaction_left_halfway_is_told(tmp_path: Path) -> None:
    path = small_export().sqlite(tmp_path / "x.sqlite")
    (tmp_path / "x.sqlite-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + b"\0" * 504)
    assert "in the middle of a write" in refusal(path).what


def test_a_journal_that_is_done_with_is_no_obstacle(tmp_path: Path) -> None:
    path = small_export().sqlite(tmp_path / "x.sqlite")
    (tmp_path / "x.sqlite-journal").write_bytes(b"\0" * 512)
    assert len(read_nsys_sqlite(path).kernels) == 2


@pytest.mark.parametrize(
    "name",
    [
        "with space.sqlite",
        "what?.sqlite",
        "a#b.sqlite",
        "100%25.sqlite",
        "ядро 核.sqlite",
        "a&mode=rwc;b.sqlite",
        "-x",
        "'q\".db",
    ],
)
def test_any_file_name_opens(tmp_path: Path, name: str) -> None:
    assert len(read_nsys_sqlite(small_export().sqlite(tmp_path / name)).kernels) == 2


def test_a_file_name_that_is_not_utf8_opens(tmp_path: Path) -> None:
    path = small_export().sqlite(tmp_path / "x.sqlite")
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.sqlite"))
    path.rename(odd)
    assert len(read_nsys_sqlite(odd).kernels) == 2


def test_a_relative_path_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_export().sqlite(tmp_path / "x.sqlite")
    monkeypatch.chdir(tmp_path)
    assert len(read_nsys_sqlite(Path("x.sqlite")).kernels) == 2
