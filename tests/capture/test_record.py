"""`kerntrace record` over the mock libcupti: injection into a tree of processes, and what is said of it."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest
from tests.support.capturing import Built, run

from kerntrace.errors import UsageError
from kerntrace.trace.bundle import read_bundle
from kerntrace.trace.model import pids

# What vLLM does: plugins first, then the worker's module, then steps; and, as the CUDA driver does, load the injected library.
SERVE = """
import ctypes, os, sys
from kerntrace.capture.vllm_plugin import register
register()
register()
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
import vllm
llm = vllm.LLM(model="m")
llm.generate([{"prompt_token_ids": [1, 2, 3, 4]}] * 2, vllm.SamplingParams(ignore_eos=True, max_tokens=3), use_tqdm=False)
"""


@pytest.fixture(autouse=True)
def _stage(recorder: Built) -> None:
    pass


def test_a_program_is_recorded_and_its_status_is_ours(built: Built, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("record", "-o", tmp_path / "out", "--", built.program, "init", "launch:5", "exit:7") == 7
    assert len(read_bundle(tmp_path / "out.ktrace").kernels) == 5
    assert "next: kerntrace steps" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["out.ktrace"]


def test_options_after_the_command_are_the_commands(built: Built, tmp_path: Path) -> None:
    code = "import sys; sys.exit(sys.argv[1:] != ['--mode', '-o', 'x'])"
    assert run("record", "-o", tmp_path / "out", sys.executable, "-c", code, "--mode", "-o", "x") == 1  # nothing recorded
    code = "import sys; sys.exit(9 if sys.argv[1:] == ['--mode', '-o', 'x'] else 8)"
    assert run("record", "-o", tmp_path / "out", sys.executable, "-c", code, "--mode", "-o", "x") == 9


def test_ranges_and_kernels_of_several_processes_make_one_bundle(
    built: Built, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = (
        f"import subprocess as s; [s.run([{str(built.program)!r}, 'init', 'nvtx', 'push:a', 'launch:3', 'pop']) for _ in '12']"
    )
    assert run("record", "-o", tmp_path / "out", "--", sys.executable, "-c", code) == 0
    trace = read_bundle(tmp_path / "out.ktrace")
    assert len(trace.kernels) == 6
    assert len(pids(trace)) == 2
    assert len(trace.ranges) == 2
    said = capsys.readouterr().err
    assert "2 processes ran work on a GPU; choose one" in said
    assert "--pid" in said


def test_a_capture_range_leaves_the_rest_out(built: Built, tmp_path: Path) -> None:
    does = ["init", "launch:2", "start", "launch:3", "stop", "launch:4"]
    assert run("record", "-o", tmp_path / "out", "--capture-range", "cuda", "--", built.program, *does) == 0
    assert len(read_bundle(tmp_path / "out.ktrace").kernels) == 3


def test_kinds_choose_what_is_recorded(built: Built, tmp_path: Path) -> None:
    assert run("record", "-o", tmp_path / "out", "--kinds", "kernels", "--", built.program, "init", "launch:2", "memcpy:2") == 0
    trace = read_bundle(tmp_path / "out.ktrace")
    assert (len(trace.kernels), len(trace.memops), len(trace.api_calls)) == (2, 0, 0)


def test_a_killed_program_leaves_what_was_written(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KERNTRACE_FLUSH_MS", "10")
    does = ["init", "launch:5", "sleep:500", "kill"]
    assert run("record", "-o", tmp_path / "out", "--", built.program, *does) == 128 + 9
    assert len(read_bundle(tmp_path / "out.ktrace").kernels) == 5
    assert "incomplete: " in capsys.readouterr().err


def test_nothing_recorded_is_said_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("record", "-o", tmp_path / "out", "--", "true") == 1
    assert "no process of the command used CUDA or NVTX" in capsys.readouterr().err
    assert run("record", "-o", tmp_path / "out", "--", "sh", "-c", "exit 6") == 6
    assert not list(tmp_path.iterdir())


def test_shards_that_hold_nothing_are_kept_and_named(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("record", "-o", tmp_path / "out", "--capture-range", "cuda", "--", built.program, "init", "launch:1") == 1
    (kept,) = tmp_path.iterdir()
    assert f"What was recorded is kept in {kept}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--capture-range", "gpu"], "--capture-range 'gpu'"),
        (["--capture-range", "nvtx:"], "--capture-range 'nvtx:'"),
        (["--kinds", "kernel"], "'kernel' is no kind of record"),
        (["--kinds", "kernels,graphs"], "exclude each other"),
        (["--collector", "kineto"], "cannot record a command"),
    ],
)
def test_what_makes_no_sense_is_said_before_the_program_starts(tmp_path: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run("record", "-o", tmp_path / "out", *arguments, "--", "touch", tmp_path / "ran")
    assert not (tmp_path / "ran").exists()


def test_a_command_that_is_not_there_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="command not found"):
        run("record", "-o", tmp_path / "out", "--", "no-such-command")
    assert not list(tmp_path.iterdir())


def test_another_injected_tool_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/opt/tools/libother.so")
    with pytest.raises(UsageError, match=r"names libother\.so: another tool is injected"):
        run("record", "-o", tmp_path / "out", "--", "true")


def test_an_nsys_that_leaves_no_report_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kerntrace.errors import KerntraceError

    nsys = tmp_path / "nsys"
    nsys.write_text('#!/bin/sh\nfor last; do :; done\necho "$@" > "$NSYS_SAID"\n')
    nsys.chmod(nsys.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("KERNTRACE_NSYS", str(nsys))
    monkeypatch.setenv("NSYS_SAID", str(tmp_path / "said"))
    with pytest.raises(KerntraceError, match="nsys left no report: it recorded nothing"):
        run("record", "-o", tmp_path / "out", "--collector", "nsys", "--capture-range", "cuda", "--", "program", "-x")
    said = (tmp_path / "said").read_text().split()
    assert said[0] == "profile"
    assert said[-2:] == ["program", "-x"]
    assert {"--cuda-graph-trace=node", "--capture-range=cudaProfilerApi", f"--output={tmp_path / 'out'}"} <= set(said)


def test_a_vllm_that_somebody_else_starts_has_its_steps_marked(
    built: Built, tmp_path: Path, fake_engines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "serve.py"
    script.write_text(SERVE)
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    for version in ("0.20.0", "0.33.0"):
        monkeypatch.setenv("FAKE_VLLM_VERSION", version)
        assert run("record", "-o", tmp_path / "out", "--force", "--", sys.executable, script) == 0
        trace = read_bundle(tmp_path / "out.ktrace")
        names = trace.ranges.names("name")
        assert [names.values[code] for code in names.codes] == [
            "kerntrace.step decode=0 prefill=2 prefill_tokens=8",
            "kerntrace.step decode=2 prefill=0 prefill_tokens=0 context=4",
            "kerntrace.step decode=2 prefill=0 prefill_tokens=0 context=4",
        ]
        assert trace.ranges.ints("payload").tolist() == [0, 1, 2]
        assert len(trace.kernels) == 15


def test_a_vllm_that_is_too_old_runs_on_unmarked(
    built: Built, tmp_path: Path, fake_engines: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "serve.py"
    script.write_text(SERVE)
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    monkeypatch.setenv("FAKE_VLLM_VERSION", "0.11.0")
    assert run("record", "-o", tmp_path / "out", "--", sys.executable, script) == 0
    trace = read_bundle(tmp_path / "out.ktrace")
    assert (len(trace.kernels), len(trace.ranges)) == (15, 0)
    assert "steps are not marked: vLLM 0.11.0 is older than 0.20" in capfd.readouterr().err
