"""Run the program under test as if we were not there: its terminal, its signals, its exit status. Room: capture."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from kerntrace.errors import UsageError

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_WAITED_FOR = {signal.SIGCHLD, *_FORWARDED}
_FROM_TERMINAL = 0x80  # si_code SI_KERNEL: the terminal sent it, and to every process in the foreground
_PATIENCE = 3  # interrupts until a program that does not stop is killed
_BY_SIGNAL = 128


def run_command(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command and return its exit status, 128 + N if signal N ended it.

    It shares our terminal and process group. A signal that only we get is passed on; an interrupt from the terminal has
    reached it already. Either way we wait for it, so that what was recorded is kept; the third interrupt kills it.

    Raises:
        UsageError: if it cannot be started.
    """
    early: list[int] = []
    handlers = {one: signal.signal(one, lambda number, _: early.append(number)) for one in _FORWARDED}
    try:
        process = _start(command, environment)
        old = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)  # not before: the program would start with it
        try:
            for number in early:
                _pass_on(process, number)
            status = _wait(process)
        finally:
            _drop_pending()
            signal.pthread_sigmask(signal.SIG_SETMASK, old)
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler)
    return status if status >= 0 else _BY_SIGNAL - status


def _start(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, env=environment)
    except FileNotFoundError:
        raise UsageError(f"{command[0]}: command not found", "Check the name, or give its path.") from None
    except PermissionError:
        raise UsageError(f"{command[0]} cannot be run: permission denied", "Is it executable?") from None
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be run: {error.strerror}", "") from None


def _wait(process: subprocess.Popen[bytes]) -> int:
    interrupts = 0
    while process.poll() is None:
        said = signal.sigwaitinfo(_WAITED_FOR)
        if said.si_signo == signal.SIGCHLD:
            continue
        if said.si_signo == signal.SIGINT:
            interrupts += 1
        if interrupts >= _PATIENCE:
            process.kill()
        elif said.si_code != _FROM_TERMINAL:
            _pass_on(process, said.si_signo)
    return int(process.returncode)


def _pass_on(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, number)


def _drop_pending() -> None:
    """Take what is still pending: the last interrupt was for the program, not for what we do next."""
    while signal.sigtimedwait(_WAITED_FOR, 0) is not None:
        pass
