"""Progress of a study on a terminal: a bar a mode, and one for the whole with the time left. Room: cli."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kerntrace.cli.say import say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from kerntrace.study.records import Record
    from kerntrace.study.runner import Watch
    from kerntrace.study.schedule import Work
    from kerntrace.study.site import Site
    from kerntrace.study.store import Store

_WHOLE = "study"


@contextmanager
def bars(store: Store, sites: Sequence[Site]) -> Iterator[Watch]:
    """Who shows how a run goes: bars on a terminal, a line a session elsewhere."""
    from kerntrace.study.runner import Watch

    if not sys.stderr.isatty():
        yield Watch(say=lambda text: say(f"kerntrace: {text}"), begin=lambda work: say(f"kerntrace: {words(work)}"))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, TextColumn("{task.fields[left]}"), console=Console(stderr=True)) as shown:
        yield _Bars(shown, store, sites).watch()


def words(work: Work) -> str:
    """A piece of work in words."""
    from kerntrace.study.progress import units
    from kerntrace.study.schedule import SessionWork

    if isinstance(work, SessionWork):
        return f"mode {work.mode}, session {work.session}: {units(work)} repetitions of {len(work.cells)} cells"
    return f"mode {work.mode}, traced: {len(work.cells)} cells"


class _Bars:
    """The bars, and the time left: estimated anew when work begins, and counted down in between."""

    def __init__(self, shown: Progress, store: Store, sites: Sequence[Site]) -> None:
        from kerntrace.study.progress import units

        self._shown, self._store, self._sites = shown, store, sites
        self._left_s = self._at = 0.0
        counts: dict[str, int] = {}
        for work in self._remaining():
            counts[work.mode] = counts.get(work.mode, 0) + units(work)
        self._tasks: dict[str, TaskID] = {
            mode: shown.add_task(mode, total=count, start=False, left="") for mode, count in counts.items()
        }
        self._tasks[_WHOLE] = shown.add_task(_WHOLE, total=sum(counts.values()), left="time left: not known yet")

    def watch(self) -> Watch:
        from kerntrace.study.runner import Watch

        said = self._shown.console
        return Watch(lambda text: said.print(text, markup=False, highlight=False), self._begin, self._kept)

    def _remaining(self) -> list[Work]:
        from kerntrace.study.schedule import remaining

        plan, records = self._store.asked.plan, self._store.records
        return [work for site in self._sites for work in remaining(plan, site.host().key, [*records, *site.left_out()])]

    def _begin(self, work: Work) -> None:
        from kerntrace.study.estimate import seconds_of, start_seconds

        self._shown.start_task(self._tasks[work.mode])
        self._shown.update(self._tasks[work.mode], description=words(work).partition(":")[0])
        plan, records, left = self._store.asked.plan, self._store.records, self._remaining()
        calls = sum(seconds_of(plan, one, records) for one in left)
        self._left_s = calls + len(left) * start_seconds(plan, records) if calls else 0.0
        self._at = time.monotonic()
        self._count_down()

    def _kept(self, records: Sequence[Record]) -> None:
        from kerntrace.study.records import TracedCell, Wall

        for record in records:
            if isinstance(record, TracedCell) or (isinstance(record, Wall) and record.tokens == 1):
                self._shown.advance(self._tasks[record.mode])
                self._shown.advance(self._tasks[_WHOLE])
        self._count_down()

    def _count_down(self) -> None:
        if self._left_s:
            seconds = max(0.0, self._left_s - (time.monotonic() - self._at))
            self._shown.update(self._tasks[_WHOLE], left=f"about {seconds / 60:.1f} min left")
