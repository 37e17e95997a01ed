"""What is left to do: the plan minus the records there are. Room: study.

Order. A session is one process of one mode. Session s of every mode is run before session s + 1 of any; even sessions take
the modes in the plan's order, odd ones in the opposite order (A B C, C B A, A B C, ...), so that a slow drift of the machine
falls on the modes alike. Within a session the cells come in an order that the seed chooses, the same for all modes of that
session, and a cell's repetitions come one after another: even ones with 1 token first, odd ones with g first. Traced cells come
last, a process a mode. A session that was cut short is gone on with in a new process, at its next repetition.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kerntrace.study.records import LeftOut, Plan, Record, TracedCell, Wall

Shape = tuple[int, int]  # batch, context


@dataclass(frozen=True, slots=True)
class CellWork:
    """A cell's repetitions that are left in a session, in order."""

    batch: int
    context: int
    repetitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SessionWork:
    """What is left of one session: it is run in one process."""

    mode: str
    session: int
    cells: tuple[CellWork, ...]


@dataclass(frozen=True, slots=True)
class TracedWork:
    """Cells of a mode that are left to be traced, in one process."""

    mode: str
    cells: tuple[Shape, ...]


Work = SessionWork | TracedWork


def remaining(plan: Plan, host: str, records: Iterable[Record]) -> list[Work]:
    """What is left to do on a host, in the order in which it is done.

    Args:
        records: those of the store; other hosts' are not looked at.
    """
    done: set[tuple[str, int, int, int, int, int]] = set()
    traced: set[tuple[str, int, int]] = set()
    out: list[LeftOut] = []
    for record in records:
        if isinstance(record, Wall) and record.host == host:
            key = record.mode, record.session, record.batch, record.context, record.repetition, record.tokens
            done.add(key)
        elif isinstance(record, TracedCell) and record.host == host:
            traced.add((record.mode, record.batch, record.context))
        elif isinstance(record, LeftOut) and record.host == host:
            out.append(record)
    work: list[Work] = []
    for session in range(plan.sessions):
        for mode in modes_of(plan, session):
            cells = _session_cells(plan, mode, session, done, out)
            if cells:
                work.append(SessionWork(mode, session, cells))
    for mode in plan.modes:
        shapes = tuple(
            shape for shape in traced_shapes(plan) if (mode, *shape) not in traced and not is_left_out(out, mode, shape)
        )
        if shapes:
            work.append(TracedWork(mode, shapes))
    return work


def modes_of(plan: Plan, session: int) -> tuple[str, ...]:
    """The modes in the order in which this session of each is run."""
    return plan.modes if session % 2 == 0 else plan.modes[::-1]


def cell_order(plan: Plan, session: int) -> list[Shape]:
    """The grid in the order in which a session runs it."""
    shapes = [(batch, context) for context in plan.contexts for batch in plan.batches]
    random.Random(f"{plan.seed} {session}").shuffle(shapes)
    return shapes


def token_order(plan: Plan, repetition: int) -> tuple[int, int]:
    """The tokens of a repetition's two calls, in order."""
    return (1, plan.tokens) if repetition % 2 == 0 else (plan.tokens, 1)


def traced_shapes(plan: Plan) -> list[Shape]:
    """The cells that are traced, in order."""
    return [(batch, context) for context in plan.traced_contexts for batch in plan.traced_batches]


def is_left_out(out: Sequence[LeftOut], mode: str, shape: Shape) -> bool:
    """Whether a cell is not run in this mode."""
    return any((record.batch, record.context) == shape and record.mode in (None, mode) for record in out)


def _session_cells(
    plan: Plan, mode: str, session: int, done: set[tuple[str, int, int, int, int, int]], out: list[LeftOut]
) -> tuple[CellWork, ...]:
    cells = []
    for batch, context in cell_order(plan, session):
        if is_left_out(out, mode, (batch, context)):
            continue
        left = tuple(
            repetition
            for repetition in range(plan.repetitions)
            if not all((mode, session, batch, context, repetition, tokens) in done for tokens in (1, plan.tokens))
        )
        if left:
            cells.append(CellWork(batch, context, left))
    return tuple(cells)
