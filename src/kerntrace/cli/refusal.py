"""What is said when an integrity rule refuses, or when no step can be found. Room: cli."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kerntrace.cli.say import complain
from kerntrace.errors import KerntraceError

if TYPE_CHECKING:
    from kerntrace.accounting.analysis import Analysis


def refused(analysis: Analysis, name: str) -> None:
    """Say on stderr which rules failed and how to capture again: two lines a rule."""
    for rule in analysis.rules:
        if not rule.ok:
            complain(0, f"{name}: refused by rule {rule.rule}: {rule.detail}", rule.fix)


def no_steps(analysis: Analysis, name: str) -> None:
    """Stop where the trace is sound but no step could be told apart.

    Raises:
        KerntraceError: with the ways to tell steps.
    """
    from kerntrace.steps.boundaries import some_names

    if analysis.ok and analysis.steps is None:
        raise KerntraceError(
            f"{name}: no steps found: no step range, and the launch sequence does not repeat",
            f"Name the step's range with --step-range REGEX. {some_names(analysis.trace)}",
        )
