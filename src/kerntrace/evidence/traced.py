"""A traced cell's ledger, with the host-exposed time within the step and between steps apart. Room: evidence.

Means stand beside subtractions, which are means over the steps of a call; medians tell what a typical step is like.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kerntrace.evidence.cells import Place
from kerntrace.stats.bootstrap import stream
from kerntrace.stats.interval import Floats, Interval, of_draws
from kerntrace.study.records import KernelShare, TracedCell

METHOD = "bootstrap over steps"
EXPOSED = ("host_wait", "launch_call", "launch_latency")
LEDGER = (*EXPOSED, "device_gap", "profiler", "unattributed")


@dataclass(frozen=True, slots=True)
class TracedFigures:
    """One mode of one traced cell; times in ns a steady step.

    Attributes:
        steps: steady steps.
        means: of wall, busy, host_exposed, its three parts, device_gap, profiler, unattributed, and of `within` and `between`,
            which are host_exposed inside the step and in its last gap. medians: of the same.
        wall_interval: of the mean wall.
        within_share: the share of all host-exposed time that lies within steps; None where there is none.
        values: the same, (steps,).
        phases: exposed host time by phase, mean.
        pairs, beside: (repetitions, 2) ns, walls of traced calls, and of untraced ones timed beside them.
    """

    place: Place
    mode: str
    tokens: int
    steps: int
    kernels: tuple[float, float, float]
    means: dict[str, float]
    medians: dict[str, float]
    within_share: float | None
    wall_interval: Interval | None
    values: dict[str, Floats]
    phases: dict[str, float]
    step_kinds: dict[str, int]
    work: tuple[KernelShare, ...]
    pairs: Floats
    beside: Floats


def traced_figures(cells: Iterable[TracedCell], seed: int, resamples: int) -> tuple[TracedFigures, ...]:
    """The figures of every traced cell that no integrity rule refused; several traces of one cell are joined."""
    groups: dict[tuple[Place, str], list[TracedCell]] = defaultdict(list)
    for one in cells:
        if not one.rules and one.terms.get("wall"):
            groups[Place(one.host, one.context, one.batch), one.mode].append(one)
    return tuple(_figures(place, mode, group, seed, resamples) for (place, mode), group in sorted(groups.items()))


def _figures(place: Place, mode: str, group: list[TracedCell], seed: int, resamples: int) -> TracedFigures:
    values = {name: _joined([one.terms for one in group], name) for name in ("wall", "busy", *LEDGER)}
    values["host_exposed"] = sum_of(values[name] for name in EXPOSED)
    for part in ("within", "between"):
        values[part] = sum_of(_joined([getattr(one, part) for one in group], name) for name in EXPOSED)
    kernels = np.concatenate([one.kernels for one in group]) if any(one.kernels for one in group) else np.zeros(1)
    steps = np.array([len(one.terms["wall"]) for one in group], np.float64)
    phases: dict[str, float] = defaultdict(float)
    kinds: dict[str, int] = defaultdict(int)
    for one, weight in zip(group, (steps / steps.sum()).tolist()):
        for phase, ns in one.phases.items():
            phases[phase] += weight * ns
        for kind, count in one.step_kinds.items():
            kinds[kind] += count
    draws = mean_draws(values["wall"], resamples, seed, "traced wall", place.host, place.batch, place.context, mode)
    exposed = float(values["within"].sum() + values["between"].sum())
    return TracedFigures(
        place,
        mode,
        group[0].tokens,
        int(steps.sum()),
        (float(np.median(kernels)), float(kernels.min()), float(kernels.max())),
        {name: float(part.mean()) for name, part in values.items()},
        {name: float(np.median(part)) for name, part in values.items()},
        float(values["within"].sum()) / exposed if exposed > 0 else None,
        of_draws(draws, METHOD),
        values,
        dict(phases),
        dict(kinds),
        group[0].work,
        _pairs([pair for one in group for pair in one.traced]),
        _pairs([pair for one in group for pair in one.untraced]),
    )


def sum_of(parts: Iterable[Floats]) -> Floats:
    """The sum of arrays of one shape."""
    total: Floats = np.sum(list(parts), axis=0)
    return total


def mean_draws(values: Floats, resamples: int, seed: int, *names: object) -> Floats:
    """Resampled means of a sample, (resamples,)."""
    picked = stream(seed, *names).integers(0, len(values), (resamples, len(values)))
    means: Floats = values[picked].mean(axis=1)
    return means


def _joined(tables: Sequence[dict[str, tuple[int, ...]]], name: str) -> Floats:
    """A term over all steps; zero for a table that lacks it, as one of no such gaps may."""
    longest = [max((len(column) for column in table.values()), default=0) for table in tables]
    return np.concatenate([np.array(table.get(name, (0,) * n), np.float64) for table, n in zip(tables, longest)])


def _pairs(pairs: Sequence[tuple[int, int]]) -> Floats:
    return np.array(pairs, np.float64).reshape(-1, 2)
