"""Runs groups of microbenchmarks in a process, in a fresh one after a failure, and gathers their points. Room: engines."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kerntrace.engines.microbench.groups import AGAIN, DONE, GROUPS, deadline_of
from kerntrace.errors import KerntraceError

SCHEMA = "kerntrace.calibration-points/1"
COMMAND = (sys.executable, "-m", "kerntrace.engines.microbench.child")
Say = Callable[[str], None]
Save = Callable[[dict[str, Any]], None]

_LOOK_EVERY_S = 0.1
_TO_BEGIN_S = 90.0  # for imports and a context
_GRACE_S = 10.0  # above a group's time, which it sees to itself between two points
_TO_END_S = 5.0
_TRIES = 2
_GROUPS = {group.name: group for group in GROUPS}


class Measurement:
    """All groups, and the document that comes of them.

    Args:
        say, save: as of `engines.microbench.measure`.
        deadline: on the clock of `time.monotonic`.
        command: what runs groups; it is given a file for its lines, the deadline and the names.
    """

    def __init__(self, say: Say, save: Save, deadline: float, command: Sequence[str]) -> None:
        self._say, self._save, self._deadline, self._command = say, save, deadline, command
        self.machine: dict[str, str] = {}
        self.points: list[dict[str, Any]] = []
        self.warnings: list[str] = []
        self._begun: list[str] = []
        self._running = ""
        self._since = 0.0
        self._barren = 0  # processes in a row that began no group

    def run(self) -> dict[str, Any]:
        """The document.

        Raises:
            KerntraceError: if PyTorch or a CUDA device is missing.
        """
        try:
            left = [group.name for group in GROUPS]
            while left and time.monotonic() < self._deadline and self._barren < _TRIES:
                left = self._run(left)
            if left:
                why = "no process begins" if self._barren == _TRIES else "no time was left"
                self.warnings.append(f"not measured, {why}: {'; '.join(left)}")
        finally:
            self._save(self._document())
        return self._document()

    def _document(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "machine": self.machine, "points": self.points, "warnings": self.warnings}

    def _run(self, names: list[str]) -> list[str]:
        """Run these in one process; those that a fresh one has to run."""
        self._begun, self._running, self._since = [], "", time.monotonic()
        with tempfile.TemporaryDirectory(prefix="kerntrace-") as directory:
            lines = Path(directory) / "lines"
            lines.touch()
            command = [*self._command, str(lines), repr(self._deadline), *names]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2)  # what it prints is talk
            try:
                ended = self._follow(process, lines)
            finally:
                _end(process)
        if process.returncode == DONE and ended:
            return []
        if not self._begun:
            first, *others = names
            self._barren += 1
            self._warn(f"{first}: {_how(process, ended)} before it began")
            return others
        self._barren = 0
        if self._running and process.returncode != AGAIN:
            self._warn(f"{self._running}: {_how(process, ended)}")
        return names[names.index(self._begun[-1]) + 1 :]

    def _follow(self, process: subprocess.Popen[bytes], lines: Path) -> bool:
        """Take in lines until the process ends; False if its time was over before."""
        with lines.open(encoding="utf-8") as file:
            rest = ""
            while True:
                ended = process.poll() is not None  # asked first: what it wrote before it ended is then read below
                *whole, rest = (rest + file.read()).split("\n")
                for line in whole:
                    self._take(json.loads(line))
                if ended:
                    return True
                if time.monotonic() > self._limit():
                    return False
                time.sleep(_LOOK_EVERY_S)

    def _limit(self) -> float:
        if not self._running:
            return min(self._since + _TO_BEGIN_S, self._deadline + _GRACE_S)
        return deadline_of(_GROUPS[self._running], self._since, self._deadline) + _GRACE_S

    def _take(self, line: dict[str, Any]) -> None:
        match line:
            case {"begin": name}:
                self._running, self._since = name, time.monotonic()
                self._begun.append(name)
                self._say(name)
            case {"point": point}:
                self.points.append(point)
            case {"machine": machine}:
                self.machine |= machine
            case {"warning": warning}:
                self.warnings.append(warning)
            case {"end": _}:
                self._running, self._since = "", time.monotonic()
                self._save(self._document())
            case {"refused": [what, hint]}:
                raise KerntraceError(what, hint)

    def _warn(self, text: str) -> None:
        self.warnings.append(text)
        self._save(self._document())


def _how(process: subprocess.Popen[bytes], ended: bool) -> str:
    if not ended:
        return "its process did not answer in time and was ended"
    return f"its process ended with status {process.returncode}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it, asked first; a process that the driver holds is left to the driver."""
    for end in (process.terminate, process.kill):
        if process.poll() is not None:
            return
        end()
        try:
            process.wait(_TO_END_S)
        except subprocess.TimeoutExpired:
            continue
