"""`kerntrace import`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import called, kerntrace

from kerntrace.cli import app
from kerntrace.cli.import_ import bundle_name
from kerntrace.trace.bundle import read_bundle


def rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    return {name: table.arrow_table().to_pylist() for name, table in read_bundle(path, verify=True).tables().items()}


def test_a_bundle_in_gives_the_same_bundle_out(bundles: Path, tmp_path: Path) -> None:
    ran = kerntrace("import", bundles / "eager.ktrace", "-o", tmp_path / "copy")
    assert (ran.status, ran.out) == (0, "")
    assert "kernels" in ran.err.splitlines()[0]
    assert ran.err.splitlines()[1].startswith("Next: kerntrace steps")
    assert rows(tmp_path / "copy.ktrace") == rows(bundles / "eager.ktrace")


def kineto(path: Path) -> Path:
    """A small torch.profiler trace: one launch, one kernel."""
    common = {"ph": "X", "pid": 1, "tid": 2}
    events = [
        common | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 10.0, "dur": 2.0, "args": {"correlation": 4}},
        common | {"cat": "kernel", "name": "k", "ts": 20.0, "dur": 5.0, "args": {"correlation": 4, "device": 0, "stream": 7}},
    ]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def test_a_foreign_trace_is_written_to_the_directory_that_one_is_in(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    ran = kerntrace("import", kineto(tmp_path / "elsewhere" / "run.json"), cwd=tmp_path)
    assert ran.status == 0, ran.err
    assert len(rows(tmp_path / "run.ktrace")["kernels"]) == 1


@pytest.mark.parametrize("force", [False, True])
def test_an_existing_bundle_is_replaced_only_with_force(
    force: bool, bundles: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "x.ktrace"
    shutil.copytree(bundles / "graph.ktrace", target)
    before = rows(target)
    status = app.run(["import", str(bundles / "eager.ktrace"), "-o", str(target), *(["--force"] if force else [])])
    assert status == (0 if force else 2)
    assert (rows(target) == before) is not force
    assert force or "exists already" in capsys.readouterr().err


def test_a_bundle_may_be_imported_over_itself(bundles: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "x.ktrace"
    shutil.copytree(bundles / "graph.ktrace", target)
    assert app.run(["import", str(target), "-o", str(target), "--force"]) == 0
    assert rows(target) == rows(bundles / "graph.ktrace")


def test_force_does_not_replace_what_is_no_bundle(bundles: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.ktrace").write_text("years of work")
    assert app.run(["import", str(bundles / "eager.ktrace"), "-o", str(tmp_path / "x.ktrace"), "--force"]) == 2
    assert (tmp_path / "x.ktrace").read_text() == "years of work"


@pytest.mark.parametrize("output", [".", "/", "", "x" * 300])
def test_an_output_that_is_no_name(output: str, bundles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert called("import", bundles / "eager.ktrace", "-o", output).complaint(2)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_bundle_is_not_made_to_look_sound(bundles: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Importing gives every table a new checksum, so it must not take one whose own does not fit."""
    damaged = tmp_path / "damaged.ktrace"
    shutil.copytree(bundles / "eager.ktrace", damaged)
    manifest = json.loads((damaged / "manifest.json").read_text())
    manifest["tables"]["kernels"]["sha256"] = "0" * 64
    (damaged / "manifest.json").write_text(json.dumps(manifest))
    assert app.run(["import", str(damaged), "-o", str(tmp_path / "new.ktrace")]) == 1
    assert not (tmp_path / "new.ktrace").exists()


def test_a_file_that_is_no_trace_leaves_nothing_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_text("hello")
    assert app.run(["import", str(tmp_path / "x"), "-o", str(tmp_path / "deep" / "y")]) == 1
    assert [f.name for f in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(
    ("name", "bundle"),
    [
        ("run.sqlite", "run.ktrace"),
        ("run.sqlite.gz", "run.ktrace"),
        ("run.json.gz", "run.ktrace"),
        ("run.nsys-rep", "run.ktrace"),
        ("run_pqtdir", "run.ktrace"),
        ("run.ktrace", "run.ktrace"),
        ("run.1", "run.1.ktrace"),
        (".gz", ".gz.ktrace"),
    ],
)
def test_what_a_bundle_is_called(name: str, bundle: str) -> None:
    assert bundle_name(name) == bundle
