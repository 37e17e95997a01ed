"""The command line. Room: cli. Nothing heavy is imported before a verb needs it."""

from __future__ import annotations


def main() -> int:
    """Entry point of the `kerntrace` command; returns the exit status."""
    from kerntrace.cli.app import run

    return run()
