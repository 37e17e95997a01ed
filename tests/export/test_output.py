"""Where an export goes: what it never harms, and what it leaves behind where it fails."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.export.roundtrip import exported, rows
from tests.support.command import called, kerntrace
from tests.support.recording import decode_run

from kerntrace.accounting.analysis import Question, analyse
from kerntrace.errors import UsageError
from kerntrace.export.findings import find
from kerntrace.export.formats import FORMATS, Export
from kerntrace.export.nsys_file import NsysFile
from kerntrace.export.write import Order, write_export
from kerntrace.ingest.open_any import open_any

ALONE = [name for name in FORMATS if name != "nsys-rep"]
SMALL = 20_000  # bytes that a file may have


@pytest.fixture
def bundle(bundles: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundles / "eager.ktrace", tmp_path / "t.ktrace"))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("source", "name", "target"),
    [
        ("t.sqlite", "nsys-sqlite", "t.sqlite"),
        ("t.sqlite", "nsys-rep", "t.nsys-rep"),  # whose SQLite would be the source
        ("t.sqlite", "chrome", "link"),
        ("t.json.gz", "chrome", "t.json.gz"),
        ("t.ktrace", "chrome", "t.ktrace"),
        ("t.ktrace", "csv", "t.ktrace"),
        ("t.ktrace", "chrome", "t.ktrace/t.json.gz"),
        ("t.ktrace", "parquet", "t.ktrace/deep/out"),
    ],
)
def test_what_is_exported_is_not_harmed_by_force_either(
    source: str, name: str, target: str, bundle: Path, tmp_path: Path
) -> None:
    for made, ending in (("nsys-sqlite", "t.sqlite"), ("chrome", "t.json.gz")):
        exported(open_any(bundle), made, tmp_path / ending)
    (tmp_path / "link").symlink_to(tmp_path / "t.sqlite")
    before = contents(tmp_path)
    said = called("export", tmp_path / source, "--format", name, "-o", tmp_path / target, "--force").complaint(2)
    assert "this export reads" in said
    assert contents(tmp_path) == before


def test_a_report_is_not_replaced_by_the_merge_into_it(bundle: Path, tmp_path: Path) -> None:
    report = tmp_path / "t.nsys-rep"
    report.write_bytes(b"a report")
    command = ("export", bundle, "--format", "nsys-rep", "--merge", report, "-o", report, "--force")
    assert "this export reads" in called(*command).complaint(2)
    assert report.read_bytes() == b"a report"


def test_a_merge_writes_no_sqlite_and_so_minds_none(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNTRACE_NSYS", "/nowhere/nsys")
    (tmp_path / "m.sqlite").write_bytes(b"mine")
    (tmp_path / "r.nsys-rep").write_bytes(b"no report")
    command = ("export", bundle, "--format", "nsys-rep", "--merge", tmp_path / "r.nsys-rep", "-o", tmp_path / "m.nsys-rep")
    assert "m.sqlite" not in called(*command).complaint(1)


@pytest.mark.parametrize("options", [["csv", "--merge", "r.nsys-rep"], ["nvtxt", "--merge", "none.nsys-rep"]])
def test_a_wrong_merge_is_told_before_the_trace_is_read(options: list[str], tmp_path: Path) -> None:
    said = called("export", tmp_path / "no.ktrace", "--format", *options, "-o", tmp_path / "out").complaint(2)
    assert "--merge" in said


@pytest.mark.parametrize("target", ["run", "run.v2", "trace.nvtxt", "run.sqlite"])
def test_a_report_is_called_one(target: str, bundle: Path, tmp_path: Path) -> None:
    assert "run.nsys-rep" in called("export", bundle, "--format", "nsys-rep", "-o", tmp_path / target).complaint(2)
    assert not (tmp_path / target).exists()


def test_a_report_of_nothing_is_refused(tmp_path: Path) -> None:
    play = decode_run()
    play.rows.update(kernels=[], memops=[], api_calls=[], ranges=[])
    play.overhead(1, 5)
    analysis = analyse(play.build(), Question())
    with pytest.raises(UsageError, match="nothing that a report could show"):
        write_export(Order("nsys-rep", tmp_path / "t.nsys-rep"), Export(analysis.trace, find(analysis), analysis))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["chrome", "csv"])
def test_what_appeared_in_the_meantime_is_not_replaced(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out"
    analysis = analyse(decode_run().build(), Question())
    export = Export(analysis.trace, find(analysis), analysis)
    real = FORMATS[name].write
    assert real is not None

    def slow(export: Export, path: Path) -> None:
        real(export, path)
        target.write_text("mine")

    other = {**FORMATS, name: FORMATS[name].__class__(".x", slow, "", "", FORMATS[name].inside)}
    monkeypatch.setattr("kerntrace.export.write.FORMATS", other)
    with pytest.raises(UsageError, match="exists already"):
        write_export(Order(name, target), export)
    assert target.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [target]


def test_a_directory_is_replaced_whole_and_has_the_users_mode(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    mask = os.umask(0o077)
    try:
        for force in ([], ["--force"]):
            assert called("export", bundle, "--format", "csv", "-o", out, *force).status == 0
    finally:
        os.umask(mask)
    assert out.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in out.iterdir()} == set(FORMATS["csv"].inside)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "t.ktrace"]


@pytest.mark.parametrize("name", ALONE)
def test_a_full_disk_is_told_and_leaves_nothing(name: str, bundles: Path, tmp_path: Path) -> None:
    if name == "perfetto":
        pytest.importorskip("perfetto")
    command = [sys.executable, "-m", "kerntrace", "export", bundles / "many.ktrace", "--format", name, "-o", tmp_path / "out"]
    done = subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, SMALL)),
    )
    assert (done.returncode, "cannot be written: " in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ALONE)
def test_a_name_may_be_any_bytes(name: str, bundles: Path, tmp_path: Path) -> None:
    if name == "perfetto":
        pytest.importorskip("perfetto")
    target = Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xff #?%20;'\n"))
    assert called("export", bundles / "eager.ktrace", "--format", name, "-o", target).status == 0
    assert os.listdir(os.fsencode(tmp_path)) == [b"n\xff #?%20;'\n"]
    assert target.is_dir() == bool(FORMATS[name].inside)


def test_ctrl_c_in_the_middle_of_a_statement_is_ctrl_c(tmp_path: Path) -> None:
    """ADBC tells it as NotSupportedError, for SQLite cannot cancel a statement."""
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000) SELECT max(i) FROM n"
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    with NsysFile(tmp_path / "t.sqlite") as file:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            file._run(slow)
    timer.join()


def test_a_trace_read_by_a_relative_name_is_still_itself(bundle: Path, tmp_path: Path) -> None:
    exported(open_any(bundle), "nsys-sqlite", tmp_path / "t.sqlite")
    ran = kerntrace("export", "t.sqlite", "--format", "nsys-sqlite", "--force", cwd=tmp_path)  # the default name is its own
    assert "this export reads" in ran.complaint(2)
    assert rows(open_any(tmp_path / "t.sqlite")) == rows(open_any(bundle))
