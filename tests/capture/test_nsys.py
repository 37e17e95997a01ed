"""nsys as a collector: how it is put before a command, and a recording through a stand-in for it."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest
from tests.ingest.nsys_files import small_export
from tests.support.capturing import Built, run

from kerntrace.capture.machine import Machine
from kerntrace.capture.nsys import find_nsys, finished_report, nsys_version, profile_command
from kerntrace.errors import KerntraceError, UsageError
from kerntrace.trace.bundle import read_bundle

# Runs the command that follows its options, then writes a report; exports what $EXPORT names.
NSYS = """#!/bin/sh
if [ "$1" = --version ]; then echo "NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0"; exit 0; fi
for option in "$@"; do case $option in --output=*) out=${option#--output=};; esac; done
if [ "$1" = export ]; then cp "$EXPORT" "$out"; exit 0; fi
while [ $# -gt 0 ]; do case $1 in profile|--*) shift;; *) break;; esac; done
"$@"; status=$?
printf 'NVIDIA Tegra Profiler Report 2025@3@2@0-253235389321v0.\\n\\013host' > "$out.nsys-rep"
exit $status
"""


@pytest.fixture
def nsys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "nsys"
    program.write_text(NSYS)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    for tool in ("sh", "cp", "true"):
        (folder / tool).symlink_to(shutil.which(tool) or tool)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("KERNTRACE_NSYS", raising=False)
    export = tmp_path / "export.sqlite"
    small_export().sqlite(export)
    monkeypatch.setenv("EXPORT", str(export))
    return program


def test_the_one_on_the_path_is_found_and_asked_for_its_version(nsys: Path) -> None:
    assert find_nsys() == str(nsys)
    assert nsys_version(str(nsys)) == "2025.3.2.474"


def test_a_named_one_comes_first(nsys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNTRACE_NSYS", "/elsewhere/nsys")
    assert find_nsys() == "/elsewhere/nsys"
    assert nsys_version("/elsewhere/nsys") is None


def test_graphs_are_recorded_by_their_nodes(tmp_path: Path) -> None:
    command = profile_command("nsys", tmp_path / "a.b.nsys-rep")
    assert command[:2] == ("nsys", "profile")
    assert {"--cuda-graph-trace=node", "--capture-range=cudaProfilerApi", "--capture-range-end=stop"} <= set(command)
    assert f"--output={tmp_path / 'a.b'}" in command
    assert "--capture-range-end=stop" not in profile_command("nsys", tmp_path / "a.nsys-rep", "none")


def test_a_recording_under_nsys_keeps_its_report_beside_the_bundle(nsys: Path, recorder: Built, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    assert run("record", "--collector", "nsys", "-o", out / "run", "--", "sh", "-c", "exit 5") == 5
    assert sorted(path.name for path in out.iterdir()) == ["run.ktrace", "run.nsys-rep"]
    trace = read_bundle(out / "run.ktrace")
    assert trace.manifest.capture.collector == "nsys"
    assert len(trace.kernels) > 0


def test_a_profile_under_nsys_keeps_its_report_beside_the_bundle(
    nsys: Path, recorder: Built, fake_engines: Path, gpu: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    small = ["profile", "--mode", "eager", "--batch", "1", "--context", "16", "--tokens", "9", "--repetitions", "2"]
    with pytest.raises(KerntraceError, match="no steps found"):  # the stand-in's report is of something else
        run(*small, "--collector", "nsys", "--no-dilation", "-o", out / "run.ktrace")
    assert sorted(path.name for path in out.iterdir()) == ["run.ktrace", "run.nsys-rep"]
    assert (out / "run.nsys-rep").read_bytes().startswith(b"NVIDIA Tegra Profiler Report")
    assert read_bundle(out / "run.ktrace").manifest.capture.collector == "nsys"
    (out / "run.ktrace").rename(out / "moved.ktrace")
    capsys.readouterr()
    with pytest.raises(UsageError, match=r"run\.nsys-rep exists already"):
        run(*small, "--collector", "nsys", "--no-dilation", "-o", out / "run.ktrace")


def test_a_raw_recording_without_its_importer_is_told(tmp_path: Path) -> None:
    (tmp_path / "r.qdstrm").touch()
    with pytest.raises(KerntraceError, match="its importer"):
        finished_report(tmp_path / "r.nsys-rep", str(tmp_path / "bin" / "nsys"))
