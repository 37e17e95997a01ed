"""Builds the recorder, a mock libcupti and a program to record, once a session, and runs the program.

KERNTRACE_NATIVE_BUILD names a build to use instead, for example one with sanitizers (native/tests/run.sh).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"
PATIENCE_S = 120  # a hang, not a measurement


@dataclass(frozen=True, slots=True)
class Native:
    """The built library and what drives it."""

    build: Path

    @property
    def library(self) -> Path:
        return self.build / "libkerntrace.so"

    @property
    def mock(self) -> Path:
        return self.build / "tests" / "libcupti.so.13"

    @property
    def sanitized(self) -> str:
        """The sanitizers that the build has, as the compiler names them; empty for none."""
        return os.environ.get("KERNTRACE_SANITIZED", "")

    def environment(self, directory: Path | None, *does: str, **more: str) -> dict[str, str]:
        """Variables under which a process is recorded into `directory`; None: the library is loaded but not told to record."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("KERNTRACE_", "MOCK_CUPTI"))}
        kept |= {name: str(self.library) for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "KERNTRACE_LIBRARY")}
        kept |= {"MOCK_CUPTI": str(self.mock), "KERNTRACE_CUPTI": str(self.mock)}
        if directory is not None:
            kept["KERNTRACE_DIRECTORY"] = str(directory)
        if any(word.endswith("fork") for word in does):
            kept["ASAN_OPTIONS"] = "detect_leaks=0"  # the leak checker cannot stop threads in a forked child
        return kept | more

    def run(self, directory: Path | None, *does: str, code: int = 0, **more: str) -> str:
        """Run the program, check its exit status and return what it printed."""
        if self.sanitized:  # the sanitizer's allocator stays locked in a child forked while another thread was inside it
            does = tuple(part for word in does for part in (["sleep:100", word] if word.endswith("fork") else [word]))
        done = subprocess.run(
            [self.build / "tests" / "program", *does],
            env=self.environment(directory, *does, **more),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert (done.returncode, done.stderr) == (code, ""), done.stdout
        return done.stdout


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    ready = os.environ.get("KERNTRACE_NATIVE_BUILD")
    if ready:
        return Native(Path(ready))
    if not shutil.which("cmake") or not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("needs cmake and a C++ compiler")
    build = tmp_path_factory.mktemp("native")
    options = ["-DKERNTRACE_STRICT=ON", "-DKERNTRACE_TESTS=ON"]
    configure = ["cmake", "-S", str(NATIVE), "-B", str(build), *options]
    for command in (configure, ["cmake", "--build", str(build), "-j2"]):
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stdout + made.stderr
    return Native(build)


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """An empty directory for shards."""
    directory = tmp_path / "shards"
    directory.mkdir()
    return directory
