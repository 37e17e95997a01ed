"""How far a study is, on each of its hosts. Room: study."""

from __future__ import annotations

from dataclasses import dataclass

from kerntrace.study.estimate import seconds_of, spent_seconds, start_seconds
from kerntrace.study.records import Host, LeftOut, Plan, Record, Study, TracedCell, Wall
from kerntrace.study.schedule import SessionWork, Work, remaining


@dataclass(frozen=True, slots=True)
class ModeProgress:
    """One mode on one host: repetitions (two calls each) and traced cells, done and left."""

    mode: str
    done: int
    left: int
    traced_done: int
    traced_left: int


@dataclass(frozen=True, slots=True)
class HostProgress:
    """One host.

    Attributes:
        left_out: cells that are not run on it.
        starts: engines that are still to be started.
        spent_s: seconds of timed calls, measured.
        left_s: seconds that what is left will take, derived from what was measured; None where nothing was.
    """

    host: Host
    modes: tuple[ModeProgress, ...]
    left_out: tuple[LeftOut, ...]
    starts: int
    spent_s: float
    left_s: float | None

    @property
    def complete(self) -> bool:
        return not any(mode.left or mode.traced_left for mode in self.modes)


def progress_of(study: Study) -> tuple[HostProgress, ...]:
    """Every host's progress, in the order in which they came; none for a study that has not begun."""
    hosts = [record for record in study.records if isinstance(record, Host)]
    return tuple(_of(study.plan, host, study.records) for host in hosts)


def units(work: Work) -> int:
    """Repetitions or traced cells that work is made of."""
    return sum(len(cell.repetitions) for cell in work.cells) if isinstance(work, SessionWork) else len(work.cells)


def _of(plan: Plan, host: Host, records: tuple[Record, ...]) -> HostProgress:
    own: list[Record] = [record for record in records if not isinstance(record, Host) and record.host == host.key]
    work = remaining(plan, host.key, own)
    modes = tuple(_mode(plan, mode, own, work) for mode in plan.modes)
    known = any(isinstance(record, Wall) for record in own)
    left_s = sum(seconds_of(plan, one, own) for one in work) + len(work) * start_seconds(plan, own)
    out = tuple(record for record in own if isinstance(record, LeftOut))
    return HostProgress(host, modes, out, len(work), spent_seconds(own), left_s if known or not work else None)


def _mode(plan: Plan, mode: str, own: list[Record], work: list[Work]) -> ModeProgress:
    calls: dict[tuple[int, ...], set[int]] = {}
    for one in own:
        if isinstance(one, Wall) and one.mode == mode:
            calls.setdefault((one.session, one.batch, one.context, one.repetition), set()).add(one.tokens)
    done = sum(tokens >= {1, plan.tokens} for tokens in calls.values())  # one of the two alone is measured again
    traced = sum(isinstance(record, TracedCell) and record.mode == mode for record in own)
    left = sum(units(one) for one in work if one.mode == mode and isinstance(one, SessionWork))
    traced_left = sum(units(one) for one in work if one.mode == mode and not isinstance(one, SessionWork))
    return ModeProgress(mode, done, left, traced, traced_left)
