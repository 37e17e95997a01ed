"""The program under test runs as if we were not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.capturing import ROOT

from kerntrace.capture.command import run_command
from kerntrace.errors import UsageError

PATIENCE_S = 60
# Runs the command that follows and leaves with its status, as `kerntrace record` does.
RUNNER = "import os, sys; from kerntrace.capture.command import run_command; sys.exit(run_command(sys.argv[1:], os.environ))"


@pytest.mark.parametrize("status", [0, 1, 7, 255])
def test_an_exit_status_is_passed_on(status: int) -> None:
    assert run_command([sys.executable, "-c", f"raise SystemExit({status})"], os.environ) == status


def test_a_death_by_signal_is_told_as_shells_do() -> None:
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run_command([sys.executable, "-c", killed], os.environ) == 128 + signal.SIGKILL


def test_signals_are_as_they_were_afterwards() -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)], signal.pthread_sigmask(signal.SIG_BLOCK, [])
    run_command(["true"], os.environ)
    after = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)], signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert before == after


def test_the_program_starts_with_no_signal_blocked() -> None:
    code = "import signal; raise SystemExit(len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
    assert run_command([sys.executable, "-c", code], os.environ) == 0


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-such-command: command not found"):
        run_command(["no-such-command"], os.environ)
    script = tmp_path / "script"
    script.write_text("not executable")
    with pytest.raises(UsageError, match="permission denied"):
        run_command([str(script)], os.environ)


def _runner(tmp_path: Path, code: str) -> subprocess.Popen[bytes]:
    """A process that runs Python code as its command; returns once that code has said that it is ready."""
    ready = tmp_path / "ready"
    command = [sys.executable, "-c", f"{code}\nopen({str(ready)!r}, 'w').close()\nwhile True: time.sleep(60)"]
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER, *command], env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, start_new_session=True
    )
    deadline = time.monotonic() + PATIENCE_S
    while not ready.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_reaches_the_program_and_its_status_comes_back(tmp_path: Path, kind: signal.Signals) -> None:
    code = f"import os, signal, time\nsignal.signal({int(kind)}, lambda *_: os._exit(42))"
    process = _runner(tmp_path, code)
    process.send_signal(kind)
    assert process.wait(PATIENCE_S) == 42


def test_a_program_that_will_not_stop_is_killed_at_the_third_interrupt(tmp_path: Path) -> None:
    process = _runner(tmp_path, "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)")
    deadline = time.monotonic() + PATIENCE_S
    sent = 0
    while process.poll() is None and time.monotonic() < deadline:
        process.send_signal(signal.SIGINT)
        sent += 1
        time.sleep(0.2)
    assert process.wait(PATIENCE_S) == 128 + signal.SIGKILL
    assert sent >= 3
