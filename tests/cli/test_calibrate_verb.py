"""`kerntrace calibrate` at the terminal of a machine without a GPU."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.support.calibration import Machine, points_of

import kerntrace
from kerntrace.cli.app import run
from kerntrace.model.profile import load_profile, shipped_profiles


@pytest.fixture
def points(tmp_path: Path) -> Path:
    path = tmp_path / "points.json"
    path.write_text(json.dumps(points_of(Machine())))
    return path


def pytorch(path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A PyTorch in place of any that is installed, for the process that measures."""
    (path / "torch.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", f"{path}{os.pathsep}{Path(kerntrace.__file__).parents[1]}")


def test_points_measured_elsewhere_become_a_profile(capsys: pytest.CaptureFixture[str], tmp_path: Path, points: Path) -> None:
    output = tmp_path / "mine.toml"
    assert run(["calibrate", "--from", str(points), "-o", str(output)]) == 0
    profile = load_profile(str(output))
    assert (profile.form, profile.name) == ("calibrated", "calibrated-H200")
    text = capsys.readouterr().out
    assert "gemm" in text
    assert "null_launch_us 2.2" in text
    assert run(["predict", "--profile", str(output), "--no-kernels", "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["profile"] == "calibrated-H200"
    assert any(parameter["kind"] == "microbenchmark" for parameter in cell["parameters"])


def test_a_file_is_replaced_only_when_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path, points: Path) -> None:
    output = tmp_path / "mine.toml"
    output.write_text("mine")
    assert run(["calibrate", "--from", str(points), "-o", str(output)]) == 2
    assert "--force" in capsys.readouterr().err
    assert output.read_text() == "mine"
    assert run(["calibrate", "--from", str(points), "-o", str(output), "--force"]) == 0


def test_without_a_gpu_it_says_so_in_two_lines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytorch(tmp_path, monkeypatch, "raise ImportError('No module named torch')\n")
    assert run(["calibrate", "-o", str(tmp_path / "mine.toml")]) == 1
    captured = capsys.readouterr()
    assert "PyTorch" in captured.err
    assert "--from" in captured.err
    assert len(captured.err.splitlines()) == 2
    assert not (tmp_path / "mine.toml").exists()


def test_pytorch_without_a_gpu_is_as_good_as_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytorch(tmp_path, monkeypatch, "class cuda:\n    is_available = staticmethod(lambda: False)\n")
    assert run(["calibrate", "-o", str(tmp_path / "mine.toml")]) == 1
    assert "CUDA GPU" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "profile.txt"], "does not end in .toml"),
        (["--from", "none.json", "-o", "x.toml"], "cannot be read"),
        (["--gpu", "H300", "-o", "x.toml"], "no GPU 'H300'"),
    ],
)
def test_what_makes_no_sense_is_said_in_two_lines(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    points: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    source = [] if "--from" in arguments else ["--from", str(points)]
    assert run(["calibrate", *source, *arguments]) in (1, 2)
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 2
    assert not (tmp_path / "x.toml").exists()


@pytest.mark.parametrize("verb", ["predict", "roofline"])
def test_help_names_every_profile_that_ships(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert run([verb, "--help"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in shipped_profiles())
