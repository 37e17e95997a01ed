"""A recorded study in the place of a GPU: every call is answered by the wall that was measured. Room: study.

Its clock is simulated: it moves by the walls that are answered, and not while an engine starts. What a replay writes is what
was recorded, in the order in which a run would have measured it, and it is marked as replayed.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from kerntrace.errors import UsageError
from kerntrace.study.records import Host, LeftOut, Plan, Study, TracedCell, Wall
from kerntrace.study.schedule import CellWork, SessionWork, Shape, TracedWork, Work
from kerntrace.units import NS_PER_S

_Key = tuple[str, int, int, int, int, int]  # mode, session, batch, context, repetition, tokens


class ReplaySite:
    """One host of a recorded study."""

    def __init__(self, study: Study, host: Host, plan: Plan) -> None:
        """Args:
        plan: what is asked for; what the recorded study lacks of it is not offered.
        """
        self._host, self._plan, self._elapsed_ns = host, plan, 0
        self._out = [r for r in study.records if isinstance(r, LeftOut) and r.host == host.key]
        self._traced = {
            (r.mode, r.batch, r.context): r for r in study.records if isinstance(r, TracedCell) and r.host == host.key
        }
        self._walls: dict[_Key, Wall] = {
            (r.mode, r.session, r.batch, r.context, r.repetition, r.tokens): r
            for r in study.records
            if isinstance(r, Wall) and r.host == host.key
        }

    def host(self) -> Host:
        return self._host

    def left_out(self) -> list[LeftOut]:
        return list(self._out)

    def offered(self, work: Work) -> Work | None:
        if isinstance(work, TracedWork):
            shapes = tuple(shape for shape in work.cells if (work.mode, *shape) in self._traced)
            return replace(work, cells=shapes) if shapes else None
        cells = [
            replace(cell, repetitions=tuple(r for r in cell.repetitions if self._holds(work, cell, r))) for cell in work.cells
        ]
        cells = [cell for cell in cells if cell.repetitions]
        return replace(work, cells=tuple(cells)) if cells else None

    def session(self, work: SessionWork) -> AbstractContextManager[ReplayedSession]:
        return nullcontext(ReplayedSession(self, work))

    def trace(self, work: TracedWork) -> list[TracedCell]:
        found = [self._traced[work.mode, batch, context] for batch, context in work.cells]
        self._elapsed_ns += sum(full + single for cell in found for full, single in cell.traced)
        return found

    def now(self) -> float:
        return self._elapsed_ns / NS_PER_S

    def answer(self, work: SessionWork, shape: Shape, tokens: int, repetition: int) -> Wall:
        """The wall that was measured."""
        batch, context = shape
        wall = self._walls[work.mode, work.session, batch, context, repetition, tokens]
        self._elapsed_ns += wall.wall_ns
        return wall

    def _holds(self, work: SessionWork, cell: CellWork, repetition: int) -> bool:
        key = work.mode, work.session, cell.batch, cell.context, repetition
        return all((*key, tokens) in self._walls for tokens in (1, self._plan.tokens))


@dataclass(frozen=True, slots=True)
class ReplayedSession:
    """A session's engine that never was: it answers from the recording."""

    site: ReplaySite
    work: SessionWork

    def host(self) -> Host:
        return self.site.host()

    def warm(self, shape: Shape) -> None:
        pass

    def wall(self, shape: Shape, tokens: int, repetition: int) -> Wall:
        return self.site.answer(self.work, shape, tokens, repetition)


def replay_sites(study: Study, plan: Plan) -> list[ReplaySite]:
    """A site for each host of a recorded study.

    Raises:
        UsageError: if it holds no host.
    """
    sites = [ReplaySite(study, record, plan) for record in study.records if isinstance(record, Host)]
    if not sites:
        raise UsageError("the study to replay holds no measurements", "Name one that was run.")
    return sites
