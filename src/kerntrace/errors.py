"""What can go wrong, and the exit status each kind leads to. Room: units | errors (imports nothing of ours).

The library raises, it never prints; `kerntrace.cli.app` is the one place that turns these into a line and a status.
A message names the thing, the reason and the next step.
"""

from __future__ import annotations

DONE = 0
FAILED = 1
ASKED_WRONGLY = 2
REFUSED = 3
CONTRADICTED = 4
INCONCLUSIVE = 5
INTERRUPTED = 130


class KerntraceError(Exception):
    """Something failed for a reason that the user can be told in a line or two.

    Args:
        what: the thing and the reason, one line.
        hint: the next step, one line; may be empty.
    """

    exit_code = FAILED

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}\n{self.hint}" if self.hint else self.what


class UnreadableError(KerntraceError):
    """A file cannot be read as a trace: cut, foreign, of the wrong type, or too large for the given limit."""


class UsageError(KerntraceError):
    """What was asked for makes no sense: a wrong option, a value out of range, an output that exists already."""

    exit_code = ASKED_WRONGLY


class RefusedError(KerntraceError):
    """The trace was read, but an integrity rule forbids the figure that was asked for."""

    exit_code = REFUSED


class StoppedError(KerntraceError):
    """The user stopped it."""

    exit_code = INTERRUPTED
