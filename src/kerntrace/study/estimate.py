"""How long what is left will take, from how long what is there took. Room: study."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from kerntrace.study.records import Plan, Record, Wall
from kerntrace.study.schedule import SessionWork, Shape, Work
from kerntrace.units import NS_PER_S

_LONGEST_START_NS = 900 * NS_PER_S  # a longer pause between two sessions was no start, but a time in which nobody ran
_UNKNOWN_START_S = 45.0


def seconds_of(plan: Plan, work: Work, records: Iterable[Record]) -> float:
    """Seconds of calls that work has to make, by the medians of what was measured; its engine's start is not in it.

    Cells that were not measured yet are taken for the mean of those that were; 0 where nothing was.
    """
    walls = [record for record in records if isinstance(record, Wall)]
    calls = defaultdict(list)
    for wall in walls:
        calls[wall.mode, wall.batch, wall.context, wall.tokens].append(wall.wall_ns)
    known = {key: statistics.median(values) / NS_PER_S for key, values in calls.items()}

    def call(shape: Shape, tokens: int) -> float:
        exact = known.get((work.mode, *shape, tokens))
        if exact is not None:
            return exact
        alike = [s for (mode, _, _, t), s in known.items() if t == tokens and mode == work.mode]
        alike = alike or [s for (_, _, _, t), s in known.items() if t == tokens]
        return statistics.mean(alike) if alike else 0.0

    if isinstance(work, SessionWork):
        cells = [((cell.batch, cell.context), len(cell.repetitions)) for cell in work.cells]
    else:
        cells = [(shape, plan.traced_repetitions * (2 if plan.traced_untraced else 1)) for shape in work.cells]
    return sum(
        (plan.warmup + repetitions) * call(shape, plan.tokens) + repetitions * call(shape, 1) for shape, repetitions in cells
    )


def start_seconds(plan: Plan, records: Iterable[Record]) -> float:
    """Median seconds from a session's last call to the next one's first, warm-up included; a guess where there are no two."""
    walls = [record for record in records if isinstance(record, Wall)]
    pauses = [
        (after.started_ns - before.started_ns - before.wall_ns) / NS_PER_S
        for before, after in pairwise(walls)
        if (before.mode, before.session, before.host) != (after.mode, after.session, after.host)
        and 0 < after.started_ns - before.started_ns < _LONGEST_START_NS
    ]
    return statistics.median(pauses) if pauses else _UNKNOWN_START_S


def spent_seconds(records: Iterable[Record]) -> float:
    """Seconds of timed calls."""
    return sum(record.wall_ns for record in records if isinstance(record, Wall)) / NS_PER_S
