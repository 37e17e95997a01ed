"""The command itself: help, wrong use, the error boundary, and a terminal that must stay whole."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command import called, kerntrace

from kerntrace import __version__
from kerntrace.cli import app, verbs
from kerntrace.errors import RefusedError, UnreadableError, UsageError

VERBS = ("compare", "steps", "kernels", "check", "import")


def test_version() -> None:
    ran = kerntrace("--version")
    assert (ran.status, ran.out, ran.err) == (0, f"kerntrace {__version__}\n", "")


def test_no_arguments_give_the_help() -> None:
    ran = kerntrace()
    assert ran.status in (0, 2)
    text = ran.out + ran.err
    assert "Usage: kerntrace" in text
    assert "\N{REPLACEMENT CHARACTER}" not in text
    listed = {line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.split()}
    assert set(VERBS) <= listed


def test_help_lists_every_verb() -> None:
    ran = kerntrace("--help")
    assert (ran.status, ran.err) == (0, "")
    assert {line.split()[0] for line in ran.out.splitlines() if line.startswith("  ") and line.split()} >= set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run([verb, "--help"]) == 0
    shown = capsys.readouterr()
    assert f"Usage: kerntrace {verb}" in shown.out
    assert shown.err == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "nonsense"),
        (["steps"], "TRACE"),
        (["steps", "a", "b"], "b"),
        (["steps", "--nonsense", "a"], "--nonsense"),
        (["steps", "a", "--batch", "zero"], "--batch"),
        (["steps", "a", "--batch", "0"], "--batch"),
        (["steps", "a", "--batch", "-3"], "--batch"),
        (["steps", "a", "--device", "x"], "--device"),
        (["steps", "a", "--json", "--csv"], "--csv"),
        (["kernels", "a", "--json", "--csv"], "--csv"),
        (["compare", "a", "b", "--json", "--csv"], "--csv"),
        (["compare", "a"], "GRAPH"),
        (["check", "a", "--json-limit", "lots"], "--json-limit"),
        (["import"], "FILE"),
        (["\x1b[31mred"], "red"),
    ],
)
def test_wrong_use_is_told_in_two_lines(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert shown.err.startswith("kerntrace: ")
    assert len(shown.err.splitlines()) <= 2
    assert all(line.isprintable() for line in shown.err.splitlines())


def test_wrong_use_from_a_shell() -> None:
    assert "nonsense" in kerntrace("nonsense").complaint(2)


@pytest.mark.parametrize("verb", [v for v in VERBS if v != "compare"])
def test_a_file_that_is_not_there(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run([verb, str(tmp_path / "nothing.ktrace")]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "nothing.ktrace does not exist" in shown.err
    assert len(shown.err.splitlines()) <= 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"hello\n", "not a trace"),
        (b"\x1f\x8b\x08junk", ""),
        (b"{", ""),
        (b"SQLite format 3\0" + bytes(99), ""),
    ],
)
def test_a_file_that_is_no_trace(content: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_bytes(content)
    assert app.run(["steps", str(tmp_path / "x")]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert "defect" not in shown.err
    assert len(shown.err.splitlines()) <= 2


def test_a_directory_that_is_no_trace(tmp_path: Path) -> None:
    assert "holds no trace" in called("steps", tmp_path).complaint(1)


@pytest.mark.parametrize(
    ("error", "status"),
    [(UnreadableError("what", "hint"), 1), (UsageError("what"), 2), (RefusedError("what", "hint"), 3), (MemoryError(), 1)],
)
def test_each_kind_of_error_has_its_status(
    error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("kerntrace.cli.options.open_trace", fail)
    assert app.run(["check", "x"]) == status
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("kerntrace: ")
    assert len(lines) <= 2
    assert app.run(["check", "x", "--debug"]) == status
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert lines[0] in shown


def test_an_interrupt_is_not_called_a_defect(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kerntrace.cli.options.open_trace", fail)
    assert app.run(["check", "x"]) == 130
    assert capsys.readouterr().err == "kerntrace: interrupted\n"


def test_our_own_mistake_is_called_one_and_fits_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("first\nsecond \x1b[31m" + "x" * 10_000)

    monkeypatch.setattr("kerntrace.cli.options.open_trace", fail)
    assert app.run(["check", "x"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert "defect in kerntrace: ZeroDivisionError: first" in lines[0]
    assert "--debug" in lines[1]
    assert len(lines) == 2
    assert app.run(["--debug", "check", "x"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_leaves_early_is_no_error(bundles: Path) -> None:
    """`kerntrace steps X --json | head -1`: more is written than a pipe holds."""
    command = f"{sys.executable} -m kerntrace steps {bundles / 'many.ktrace'} --json | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "{"


@pytest.mark.parametrize("redirected", [">/dev/full", ">&-", "2>&-"])
def test_a_stream_that_cannot_be_written_to_is_no_defect(redirected: str, bundles: Path) -> None:
    if redirected == ">/dev/full" and not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    command = f"{sys.executable} -m kerntrace steps {bundles / 'eager.ktrace'} --json {redirected}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert "defect" not in done.stdout + done.stderr
    assert "Exception" not in done.stderr
    if redirected == "2>&-":
        assert done.returncode == 0
        assert done.stdout.startswith("{")
    else:
        assert done.returncode == 1


def test_file_names_cannot_write_to_the_terminal_either(bundles: Path, tmp_path: Path) -> None:
    evil = tmp_path / "\x1b[31mred[bold]\n.ktrace"
    shutil.copytree(bundles / "refused.ktrace", evil)
    said = kerntrace("steps", evil).complaint(3)
    assert "dropped-records" in said
    ran = kerntrace("import", evil, "-o", tmp_path / "\x1b[32mgreen.ktrace")
    assert ran.status == 0
    assert "\x1b" not in ran.out + ran.err
    ran = kerntrace("check", evil)
    assert ran.status == 3
    assert "\x1b" not in ran.out + ran.err
    assert "red[bold]" in ran.out


def test_output_that_the_locale_cannot_write_is_no_defect(bundles: Path) -> None:
    for verb, form in (("kernels", "--json"), ("kernels", "--csv"), ("steps", "--json")):
        ran = kerntrace(verb, bundles / "hostile.ktrace", form, PYTHONIOENCODING="ascii")
        assert ran.status == 0, ran.err


@pytest.mark.parametrize("name", verbs.VERBS)
def test_the_list_of_verbs_says_what_each_verb_says_of_itself(name: str) -> None:
    verb = verbs.VERBS[name]
    function = getattr(importlib.import_module(f"kerntrace.cli.{verb.module}"), verb.function)
    assert " ".join((function.__doc__ or "").split()).startswith(verb.about)


def test_a_missing_choice_is_told_in_a_line_with_all_choices() -> None:
    ran = kerntrace("profile")
    assert ran.status == 2
    assert ran.err.splitlines()[0] == "kerntrace: Missing option '--mode'. Choose from: eager, graph, graph-nocompile, compile"


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is a GPU")
def test_without_a_gpu_the_recordings_are_named() -> None:
    ran = kerntrace("profile", "--mode", "eager", "-o", "unwritten.ktrace")
    assert ran.status == 1
    assert "no NVIDIA GPU here" in ran.err
    bundles = [word for word in ran.err.split() if word.startswith("traces/")]
    assert len(bundles) == 2
    assert all((Path(__file__).parents[2] / bundle).is_dir() for bundle in bundles)
