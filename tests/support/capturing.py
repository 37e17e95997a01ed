"""The recorder and a mock libcupti, built once a session; stand-ins for vLLM and torch; a machine with a GPU that is none."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from kerntrace.capture import machine
from kerntrace.capture.native import native as loaded_library

ROOT = Path(__file__).parents[2]
FAKES = Path(__file__).parent / "fakes"


@dataclass(frozen=True, slots=True)
class Built:
    """The recorder's library, the mock libcupti, and a program that uses both."""

    library: Path
    mock: Path
    program: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    ready = os.environ.get("KERNTRACE_NATIVE_BUILD")
    build = Path(ready) if ready else tmp_path_factory.mktemp("native")
    if not ready:
        if not shutil.which("cmake") or not (shutil.which("g++") or shutil.which("clang++")):
            pytest.skip("needs cmake and a C++ compiler")
        for command in (
            ["cmake", "-S", str(ROOT / "native"), "-B", str(build), "-DKERNTRACE_TESTS=ON"],
            ["cmake", "--build", str(build), "-j2"],
        ):
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            assert made.returncode == 0, made.stdout + made.stderr
    return Built(build / "libkerntrace.so", build / "tests" / "libcupti.so.13", build / "tests" / "program")


@pytest.fixture
def recorder(built: Built, monkeypatch: pytest.MonkeyPatch) -> Built:
    """The recorder in place of the installed one, over the mock libcupti."""
    monkeypatch.setenv("KERNTRACE_LIBRARY", str(built.library))
    monkeypatch.setenv("KERNTRACE_CUPTI", str(built.mock))
    monkeypatch.setenv("MOCK_CUPTI", str(built.mock))
    for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "KERNTRACE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    loaded_library.cache_clear()
    return built


@pytest.fixture
def fake_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Modules vllm and torch that are ours, for this process's children; and for `find_spec` here."""
    place = tmp_path / "site"
    worker = place / "vllm" / "v1" / "worker"
    worker.mkdir(parents=True)
    for package in (place / "vllm" / "v1", worker):
        (package / "__init__.py").touch()
    shutil.copy(FAKES / "fake_vllm.py", place / "vllm" / "__init__.py")
    shutil.copy(FAKES / "fake_gpu_worker.py", worker / "gpu_worker.py")
    shutil.copy(FAKES / "fake_torch.py", place / "torch.py")
    old = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(place), str(ROOT / "src"), *([old] if old else [])]))
    monkeypatch.syspath_prepend(str(place))
    return place


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> machine.Machine:
    """A machine with one large GPU, as far as NVML is asked."""
    found = machine.Machine((machine.Gpu("NVIDIA H200", 150 * 10**9, 149 * 10**9),), "580.159.04", "13.0")
    monkeypatch.setattr(machine, "look", lambda: found)
    return found


def verbs() -> typer.Typer:
    """The verbs of this room."""
    from kerntrace.cli.collectors import compare_collectors
    from kerntrace.cli.doctor import doctor
    from kerntrace.cli.profile import profile
    from kerntrace.cli.record import record
    from kerntrace.cli.verbs import PASSES_ON

    app = typer.Typer()
    app.command()(profile)
    app.command()(compare_collectors)
    app.command()(doctor)
    app.command(context_settings=PASSES_ON)(record)
    return app


def run(*arguments: str | Path) -> int:
    """Run a verb; its exit status."""
    status = verbs()([str(argument) for argument in arguments], standalone_mode=False)
    return status if isinstance(status, int) else 0
