"""`kerntrace study run` and `study status` as a user meets them: no GPU, replay, kills, interrupts, wrong use, Ray."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.command import called, kerntrace
from tests.support.study_stores import SOURCE, write_recorded

from kerntrace.study.records import Host
from kerntrace.study.store import RECORDS, read_study


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("original") / "recorded"
    write_recorded(place, 2)
    return place


def test_without_a_gpu_the_way_that_needs_none_is_named(tmp_path: Path) -> None:
    ran = kerntrace("study", "run", "quick", "-o", tmp_path / "store")
    assert "--replay" in ran.complaint(1)
    assert not (tmp_path / "store").exists()


def test_a_replay_says_that_it_is_one_and_is_the_same_every_time(original: Path, tmp_path: Path) -> None:
    ran = kerntrace("study", "run", "--replay", original, "-o", tmp_path / "a")
    assert (ran.status, ran.out) == (0, "")
    assert "nothing here is measured anew" in ran.err
    assert "the study is complete" in ran.err
    assert called("study", "run", "--replay", original, "-o", tmp_path / "b").status == 0
    assert (tmp_path / "a" / RECORDS).read_bytes() == (tmp_path / "b" / RECORDS).read_bytes()
    assert read_study(tmp_path / "a").records == read_study(original).records
    assert (tmp_path / "a" / "study.toml").read_bytes() == SOURCE


def killed(original: Path, place: Path, size: int, kind: signal.Signals) -> int:
    """Replay in a process, and end it when its records have come to this size; its exit status."""
    command = [sys.executable, "-m", "kerntrace", "study", "run", "--replay", str(original), "-o", str(place)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        file = place / RECORDS
        while process.poll() is None and not (file.exists() and file.stat().st_size >= size):
            time.sleep(0.0005)
        process.send_signal(kind)
        process.wait(30)
        return process.returncode


def test_killed_at_ten_random_moments_it_comes_to_the_same_store(original: Path, tmp_path: Path) -> None:
    assert called("study", "run", "--replay", original, "-o", tmp_path / "whole").status == 0
    whole = (tmp_path / "whole" / RECORDS).read_bytes()
    chosen = random.Random(4)
    place = tmp_path / "killed"
    moments = sorted(chosen.randrange(len(whole) * 9 // 10) for _ in range(10))
    statuses = [killed(original, place, size, signal.SIGKILL) for size in moments]
    assert statuses.count(-signal.SIGKILL) >= 5  # the others had ended before the signal came
    ran = called("study", "run", "--replay", original, "-o", place)
    assert ran.status == 0
    assert (place / RECORDS).read_bytes() == whole


def test_an_interrupt_keeps_what_there_is_and_says_how_to_go_on(original: Path, tmp_path: Path) -> None:
    place = tmp_path / "store"
    status = killed(original, place, 4_000, signal.SIGINT)
    assert status in (0, 130)
    assert len(read_study(place).records) > 2
    assert called("study", "run", "--replay", original, "-o", place).status == 0
    assert read_study(place).records == read_study(original).records


def test_seconds_end_a_run_in_good_order(original: Path, tmp_path: Path) -> None:
    arguments: list[str | Path] = ["study", "run", "--replay", original, "-o", tmp_path / "store", "--seconds", "1"]
    ran = called(*arguments)
    assert ran.status == 0
    assert "time is up" in ran.err
    document = called("study", "status", tmp_path / "store", "--json").document()
    assert document["complete"] is False
    runs = 1
    while "time is up" in (ran := called(*arguments)).err:
        runs += 1
        assert runs < 40
    assert called("study", "status", tmp_path / "store", "--json").document()["complete"] is True


def test_status_says_what_is_done_and_left(original: Path) -> None:
    document = called("study", "status", original, "--json").document()
    assert document["schema"] == "kerntrace.study-status/1"
    assert (document["complete"], document["replayed"]) == (True, False)
    assert document["plan_sha256"] == read_study(original).plan_sha256
    (first, _) = document["hosts"]
    assert first["modes"][0] == {
        "mode": "eager",
        "repetitions": {"done": 27, "left": 0},
        "traced_cells": {"done": 2, "left": 0},
    }
    assert first["left_out"] == [{"mode": None, "batch": 4, "context": 64, "reason": "does not fit"}]
    assert first["measured_calls_s"] > 1
    shown = called("study", "status", original)
    assert shown.status == 0
    assert "left out: all modes N=4 context 64: does not fit" in shown.out
    assert "NVIDIA A100-SXM4-40GB" in shown.out


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["run", "nothing", "-o", "x", "--replay", "RECORDED"], 2, "no study 'nothing'"),
        (["run", "quick", "-o", "RECORDED", "--replay", "RECORDED"], 2, "another study"),
        (["run", "-o", "RECORDED", "--replay", "RECORDED"], 2, "measured records"),
        (["run", "quick", "-o", "x", "--replay", "x"], 1, "holds no study"),
        (["run", "quick", "-o", "x", "--seconds", "0"], 2, "--seconds"),
        (["run", "quick", "-o", "x", "--ray-address", "local"], 2, "--ray-address"),
        (["status", "nowhere"], 1, "holds no study"),
        (["status"], 2, "DIR"),
        (["rum"], 2, "run"),
    ],
)
def test_wrong_use_is_told(original: Path, tmp_path: Path, arguments: list[str], status: int, said: str) -> None:
    given = [str(original) if word == "RECORDED" else word for word in arguments]
    given = [str(tmp_path / "x") if word == "x" else word for word in given]
    assert said in called("study", *given).complaint(status)


def test_a_changed_study_file_cannot_resume_a_store(original: Path, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_bytes(SOURCE)
    arguments: list[str | Path] = ["study", "run", file, "--replay", original, "-o", tmp_path / "store"]
    assert called(*arguments).status == 0
    file.write_bytes(SOURCE.replace(b"seed = 5", b"seed = 6"))
    assert "A plan is fixed before its first measurement" in called(*arguments).complaint(2)


ON_RAY = """
import sys
import ray
from kerntrace.cli import app
types = {"accelerator_type:H200": 1, "accelerator_type:A100": 1}
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR", resources=types)
sys.exit(app.run(sys.argv[1:]))
"""


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_a_ray_cluster_merges_two_accelerators_by_host(original: Path, tmp_path: Path) -> None:
    place = tmp_path / "store"
    arguments = ["study", "run", "--replay", str(original), "-o", str(place), "--ray"]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    ran = subprocess.run(
        [sys.executable, "-c", ON_RAY, *arguments], capture_output=True, text=True, env=environment, timeout=180, check=False
    )
    assert ran.returncode == 0, ran.stderr
    expected, found = read_study(original), read_study(place)
    assert found.replayed
    for host in (record for record in expected.records if isinstance(record, Host)):
        own = [record for record in found.records if not isinstance(record, Host) and record.host == host.key]
        assert own == [record for record in expected.records if not isinstance(record, Host) and record.host == host.key]
    assert json.loads(called("study", "status", place, "--json").out)["complete"] is True


def test_on_a_terminal_bars_count_to_the_end(original: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kerntrace", "study", "run", "--replay", str(original), "-o", str(tmp_path / "store")]
    ours, theirs = os.openpty()
    environment = {**os.environ, "COLUMNS": "160", "TERM": "xterm"}
    with subprocess.Popen(command, stderr=theirs, stdin=subprocess.DEVNULL, env=environment) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # the other end is closed
            pass
        assert process.wait(60) == 0
    os.close(ours)
    assert b"174/174" in shown  # two hosts, three modes: three sessions of three cells three times, and two traced cells
    assert b"min left" in shown
