"""Runs what is left of a study, and puts every result into its store before the next one is measured. Room: study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from kerntrace.errors import KerntraceError
from kerntrace.study.estimate import seconds_of
from kerntrace.study.records import Host, LeftOut, Plan, Record
from kerntrace.study.schedule import SessionWork, Work, remaining, token_order
from kerntrace.study.site import Site
from kerntrace.study.store import Store

_TRACED_SLOWER = 2.0  # an eager step may take this much longer while it is recorded


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told how a run goes.

    Attributes:
        say: told a line.
        begin: told the work that begins.
        kept: told of records that are on disk.
    """

    say: Callable[[str], None] = lambda _: None
    begin: Callable[[Work], None] = lambda _: None
    kept: Callable[[Sequence[Record]], None] = lambda _: None


@dataclass(slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        stopped: its time was used up before all was done.
        failures: why a mode could not be run, by mode; its work is left for another run.
    """

    stopped: bool = False
    failures: dict[str, KerntraceError] = field(default_factory=dict)


class _Budget:
    """The seconds a run may take, on a site's clock.

    A piece of work is begun only if its start, by the longest so far, leaves time to measure; the first one always is, so that
    every run comes further.
    """

    def __init__(self, site: Site, seconds: float | None) -> None:
        self._site, self._until = site, None if seconds is None else site.now() + seconds
        self._longest_start = self._begun = 0.0
        self._fresh = True

    def left(self) -> float:
        return float("inf") if self._until is None else self._until - self._site.now()

    def allows(self, needed: float) -> bool:
        return self._fresh or self.left() > self._longest_start + needed

    def starts(self) -> None:
        self._fresh = False
        self._begun = self._site.now()

    def started(self) -> None:
        self._longest_start = max(self._longest_start, self._site.now() - self._begun)


def run_study(store: Store, sites: Sequence[Site], watch: Watch, seconds: float | None = None) -> Outcome:
    """Do what is left on every site, one after another.

    A mode whose engine fails is left out for the rest of the run, and the others go on.

    Args:
        seconds: stop in good order when they are used up; None for no limit.
    """
    outcome = Outcome()
    for site in sites:
        budget = _Budget(site, seconds)
        introduce(store, site)
        for out in site.left_out():
            watch.say(f"left out: {out.mode or 'all modes'} N={out.batch} context {out.context}: {out.reason}")
        for work in remaining(store.asked.plan, site.host().key, store.records):
            offered = site.offered(work)
            if offered is None or offered.mode in outcome.failures:
                continue
            if not budget.allows(_least_seconds(store, offered)):
                outcome.stopped = True
                break
            watch.begin(offered)
            try:
                outcome.stopped = _do(store, site, offered, watch, budget)
            except KerntraceError as error:
                outcome.failures[offered.mode] = error
                watch.say(f"mode {offered.mode} is left for another run: {error.what}")
            if outcome.stopped:
                break
        if outcome.stopped:
            break
    return outcome


def introduce(store: Store, site: Site) -> None:
    """Write down the site's host and the cells that it cannot run, before it measures anything."""
    store.append_host(site.host())
    known = [record for record in store.records if isinstance(record, LeftOut)]
    new = [record for record in site.left_out() if record not in known]
    if new:
        store.append(new)


def measure(site: Site, plan: Plan, work: Work) -> Iterator[list[Record]]:
    """Do a piece of work; yields the records of a repetition, or of a traced process, as soon as they are there."""
    if not isinstance(work, SessionWork):
        yield list(site.trace(work))
        return
    with site.session(work) as running:
        yield [running.host()]
        for cell in work.cells:
            shape = cell.batch, cell.context
            for _ in range(plan.warmup):
                running.warm(shape)
            for repetition in cell.repetitions:
                yield [running.wall(shape, tokens, repetition) for tokens in token_order(plan, repetition)]


def keep(store: Store, records: Sequence[Record]) -> None:
    """Put records into the store; of a host only what is new."""
    for record in records:
        if isinstance(record, Host):
            store.append_host(record)
    others = [record for record in records if not isinstance(record, Host)]
    if others:
        store.append(others)


def _do(store: Store, site: Site, work: Work, watch: Watch, budget: _Budget) -> bool:
    """Whether the time was used up before the work was done."""
    budget.starts()
    with closing(measure(site, store.asked.plan, work)) as groups:  # type: ignore[type-var]
        for number, group in enumerate(groups):
            if number == 0 and isinstance(work, SessionWork):
                budget.started()
            keep(store, group)
            watch.kept(group)
            if budget.left() <= 0:
                return True
    return False


def _least_seconds(store: Store, work: Work) -> float:
    """What must be left on the clock for work to be worth its start: of a traced process, which leaves nothing if cut, all."""
    if isinstance(work, SessionWork):
        return 0.0
    return _TRACED_SLOWER * seconds_of(store.asked.plan, work, store.records)
