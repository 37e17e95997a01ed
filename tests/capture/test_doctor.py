from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.capturing import Built, run

from kerntrace.capture import doctor
from kerntrace.capture.cupti_bugs import BUGS, bugs_of, version_name
from kerntrace.capture.machine import Machine


def found(what: str) -> list[doctor.Finding]:
    return [finding for finding in doctor.examine() if finding.what == what]


def test_a_machine_that_can_record_has_nothing_to_fix(
    recorder: Built, gpu: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("doctor", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "kerntrace.doctor/1"
    states = {row["what"]: row["state"] for row in document["findings"]}
    assert {states[what] for what in ("GPU 0", "driver", "recorder", "CUPTI", "CUPTI session")} == {"ok"}
    assert all(row["advice"] for row in document["findings"] if row["state"] == "fix")


def test_each_known_bug_of_the_loaded_cupti_is_told(recorder: Built, gpu: Machine) -> None:
    (cupti,) = found("CUPTI")
    version = next(v for v in range(120000, 140000) if cupti.told.startswith(f"{version_name(v)} "))
    assert [finding.told.split(": ", 1)[1] for finding in found("CUPTI bug")] == [bug.about for bug in bugs_of(version)]


def test_bugs_end_where_they_are_fixed() -> None:
    sessions = BUGS[0]
    assert sessions.affects(130001)
    assert not sessions.affects(130101)
    assert sessions in bugs_of(120000)
    assert sessions not in bugs_of(130200)


def test_no_recorder_is_something_to_fix(gpu: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNTRACE_LIBRARY", str(tmp_path / "libkerntrace.so"))
    from kerntrace.capture.native import native

    native.cache_clear()
    (finding,) = found("recorder")
    assert finding.state == doctor.FIX
    assert "built without its recorder" in finding.told


def test_an_injected_tool_is_a_warning(recorder: Built, gpu: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/opt/other/libother.so")
    (finding,) = found("CUDA_INJECTION64_PATH")
    assert (finding.state, finding.told) == (doctor.WARNING, "names libother.so")


def test_no_gpu_is_told_and_the_rest_is_looked_at(recorder: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    from kerntrace.capture import machine

    def none() -> Machine:
        raise machine.NoGpuError("the driver sees none")

    monkeypatch.setattr(machine, "look", none)
    (finding,) = found("GPU")
    assert finding.state == doctor.FIX
    assert found("scratch disk")


def test_the_table_names_every_finding(recorder: Built, gpu: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("doctor") == 0
    shown = capsys.readouterr().out
    assert all(finding.what in shown for finding in doctor.examine())
