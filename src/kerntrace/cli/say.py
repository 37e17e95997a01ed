"""Talk: one line at a time on stderr. Room: cli. Names in it may come from a hostile file or directory."""

from __future__ import annotations

import sys

_LONGEST = 500


def one_line(text: str) -> str:
    """The text without control characters, shortened."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)[:_LONGEST]


def say(text: str) -> None:
    """A line on stderr."""
    print(one_line(text), file=sys.stderr)


def complain(status: int, what: str, hint: str = "") -> int:
    """Say what went wrong and what to do next; returns the exit status."""
    say(f"kerntrace: {what}")
    if hint:
        say(hint)
    return status
