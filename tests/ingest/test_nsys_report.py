"""`.nsys-rep` reports, through an nsys that is there, too old, broken, or missing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from tests.ingest.nsys_files import small_export

from kerntrace.errors import UnreadableError
from kerntrace.ingest import nsys_report
from kerntrace.ingest.nsys_report import installed, is_report, is_stream, read_nsys_report
from kerntrace.ingest.open_any import open_any

FIRST_LINE = b"NVIDIA Tegra Profiler Report %s.\n\x0bhost-name"


def report(tmp_path: Path, version: str = "2025@3@2@0-253235389321v0", name: str = "run.nsys-rep") -> Path:
    path = tmp_path / name
    path.write_bytes(FIRST_LINE % version.encode() + bytes(range(256)))
    return path


def fake_nsys(folder: Path, export: str, version: str = "2025.3.2.474-253236389321v0") -> str:
    """An nsys that answers `--version` and exports by running the shell script `export`, in which $out is the file to write."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "nsys"
    program.write_text(
        "#!/bin/sh\n"
        f'if [ "$1" = --version ]; then echo "NVIDIA Nsight Systems version {version}"; exit 0; fi\n'
        'for option in "$@"; do case $option in --output=*) out=${option#--output=};; esac; done\n'
        f"{export}\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is first on PATH, while no real nsys is on it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "cp", "sleep", "touch"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    monkeypatch.setenv("PATH", f"{folder}:{tools}")
    return folder


def read(path: Path, places: Sequence[str] = (), seconds: float = 60) -> int:
    return len(read_nsys_report(path, usual_places=places, seconds=seconds).kernels)


def refusal(path: Path, places: Sequence[str] = (), seconds: float = 60) -> UnreadableError:
    with pytest.raises(UnreadableError) as caught:
        read(path, places, seconds)
    assert "\n" not in caught.value.what
    assert "host-name" not in str(caught.value)
    return caught.value


def test_a_report_is_exported_and_read(tmp_path: Path, alone: Path) -> None:
    export = small_export().sqlite(tmp_path / "made.sqlite")
    fake_nsys(alone, f'cp "{export}" "$out"')
    assert read(report(tmp_path)) == 2


def test_a_name_that_looks_like_an_option_or_a_command_is_only_a_name(
    tmp_path: Path, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = small_export().sqlite(tmp_path / "made.sqlite")
    fake_nsys(
        alone,
        f'for last; do case $last in -*) no=1;; *) no=;; esac; done; [ -z "$no" ] && [ -f "$last" ] && cp "{export}" "$out"',
    )
    monkeypatch.chdir(tmp_path)
    for name in ("-o x.nsys-rep", "$(touch pwned).nsys-rep", "a;touch pwned"):
        assert read(Path(report(tmp_path, name=name).name)) == 2
    assert not (tmp_path / "pwned").exists()


def test_without_nsys_the_two_ways_out_are_named(tmp_path: Path, alone: Path) -> None:
    error = refusal(report(tmp_path))
    assert "no nsys is found" in error.what
    assert "nsys export -t sqlite" in error.hint
    assert "install nsight-systems" in error.hint


def test_an_older_nsys_is_told_with_both_versions(tmp_path: Path, alone: Path) -> None:
    fake_nsys(alone, "echo unreachable", version="2023.4.4.54-234433681190v0")
    error = refusal(report(tmp_path, "2025@5@1@121-255136380782v0"))
    assert "2025.5.1" in error.what
    assert "2023.4.4" in error.what
    assert "upgrade" in error.hint


def test_a_newer_nsys_elsewhere_is_used_when_the_one_on_path_is_too_old(tmp_path: Path, alone: Path) -> None:
    export = small_export().sqlite(tmp_path / "made.sqlite")
    fake_nsys(alone, "echo unreachable", version="2023.4.4")
    fake_nsys(tmp_path / "opt/2024.1", "echo unreachable", version="2024.1.1")
    fake_nsys(tmp_path / "opt/2025.6", f'cp "{export}" "$out"', version="2025.6.1")
    assert read(report(tmp_path, "2025@5@1"), [f"{tmp_path}/opt/*/nsys"]) == 2


def test_the_one_on_path_comes_first_and_then_the_newest(tmp_path: Path, alone: Path) -> None:
    for place in (alone, tmp_path / "opt/2024.1", tmp_path / "opt/2025.6"):
        fake_nsys(place, "exit 0")
    (tmp_path / "opt/2025.7").mkdir()
    (tmp_path / "opt/2025.7/nsys").write_text("not a program")
    found = installed([f"{tmp_path}/opt/*/nsys"])
    assert found == [str(alone / "nsys"), f"{tmp_path}/opt/2025.6/nsys", f"{tmp_path}/opt/2024.1/nsys"]


def test_a_report_that_does_not_say_its_version_is_tried(tmp_path: Path, alone: Path) -> None:
    export = small_export().sqlite(tmp_path / "made.sqlite")
    fake_nsys(alone, f'cp "{export}" "$out"', version="2021.1.1")
    path = tmp_path / "old.qdrep"
    path.write_bytes(b"Report 1.\n\0\0")
    assert read(path) == 2


@pytest.mark.parametrize("status", [0, 1])
def test_a_failed_export_is_told_whatever_the_exit_status(tmp_path: Path, alone: Path, status: int) -> None:
    fake_nsys(alone, f"printf '1: 10%%\\r1: 99%%\\nExportation error: magic mismatch.\\nbye\\n'; exit {status}")
    error = refusal(report(tmp_path))
    assert "nsys 2025.3.2 did not export it: Exportation error: magic mismatch." in error.what


def test_an_empty_export_is_a_failed_one(tmp_path: Path, alone: Path) -> None:
    fake_nsys(alone, 'touch "$out"')
    assert "did not export it" in refusal(report(tmp_path)).what


def test_a_report_of_a_newer_nsys_that_does_not_say_so_is_not_taken_for_an_export_without_tables(
    tmp_path: Path, alone: Path
) -> None:
    """What nsys 2023.4 does with a report of 2025.3, whose first line has a build's number for a version."""
    with closing(sqlite3.connect(tmp_path / "made.sqlite")) as database:
        database.executescript("CREATE TABLE StringIds (id INTEGER, value TEXT); CREATE TABLE ProcessStreams (id INTEGER);")
    said = (
        """[libprotobuf ERROR message_lite.cc:133] Can't parse message of type "SessionState" because it is missing fields: X"""
    )
    fake_nsys(alone, f"cp '{tmp_path}/made.sqlite' \"$out\"; echo '{said.replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}'")
    error = refusal(report(tmp_path, "36398880"))
    assert "nsys 2025.3.2 did not export it: it cannot parse the file" in error.what
    assert "newer Nsight Systems" in str(error.hint)


def test_what_is_no_report_is_not_given_to_nsys(tmp_path: Path, alone: Path) -> None:
    (tmp_path / "notes.nsys-rep").write_text("not really")
    with pytest.raises(UnreadableError, match="is not an Nsight Systems report"):
        nsys_report.export_report(tmp_path / "notes.nsys-rep", tmp_path / "out.sqlite")


def test_a_report_of_ranges_only_is_read_from_the_export_beside_it(tmp_path: Path, alone: Path) -> None:
    """As `kerntrace export --format nsys-rep` leaves the pair."""
    with closing(sqlite3.connect(tmp_path / "made.sqlite")) as database:
        database.executescript("CREATE TABLE NVTXT_EVENTS (start INTEGER); CREATE TABLE StringIds (id INTEGER, value TEXT);")
        database.executescript("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);")
    fake_nsys(alone, f'cp "{tmp_path}/made.sqlite" "$out"')
    path = report(tmp_path)
    assert read(path) == 0
    small_export().sqlite(path.with_suffix(".sqlite"))
    assert read(path) == 2
    (alone / "nsys").unlink()
    assert "Name run.sqlite beside it" in str(refusal(path).hint)


def test_an_export_that_is_no_database_is_told_by_the_reports_name(tmp_path: Path, alone: Path) -> None:
    fake_nsys(alone, 'echo nonsense nonsense > "$out"')
    path = report(tmp_path)
    assert refusal(path).what.startswith(str(path))


def test_an_export_that_takes_too_long_is_ended_with_its_children(tmp_path: Path, alone: Path) -> None:
    fake_nsys(alone, f'(sleep 1.5; touch "{tmp_path}/late") & sleep 60')
    assert "had not ended after 1 s" in refusal(report(tmp_path), seconds=1).what
    time.sleep(1)
    assert not (tmp_path / "late").exists()


def test_an_nsys_that_cannot_be_run_is_told(tmp_path: Path, alone: Path) -> None:
    program = alone / "nsys"
    program.write_bytes(b"\x7fELF not really")
    program.chmod(0o755)
    assert "could not be run" in refusal(report(tmp_path)).what


def test_nothing_is_left_behind(tmp_path: Path, alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    export = small_export().sqlite(tmp_path / "made.sqlite")
    fake_nsys(alone, f'cp "{export}" "$out"')
    read(report(tmp_path))
    fake_nsys(alone, 'touch "$out"; exit 1')
    refusal(report(tmp_path))
    assert list(scratch.iterdir()) == []


def test_kinds_are_told_by_their_first_bytes() -> None:
    assert is_report(FIRST_LINE % b"2023@4@4@54-234433681190v0")
    assert is_report(FIRST_LINE % b"1")
    assert is_report(b"Report 1.\n\0")
    assert not is_report(b"Report 1. Sales were good.\n")
    assert is_stream(b"U3w[END]NVIDIA Nsight Systems Stream 2023.4.4.54-234433681190v0!\n")
    assert not is_stream(b"A text that mentions, much later than sixty-four bytes into it, NVIDIA Nsight Systems Stream")


# ---- the real nsys, where there is one


def real_nsys() -> str:
    found = os.environ.get("NSYS") or shutil.which("nsys")
    if not found:
        pytest.skip("no nsys on PATH (or in $NSYS)")
    return found


@pytest.mark.nsys
def test_the_real_nsys_says_its_version() -> None:
    assert nsys_report._version(real_nsys()) is not None


@pytest.mark.nsys
def test_a_report_the_real_nsys_recorded_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nsys = real_nsys()
    target = tmp_path / "true"
    command = [nsys, "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", f"--output={target}", "true"]
    subprocess.run(command, check=False, capture_output=True, timeout=120)
    recorded = target.with_suffix(".nsys-rep")
    if not recorded.is_file():
        pytest.skip("this nsys cannot record here")
    monkeypatch.setenv("PATH", f"{Path(nsys).parent}:{os.environ['PATH']}")
    manifest = open_any(recorded).manifest
    assert manifest.capture.collector == "nsys"
    assert manifest.epoch_ns is not None
    assert abs(manifest.epoch_ns / 1e9 - time.time()) < 86_400


@pytest.mark.nsys
def test_the_real_nsys_exports_a_parquet_directory_that_opens(tmp_path: Path) -> None:
    nsys = real_nsys()
    target = tmp_path / "true"
    command = [nsys, "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", f"--output={target}", "true"]
    subprocess.run(command, check=False, capture_output=True, timeout=120)
    if not target.with_suffix(".nsys-rep").is_file():
        pytest.skip("this nsys cannot record here")
    folder = tmp_path / "true_pqtdir"
    command = [nsys, "export", "--type=parquetdir", f"--output={folder}", str(target.with_suffix(".nsys-rep"))]
    subprocess.run(command, check=False, capture_output=True, timeout=120)
    assert (open_any(folder).manifest.capture.source or "").startswith("nsys-parquet 3.")
