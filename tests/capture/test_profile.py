"""A whole profile over the mock libcupti: the engine's process, the recorder in it, the untraced one beside it, the bundle."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.support.capturing import Built, run

from kerntrace.capture.machine import Machine
from kerntrace.errors import KerntraceError, UsageError
from kerntrace.trace.bundle import read_bundle

SMALL = ["profile", "--batch", "1,4", "--context", "16", "--tokens", "9", "--repetitions", "3", "--recorded", "2"]


@pytest.fixture(autouse=True)
def _stage(recorder: Built, fake_engines: Path, gpu: Machine) -> None:
    pass


@pytest.mark.parametrize("version", ["0.20.0", "0.24.0", "0.33.0"])
def test_every_step_of_the_recorded_calls_is_in_the_bundle(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_VLLM_VERSION", version)
    output = tmp_path / "out.ktrace"
    assert run(*SMALL, "--mode", "eager", "-o", output, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "kerntrace.profile/1"
    assert [(row["batch"], row["kernels"]["min"], row["kernels"]["max"]) for row in document["summary"]] == [
        (1, 5, 5),
        (4, 5, 5),
    ]
    # Of each recorded call's eight decode steps the first follows a prefill and the last has no decode step after it.
    assert [row["steps"] for row in document["summary"]] == [12, 12]
    trace = read_bundle(output, verify=True)
    assert len(trace.kernels) == 2 * 2 * 9 * 5
    names = set(trace.ranges.names("name").values)
    assert "kerntrace.step decode=4 prefill=0 prefill_tokens=0 context=16" in names
    assert "kerntrace.step decode=0 prefill=4 prefill_tokens=64" in names


def test_the_manifest_says_what_ran_and_on_what(tmp_path: Path) -> None:
    output = tmp_path / "out.ktrace"
    assert run(*SMALL, "--mode", "graph", "-o", output, "--in-process") == 0
    manifest = read_bundle(output).manifest
    said = manifest.environment
    assert (said.vllm, said.torch, said.cuda, said.driver) == ("0.24.0", "2.11.0", "13.0", "580.159.04")
    assert said.python
    workload = manifest.workload
    assert (workload.engine, workload.model, workload.mode) == ("vllm-in-process", "llama-3.1-8b", "graph")
    assert (workload.batches, workload.context, workload.tokens) == ((1, 4), 16, 9)
    assert manifest.capture.collector == "native"
    assert manifest.capture.dropped_records == 0
    assert str(tmp_path) not in (output / "manifest.json").read_text()


def test_untraced_walls_are_those_of_the_untraced_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.ktrace"
    assert run(*SMALL, "--mode", "eager", "-o", output, "--json") == 0
    walls = read_bundle(output).walls
    rows = list(zip(*(walls.ints(name).tolist() for name in ("batch", "context", "tokens", "repetition", "wall_ns"))))
    assert [row[:4] for row in rows] == sorted((b, 16, t, r) for b in (1, 4) for t in (1, 9) for r in range(3))
    times = json.loads(capsys.readouterr().out)["times"]
    wall = {row[:4]: row[4] for row in rows}
    for cell in times:
        expected = [(wall[cell["batch"], 16, 9, r] - wall[cell["batch"], 16, 1, r]) / 8 for r in range(3)]
        assert cell["untraced_step_ns"] == expected
        assert len(cell["traced_step_ns"]) == 3


def test_a_profile_without_dilation_starts_one_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.ktrace"
    assert run(*SMALL, "--mode", "eager", "-o", output, "--no-dilation") == 0
    assert len(read_bundle(output).walls) == 0
    told = capsys.readouterr()
    assert "untraced" not in told.err
    assert "12 steady steps, 5 kernels, 5 launch calls a step" in told.out


def test_where_two_do_not_fit_the_untraced_engine_runs_before_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kerntrace.capture import machine

    small = Machine((machine.Gpu("NVIDIA L4", 25 * 10**9, 25 * 10**9),), "580", "13.0")
    monkeypatch.setattr(machine, "look", lambda: small)
    output = tmp_path / "out.ktrace"
    assert run(*SMALL, "--mode", "eager", "-o", output) == 0
    told = capsys.readouterr().err
    assert told.index("untraced-before") < told.index("the traced") < told.index("untraced-after")
    assert len(read_bundle(output).walls) == 2 * 2 * 2 * 3


def test_an_engine_that_does_not_start_is_quoted_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_VLLM_FAILS", "1")
    with pytest.raises(KerntraceError, match="the engine stopped: RuntimeError: CUDA out of memory, says the fake"):
        run(*SMALL, "--mode", "eager", "-o", tmp_path / "out.ktrace")
    assert not (tmp_path / "out.ktrace").exists()


def test_an_engine_that_dies_is_told_with_its_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_VLLM_FAILS", "kill")
    with pytest.raises(KerntraceError, match=r"the untraced engine ended early \(signal SIGKILL\)"):
        run(*SMALL, "--mode", "eager", "-o", tmp_path / "out.ktrace")


def test_a_recorder_that_cannot_start_is_told_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNTRACE_CUPTI", str(tmp_path / "no-such-libcupti.so"))
    monkeypatch.delenv("MOCK_CUPTI")
    with pytest.raises(KerntraceError, match="cannot be recorded"):
        run(*SMALL, "--mode", "eager", "-o", tmp_path / "out.ktrace", "--no-dilation")


def test_an_output_that_exists_stays(tmp_path: Path) -> None:
    (tmp_path / "out.ktrace").mkdir()
    with pytest.raises(UsageError, match="exists already"):
        run(*SMALL, "--mode", "eager", "-o", tmp_path / "out.ktrace")


def test_collectors_are_compared_on_one_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shape = ["--batch", "1,4", "--context", "16", "--tokens", "9", "--repetitions", "2"]
    kept = tmp_path / "kept"
    collectors = ["--collectors", "native,cupti-python"]
    assert run("compare-collectors", "--mode", "eager", *shape, *collectors, "--keep", kept, "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    native = [row for row in rows if row["collector"] == "native"]
    counted = [(row["batch"], row["kernels"]["median"], row["segmentation"]) for row in native]
    assert counted == [(1, 5, "kerntrace"), (4, 5, "kerntrace")]
    assert [row["differences"] for row in native] == [[], []]
    failed = [row["error"] for row in rows if row["collector"] == "cupti-python"]
    assert len(failed) == 1
    assert failed[0].startswith("the engine stopped: cupti-python")
    assert len(read_bundle(kept / "native-eager.ktrace").kernels)


def test_a_dilation_is_told_with_its_pairs_and_their_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shape = ["--batch", "1", "--context", "16", "--tokens", "65", "--repetitions", "9"]  # a step of no time is left out
    assert run("profile", "--mode", "eager", *shape, "-o", tmp_path / "out.ktrace") == 0
    lines = capsys.readouterr().out.splitlines()
    heading = next(i for i, line in enumerate(lines) if line.split()[:1] == ["batch"] and "paired" in line)
    assert "95 %" in lines[heading]
    row = next(line for line in lines[heading + 1 :] if line.strip().startswith("1 "))
    assert re.search(r"\[\d+\.\d{3}, \d+\.\d{3}\] +\d+\.\d{3} to \d+\.\d{3} +[6-9]$", row.rstrip())


def test_collectors_are_told_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shape = ["--batch", "1", "--context", "16", "--tokens", "9", "--repetitions", "2"]
    assert run("compare-collectors", "--mode", "eager", *shape, "--collectors", "native,cupti-python") == 0
    lines = capsys.readouterr().out.splitlines()
    (native,) = (line.split() for line in lines if line.startswith("native"))
    assert (native[1], native[3]) == ("1", "5")  # batch, kernels a step
    assert any(line.split() == ["cupti-python", *["-"] * 10] for line in lines)
    assert any(line.startswith("cupti-python: the engine stopped: cupti-python") for line in lines)
