"""A study's walls, cell by cell and mode by mode, and what the plan asked for that is not there. Room: evidence.

A cell belongs to one host: a gap between modes that ran on different machines would be a gap between machines.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.stats.interval import Floats
from kerntrace.study.records import Host, LeftOut, Plan, Study, TracedCell, Wall

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A cell of the grid on one host."""

    host: str
    context: int
    batch: int


@dataclass(frozen=True, slots=True)
class Arm:
    """One mode's repetitions in one cell.

    Attributes:
        longer, shorter: (n,) ns, walls with g and with 1 token of the same repetition.
        session: (n,).
        divisor: g - 1.
    """

    mode: str
    longer: Floats
    shorter: Floats
    session: Ints
    divisor: int

    @property
    def steps(self) -> Floats:
        """(n,) ns: each repetition's step cost by subtraction."""
        cost: Floats = (self.longer - self.shorter) / self.divisor
        return cost

    def by_session(self) -> dict[int, tuple[Floats, Floats]]:
        """The walls of each session, ascending."""
        return {int(s): (self.longer[self.session == s], self.shorter[self.session == s]) for s in np.unique(self.session)}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with the modes that were measured in it, in the plan's order."""

    place: Place
    arms: dict[str, Arm]


def hosts_of(study: Study) -> dict[str, Host]:
    """Hosts by key, in order of first appearance."""
    found: dict[str, Host] = {}
    for record in study.records:
        if isinstance(record, Host):
            found.setdefault(record.key, record)
    for record in study.records:
        if isinstance(record, (Wall, TracedCell)):
            found.setdefault(record.host, Host(record.host, "unknown GPU", None))
    return found


def cells_of(study: Study) -> tuple[Cell, ...]:
    """Every cell with at least one whole repetition, ordered by host, context and batch. Walls of other g are not looked at."""
    divisor = study.plan.tokens - 1
    walls: dict[tuple[Place, str], dict[tuple[int, int], dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    for record in study.records:
        if isinstance(record, Wall) and record.tokens in (1, study.plan.tokens):
            at = walls[Place(record.host, record.context, record.batch), record.mode]
            at[record.session, record.repetition][record.tokens] = record.wall_ns
    arms: dict[Place, dict[str, Arm]] = defaultdict(dict)
    known = {mode: i for i, mode in enumerate(study.plan.modes)}
    for place, mode in sorted(walls, key=lambda key: (key[0], known.get(key[1], len(known)), key[1])):
        whole = {key: pair for key, pair in sorted(walls[place, mode].items()) if len(pair) == 2}
        if whole:
            longer = np.array([pair[study.plan.tokens] for pair in whole.values()], np.float64)
            shorter = np.array([pair[1] for pair in whole.values()], np.float64)
            session = np.array([key[0] for key in whole], np.int64)
            arms[place][mode] = Arm(mode, longer, shorter, session, divisor)
    return tuple(Cell(place, arms[place]) for place in sorted(arms))


def traced_of(study: Study) -> tuple[TracedCell, ...]:
    """The traced cells, ordered by host, context, batch and mode."""
    found = [record for record in study.records if isinstance(record, TracedCell)]
    return tuple(sorted(found, key=lambda one: (one.host, one.context, one.batch, one.mode, one.session)))


@dataclass(frozen=True, slots=True)
class Missing:
    """Part of the plan that the store does not hold.

    Attributes:
        what: `walls` or `trace`.
        host: empty where no host has measured anything.
        have, asked: repetitions, or traced runs.
        reason: why, where the store says it.
    """

    what: str
    host: str
    mode: str
    batch: int
    context: int
    have: int
    asked: int
    reason: str = ""


def missing_of(study: Study, cells: tuple[Cell, ...]) -> tuple[Missing, ...]:
    """What the plan asks of every host, less what is there."""
    plan, found = study.plan, {cell.place: cell for cell in cells}
    left_out = [record for record in study.records if isinstance(record, LeftOut)]
    rows = []
    for host in _hosts_asked(study):
        for mode in plan.modes:
            for context in plan.contexts:
                for batch in plan.batches:
                    cell = found.get(Place(host, context, batch))
                    have = len(cell.arms[mode].longer) if cell and mode in cell.arms else 0
                    asked = plan.sessions * plan.repetitions
                    if have < asked:
                        reason = _reason(left_out, host, mode, batch, context)
                        rows.append(Missing("walls", host, mode, batch, context, have, asked, reason))
    return (*rows, *_missing_traces(study, left_out))


def _hosts_asked(study: Study) -> list[str]:
    """The hosts that the plan asks for: those of the store, or one without a name, where nothing was measured yet."""
    return list(hosts_of(study)) or [""]


def _missing_traces(study: Study, left_out: list[LeftOut]) -> list[Missing]:
    plan: Plan = study.plan
    usable = {(one.host, one.mode, one.batch, one.context): one for one in traced_of(study)}
    rows = []
    for host in _hosts_asked(study):
        for mode in plan.modes:
            for context in plan.traced_contexts:
                for batch in plan.traced_batches:
                    one = usable.get((host, mode, batch, context))
                    if one is None or one.rules:
                        said = "; ".join(f"{rule}: {detail}" for rule, detail in one.rules.items()) if one else ""
                        said = said or _reason(left_out, host, mode, batch, context)
                        rows.append(Missing("trace", host, mode, batch, context, 0, 1, said))
    return rows


def _reason(left_out: list[LeftOut], host: str, mode: str, batch: int, context: int) -> str:
    for one in left_out:
        if (one.host, one.batch, one.context) == (host, batch, context) and one.mode in (None, mode):
            return one.reason
    return ""
