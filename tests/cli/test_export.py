"""`kerntrace export`."""

from __future__ import annotations

import getpass
import gzip
import json
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.command import called, kerntrace

from kerntrace.export.formats import FORMATS

WRITTEN_ALONE = [name for name in FORMATS if name not in ("nsys-rep", "perfetto")]


@pytest.mark.parametrize("name", WRITTEN_ALONE)
def test_every_format_is_written_and_says_what_it_shows(name: str, bundles: Path, tmp_path: Path) -> None:
    target = tmp_path / f"out{FORMATS[name].ending}"
    ran = kerntrace("export", bundles / "eager.ktrace", "--format", name, "-o", target)
    assert (ran.status, ran.out) == (0, ""), ran.err
    told, shows, lacks = ran.err.splitlines()
    assert told.startswith(str(target))
    assert shows.startswith("Shows: ")
    assert lacks.startswith("Cannot show: ")
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_it_is_named_for_the_trace(bundles: Path, tmp_path: Path) -> None:
    ran = kerntrace("export", bundles / "graph.ktrace", "--format", "chrome", cwd=tmp_path)
    assert ran.status == 0, ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["graph.json.gz"]
    assert json.loads(gzip.decompress((tmp_path / "graph.json.gz").read_bytes()))["traceEvents"]


def test_a_json_need_not_be_packed(bundles: Path, tmp_path: Path) -> None:
    assert called("export", bundles / "graph.ktrace", "--format", "chrome", "-o", tmp_path / "t.json").status == 0
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


@pytest.mark.parametrize("name", WRITTEN_ALONE)
def test_nothing_is_replaced_without_force(name: str, bundles: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    assert called("export", bundles / "eager.ktrace", "--format", name, "-o", target).status == 0
    before = target.stat().st_ino
    assert "exists already" in called("export", bundles / "eager.ktrace", "--format", name, "-o", target).complaint(2)
    assert target.stat().st_ino == before
    assert called("export", bundles / "eager.ktrace", "--format", name, "-o", target, "--force").status == 0
    assert target.stat().st_ino != before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_force_does_not_replace_what_is_no_export(bundles: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    for name in ("csv", "chrome"):
        called("export", bundles / "eager.ktrace", "--format", name, "-o", tmp_path / "out", "--force").complaint(2)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "years of work"


def test_a_refused_trace_is_exported_without_findings(bundles: Path, tmp_path: Path) -> None:
    target = tmp_path / "t.sqlite"
    ran = kerntrace("export", bundles / "refused.ktrace", "--format", "nsys-sqlite", "-o", target)
    assert ran.status == 0
    assert "left out: rule dropped-records refuses the trace" in ran.err
    with closing(sqlite3.connect(target)) as database:
        assert database.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0] > 50
        assert database.execute("SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 75").fetchone() == (0,)
    assert kerntrace("steps", target).status == 3


def test_several_devices_are_exported_whole_or_one_by_one(bundles: Path, tmp_path: Path) -> None:
    source = bundles / "devices.ktrace"
    whole = called("export", source, "--format", "nsys-sqlite", "-o", tmp_path / "all.sqlite")
    assert "--device" not in whole.err.splitlines()[0]
    assert "one-device" in whole.err
    one = called("export", source, "--format", "nsys-sqlite", "-o", tmp_path / "one.sqlite", "--pid", "9")
    assert one.status == 0
    assert "left out" not in one.err
    assert called("steps", tmp_path / "one.sqlite").status == 0


def test_a_part_of_the_steps(bundles: Path, tmp_path: Path) -> None:
    ran = called("export", bundles / "eager.ktrace", "--format", "csv", "--steps", "2:4", "-o", tmp_path / "out")
    assert ran.status == 0
    steps = (tmp_path / "out" / "steps.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in steps[1:]] == ["2", "3"]
    kernels = (tmp_path / "out" / "kernels.csv").read_text().splitlines()
    assert len(kernels) - 1 == 2 * 14


@pytest.mark.parametrize(
    ("options", "status", "word"),
    [
        (["--format", "pdf"], 2, "nsys-sqlite"),
        (["--format", "csv", "--steps", "99"], 2, "--steps"),
        (["--format", "csv", "--merge", "x.nsys-rep"], 2, "--merge"),
        (["--format", "nvtxt", "--merge", "none.nsys-rep"], 2, "no such file"),
        (["--format", "csv", "--step-range", "("], 2, "--step-range"),
        (["--format", "csv", "--device", "5"], 2, "device"),
        (["--format", "csv", "-o", "x" * 300], 2, "-o"),
        (["--format", "nsys-rep", "-o", "run.sqlite"], 2, "run.nsys-rep"),
    ],
)
def test_what_is_asked_wrongly(options: list[str], status: int, word: str, bundles: Path, tmp_path: Path) -> None:
    output = [] if "-o" in options else ["-o", str(tmp_path / "out")]
    assert word in called("export", bundles / "eager.ktrace", *options, *output).complaint(status)
    assert list(tmp_path.iterdir()) == []


def test_steps_of_a_refused_trace_are_refused(bundles: Path, tmp_path: Path) -> None:
    ran = called("export", bundles / "refused.ktrace", "--format", "csv", "--steps", "1", "-o", tmp_path / "out")
    assert "dropped-records" in ran.complaint(3)


def test_a_report_needs_nvidias_importer(bundles: Path, tmp_path: Path) -> None:
    command = ("export", bundles / "eager.ktrace", "--format", "nsys-rep", "-o", tmp_path / "t.nsys-rep")
    ran = kerntrace(*command, PATH="/nowhere", KERNTRACE_NSYS="/nowhere/nsys")
    assert "ImportNvtxt" in ran.complaint(1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", WRITTEN_ALONE)
def test_no_export_names_the_user_the_machine_or_its_files(name: str, bundles: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    secret = "S3CRET-in-the-environment"
    assert kerntrace("export", bundles / "eager.ktrace", "--format", name, "-o", target, TOKEN=secret).status == 0
    files = list(target.iterdir()) if target.is_dir() else [target]
    for file in files:
        raw = file.read_bytes()
        content = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
        for told in (secret, str(tmp_path), str(bundles), f"/{getpass.getuser()}", socket.gethostname() + "."):
            assert told.encode() not in content


@pytest.mark.parametrize("name", WRITTEN_ALONE)
def test_a_file_name_cannot_reach_a_shell_or_a_query(name: str, bundles: Path, tmp_path: Path) -> None:
    target = tmp_path / "a'b; $(touch pwned) ?x#%41.out"
    assert called("export", bundles / "hostile.ktrace", "--format", name, "-o", target).status == 0
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
