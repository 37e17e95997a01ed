"""Which steps a user means by `12`, `12-19` or `12:20`. Room: steps."""

from __future__ import annotations

import re

from kerntrace.errors import UsageError

_FORM = re.compile(r"([0-9]{1,9})|([0-9]{1,9})-([0-9]{1,9})|([0-9]{0,9}):([0-9]{0,9})")


def read_steps(text: str) -> tuple[int, int | None]:
    """The first step, and the one after the last; None for up to the end.

    Args:
        text: `N`, one step; `A-B`, both included; `A:B`, without B, where either may be left out, as in Python.

    Raises:
        UsageError: if it is none of these, or names no step.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            f"--steps {text!r} names no steps", "Write 12, 12-19, or 12:20 without 20, as `kerntrace steps` counts them."
        )
    one, first, last, begin, end = found.groups()
    if one:
        return int(one), int(one) + 1
    if first:
        chosen: tuple[int, int | None] = int(first), int(last) + 1
    else:
        chosen = int(begin or 0), int(end) if end else None
    if chosen[1] is not None and chosen[1] <= chosen[0]:
        raise UsageError(f"--steps {text} names no steps", "The first stands before the last.")
    return chosen


def steps_within(text: str, count: int) -> tuple[int, int]:
    """The same within a trace: the first step, and the one after the last.

    Args:
        count: how many steps there are.

    Raises:
        UsageError: if it names none of them.
    """
    first, end = read_steps(text)
    last = count if end is None else min(end, count)
    if not first < last:
        raise UsageError(f"--steps {text}: there are no such steps", f"The trace has steps 0 to {count - 1}.")
    return first, last
