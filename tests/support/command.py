"""Runs the command: as a user does, in a process of its own, or quicker, in this one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerntrace.cli import app


@dataclass(frozen=True)
class Ran:
    """What a command left."""

    status: int
    out: str
    err: str

    def document(self) -> dict[str, Any]:
        """Standard output as the one JSON document that it must be."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    def complaint(self, status: int) -> str:
        """The message of a command that failed: checked to be one problem in one or two lines, and no traceback."""
        assert self.status == status, self
        lines = self.err.splitlines()
        assert 1 <= len(lines) <= 2, self.err
        assert lines[0].startswith("kerntrace: ")
        assert "defect" not in self.err
        assert all(line.isprintable() for line in lines)
        return self.err


def kerntrace(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> Ran:
    """Run `python -m kerntrace` with these arguments."""
    done = subprocess.run(
        [sys.executable, "-m", "kerntrace", *map(str, arguments)],
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )
    ran = Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in ran.err, ran.err
    return ran


def called(*arguments: str | Path) -> Ran:
    """The same in this process, which saves the start of an interpreter; for what does not depend on one."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = app.run([str(argument) for argument in arguments])
    return Ran(status, out.getvalue(), err.getvalue())
