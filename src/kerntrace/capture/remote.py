"""The parent's end of an engine's process: start it, tell it what to generate, end it. Room: capture."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from kerntrace.engines.protocol import EngineSpec
from kerntrace.errors import KerntraceError

START_SECONDS = 1800.0
GENERATE_SECONDS = 600.0
END_SECONDS = 30.0
REPORT_SECONDS = 600.0  # a profiler around the process writes its report after it
_POLL_SECONDS = 0.2
_LAST_SECONDS = 5.0
_TAIL_LINES = 6


@dataclass(frozen=True, slots=True)
class Job:
    """A process to start.

    Attributes:
        engine: what it runs.
        collector: the recorder inside it and its settings, or None for an untraced process.
        before: command that starts the process under a profiler, put before it.
        environment: variables added to ours.
    """

    engine: EngineSpec
    collector: dict[str, Any] | None
    before: tuple[str, ...]
    environment: dict[str, str]


class Remote:
    """A started engine's process; use it in a `with`, which ends the process and all that it started."""

    def __init__(self, job: Job, scratch: Path, name: str) -> None:
        """Start the process. `wait` says when its engine is up.

        Args:
            scratch: a directory for the socket and the log, which must outlive the process.
        """
        self.name, self.facts = name, dict[str, str]()
        self._patience = REPORT_SECONDS if job.before else END_SECONDS
        self._log = scratch / f"{name}.log"
        place = scratch / f"{name}.s"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(place))
        self._listener.listen(1)
        written = {"engine": dataclasses.asdict(job.engine), "collector": job.collector, "socket": str(place)}
        file = scratch / f"{name}.json"
        file.write_text(json.dumps(written), encoding="utf-8")
        command = [*job.before, sys.executable, "-m", "kerntrace.capture.child", str(file)]
        with self._log.open("wb") as log:
            self._process = _started(command, os.environ | job.environment, log)
        self._link: socket.socket | None = None
        self._pending = b""

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()

    def wait(self) -> None:
        """Until the engine is up.

        Raises:
            KerntraceError: if it does not come up.
        """
        deadline = time.monotonic() + START_SECONDS
        while not select.select([self._listener], [], [], _POLL_SECONDS)[0]:
            self._alive(deadline)
        self._link, _ = self._listener.accept()
        self.facts = self._receive(deadline)["facts"]

    def ready(self) -> None:
        """Say that the engine is warm and what follows is measured."""
        self._send({"do": "ready"})

    def generate(self, batch: int, context: int, tokens: int, *, record: bool = False) -> int:
        """Generate, and return the wall-clock ns that it took by the process's own clock."""
        self._send({"do": "generate", "batch": batch, "context": context, "tokens": tokens, "record": record})
        return int(self._receive(time.monotonic() + GENERATE_SECONDS)["wall_ns"])

    def stop(self) -> None:
        """Let the recorder write what it has and the process end."""
        self._send({"do": "stop"})
        deadline = time.monotonic() + GENERATE_SECONDS
        self.facts |= self._receive(deadline)["facts"]
        # An engine may hang in its own shutdown; what was recorded is on disk by then.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(self._patience)

    def end(self) -> None:
        """End the process, and what it started, if they are still there."""
        for used in (self._link, self._listener):
            if used is not None:
                used.close()
        _end_group(self._process)

    def _send(self, order: dict[str, Any]) -> None:
        assert self._link is not None
        try:
            self._link.sendall(json.dumps(order).encode() + b"\n")
        except OSError:
            raise self._died() from None

    def _receive(self, deadline: float) -> dict[str, Any]:
        assert self._link is not None
        while b"\n" not in self._pending:
            if not select.select([self._link], [], [], _POLL_SECONDS)[0]:
                self._alive(deadline)
                continue
            got = _received(self._link)
            if not got:
                raise self._died()
            self._pending += got
        line, _, self._pending = self._pending.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        if "error" in message:
            raise KerntraceError(f"the engine stopped: {message['error']}", message.get("hint") or self._said())
        return message

    def _alive(self, deadline: float) -> None:
        if self._process.poll() is not None and self._link is None:
            raise self._died()
        if time.monotonic() > deadline:
            raise KerntraceError(f"the {self.name} engine did not answer in time", self._said())

    def _died(self) -> KerntraceError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_SECONDS)  # its socket closes a little before it is gone
        status = self._process.poll()
        how = (
            "it still runs"
            if status is None
            else f"exit status {status}"
            if status >= 0
            else f"signal {signal.Signals(-status).name}"
        )
        return KerntraceError(f"the {self.name} engine ended early ({how})", self._said())

    def _said(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        told = [line.strip() for line in lines if line.strip()][-_TAIL_LINES:]
        return "Its last words: " + " | ".join(told) if told else "It said nothing."


def _received(link: socket.socket) -> bytes:
    """What came, or nothing where the other end is gone."""
    try:
        return link.recv(1 << 16)
    except OSError:
        return b""


def _started(command: Sequence[str], environment: dict[str, str], log: Any) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as error:
        raise KerntraceError(f"{command[0]} cannot be started: {error.strerror}", "") from None


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session of its own, and the processes in it."""
    for kind, seconds in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, kind)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            if kind is signal.SIGTERM:
                time.sleep(0.05)
