"""Where a study is measured: a real GPU, or a recorded study that answers in its place. Room: study."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from kerntrace.study.records import Host, LeftOut, TracedCell, Wall
from kerntrace.study.schedule import SessionWork, Shape, TracedWork, Work


class Running(Protocol):
    """A session's engine, up."""

    def host(self) -> Host:
        """The site's host with what this engine says of itself."""

    def warm(self, shape: Shape) -> None:
        """Run a cell once, untimed."""

    def wall(self, shape: Shape, tokens: int, repetition: int) -> Wall:
        """Time one call."""


class Site(Protocol):
    """A host that can measure."""

    def host(self) -> Host:
        """What is known of it before anything runs."""

    def left_out(self) -> list[LeftOut]:
        """Cells that cannot be run here."""

    def offered(self, work: Work) -> Work | None:
        """The part of the work that can be done here; None for none of it."""

    def session(self, work: SessionWork) -> AbstractContextManager[Running]:
        """A fresh process of the work's mode, with nothing in its way.

        Raises:
            KerntraceError: if its engine does not start or ends early.
        """

    def trace(self, work: TracedWork) -> list[TracedCell]:
        """Trace cells in a fresh process.

        Raises:
            KerntraceError: if its engine does not start or ends early.
        """

    def now(self) -> float:
        """Seconds on the site's clock."""
