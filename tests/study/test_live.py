"""A whole study over stand-ins for vLLM and libcupti: engines in processes of their own, walls, traced cells, resume."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.capturing import Built, built, fake_engines, gpu, recorder
from tests.support.command import called

from kerntrace.capture import machine
from kerntrace.capture.machine import Machine
from kerntrace.study import live
from kerntrace.study.records import Host, LeftOut, Study, TracedCell, Wall
from kerntrace.study.store import read_study

__all__ = ["built", "fake_engines", "gpu", "recorder"]

STUDY = """
name = "small"
model = "llama-3.1-8b"
[grid]
batches = [1, 4]
contexts = [16, 24]
modes = ["eager", "graph"]
[run]
tokens = 9
repetitions = 2
sessions = 1
warmup = 1
seed = 3
[engine]
prefix_caching = true
[traced]
batches = [4]
contexts = [16, 24]
"""


@pytest.fixture(autouse=True)
def _stage(recorder: Built, fake_engines: Path, gpu: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "look", lambda: machine.look())


def measured(tmp_path: Path, text: str = STUDY, *arguments: str | Path) -> Study:
    file = tmp_path / "small.toml"
    file.write_text(text)
    ran = called("study", "run", file, "-o", tmp_path / "store", *arguments)
    assert ran.status == 0, ran
    return read_study(tmp_path / "store")


def test_every_cell_is_timed_with_g_and_with_one_token(tmp_path: Path) -> None:
    study = measured(tmp_path)
    walls = [record for record in study.records if isinstance(record, Wall)]
    said = sorted((w.mode, w.batch, w.context, w.session, w.repetition, w.tokens) for w in walls)
    assert said == sorted(
        (mode, batch, context, 0, repetition, tokens)
        for mode in ("eager", "graph")
        for batch in (1, 4)
        for context in (16, 24)
        for repetition in (0, 1)
        for tokens in (1, 9)
    )
    assert all(wall.wall_ns > 0 for wall in walls)
    host = next(record for record in study.records if isinstance(record, Host))
    assert host.gpu == "NVIDIA H200"
    assert host.versions["vllm"] == "0.24.0"
    assert {wall.host for wall in walls} == {host.key}


def test_a_traced_cell_holds_its_own_steps_only(tmp_path: Path) -> None:
    study = measured(tmp_path)
    cells = [record for record in study.records if isinstance(record, TracedCell)]
    assert [(c.mode, c.batch, c.context) for c in cells] == [
        (mode, 4, context) for mode in ("eager", "graph") for context in (16, 24)
    ]
    # The mock stamps a call before its callback hears of it; a process that is put aside in between has a skewed clock.
    assert all(set(cell.rules) <= {"clock-skew"} for cell in cells)
    assert any(not cell.rules for cell in cells)
    for cell in (cell for cell in cells if not cell.rules):
        assert cell.step_kinds == {"prefill 4": 2, "decode 4": 16}
        assert cell.kernels == (5,) * 12  # of each call's eight decode steps the first and the last are not steady
        assert len(cell.traced) == 3
        assert cell.untraced == ()
        assert all(
            sum(cell.terms[name][step] for name in cell.terms if name != "wall") == wall
            for step, wall in enumerate(cell.terms["wall"])
        )
        for name, values in cell.within.items():
            assert [a + b for a, b in zip(values, cell.between[name])] == list(cell.terms[name])
        assert sorted(share.name for share in cell.work) == [f"kernel_{index}" for index in range(5)]
        assert {share.count for share in cell.work} == {1}


def test_traces_are_kept_where_asked(tmp_path: Path) -> None:
    measured(
        tmp_path,
        STUDY.replace('["eager", "graph"]', '["eager"]').replace("[4]\ncontexts = [16, 24]", "[4]\ncontexts = [16]"),
        "--keep-traces",
    )
    kept = [path.name.partition("-eager")[2] for path in (tmp_path / "store" / "traces").iterdir()]
    assert kept == ["-n4-ctx16.ktrace"]


def test_a_cell_that_does_not_fit_is_named_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = machine.Gpu("NVIDIA L40S", 24 * 10**9, 24 * 10**9)
    monkeypatch.setattr(machine, "look", lambda: Machine((card,), "580", "13.0"))
    text = STUDY.partition("[traced]")[0].replace("[16, 24]", "[16, 65536]").replace('"eager", "graph"', '"eager"')
    study = measured(tmp_path, text)
    out = [record for record in study.records if isinstance(record, LeftOut)]
    assert [(o.batch, o.context) for o in out] == [(1, 65536), (4, 65536)]
    assert "more than the 24.0 GB" in out[0].reason
    assert {w.context for w in study.records if isinstance(w, Wall)} == {16}


def test_a_failing_engine_leaves_the_study_resumable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "small.toml"
    file.write_text(STUDY.partition("[traced]")[0])
    monkeypatch.setenv("FAKE_VLLM_FAILS", "1")
    complaint = called("study", "run", file, "-o", tmp_path / "store")
    assert complaint.status == 1
    assert "CUDA out of memory, says the fake" in complaint.err
    monkeypatch.delenv("FAKE_VLLM_FAILS")
    assert called("study", "run", "-o", tmp_path / "store").status == 0
    assert len([r for r in read_study(tmp_path / "store").records if isinstance(r, Wall)]) == 32


def test_a_gpu_that_stays_full_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = machine.Gpu("NVIDIA H200", 150 * 10**9, 10**9)
    monkeypatch.setattr(machine, "look", lambda: Machine((card,), "580", "13.0"))
    monkeypatch.setattr(live, "_FREE_SECONDS", 0.0)
    file = tmp_path / "small.toml"
    file.write_text(STUDY)
    ran = called("study", "run", file, "-o", tmp_path / "store")
    assert ran.status == 1
    assert "1.0 GB are free on the GPU" in ran.err


def test_another_host_adds_its_records_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = STUDY.partition("[traced]")[0]
    first = measured(tmp_path, text)
    card = machine.Gpu("NVIDIA H100 80GB HBM3", 80 * 10**9, 79 * 10**9)
    monkeypatch.setattr(machine, "look", lambda: Machine((card,), "580", "13.0"))
    both = measured(tmp_path, text)
    assert both.records[: len(first.records)] == first.records
    hosts = [record for record in both.records if isinstance(record, Host)]
    assert [host.gpu for host in hosts] == ["NVIDIA H200", "NVIDIA H100 80GB HBM3"]
    walls = [record for record in both.records if isinstance(record, Wall)]
    assert [sum(wall.host == host.key for wall in walls) for host in hosts] == [32, 32]
