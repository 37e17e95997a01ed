"""Exposed host time by phase of the engine against the batch size: S(N) as measured. Room: evidence.

The ledger says in which range or synchronising call of the launching thread the GPU waited. Ranges are put into the parts of an
engine's iteration by words in their names; what no word fits is kept as `other`, and the ranges themselves are listed as well.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerntrace.evidence.traced import TracedFigures
from kerntrace.stats.regression import Line, line
from kerntrace.units import NS_PER_MS, NS_PER_US

_PARTS = (
    ("core", r"core step|input queue"),
    ("schedule", r"schedul|allocate|get_computed_blocks"),
    ("prepare inputs", r"prepar|preprocess|input|update.states|metadata"),
    ("sample", r"sampl|logits|bookkeep"),
    ("output", r"output|postprocess|detoken|update.from"),
    ("forward", r"forward|execute step|execute_model|model|kerntrace\.step"),
    ("synchronise", r"^cu\w*synchronize|^cudaMemcpy|^cuMemcpy"),
    ("no range", r"^\(no range\)$"),
)
OTHER = "other"
PARTS = (*(part for part, _ in _PARTS), OTHER)
RESIDUAL_PARTS = ("core", "schedule", "prepare inputs", "sample", "output")


def part_of(phase: str) -> str:
    """The part of an iteration that a phase belongs to."""
    return next((part for part, words in _PARTS if re.search(words, phase, re.IGNORECASE)), OTHER)


@dataclass(frozen=True, slots=True)
class PhaseTrend:
    """One part of the iteration over the traced cells of one host and mode.

    Attributes:
        ns: mean ns a step by (batch, context).
        line: ms a step on N; None with fewer than two batch sizes.
        phases: the ranges put into this part, with the most time first.
    """

    host: str
    mode: str
    part: str
    ns: dict[tuple[int, int], float]
    line: Line | None
    phases: tuple[str, ...]

    @property
    def us_a_sequence(self) -> float | None:
        """The slope: us of exposed host time that another sequence adds."""
        return self.line.slope * NS_PER_MS / NS_PER_US if self.line else None


def phase_trends(traced: Sequence[TracedFigures]) -> tuple[PhaseTrend, ...]:
    """Every part with any exposed host time, and the sum of the parts that S(N) stands for as `residual parts`."""
    groups: dict[tuple[str, str], list[TracedFigures]] = defaultdict(list)
    for one in traced:
        if one.phases:
            groups[one.place.host, one.mode].append(one)
    found = []
    for (host, mode), group in sorted(groups.items()):
        for part in PARTS:
            trend = _trend(host, mode, part, (part,), group)
            if any(trend.ns.values()):
                found.append(trend)
        found.append(_trend(host, mode, "residual parts", RESIDUAL_PARTS, group))
    return tuple(found)


def _trend(host: str, mode: str, name: str, parts: tuple[str, ...], group: list[TracedFigures]) -> PhaseTrend:
    ns: dict[tuple[int, int], float] = {}
    phases: dict[str, float] = defaultdict(float)
    for one in group:
        mine = {phase: value for phase, value in one.phases.items() if part_of(phase) in parts}
        ns[one.place.batch, one.place.context] = sum(mine.values())
        for phase, value in mine.items():
            phases[phase] += value
    batch = np.array([n for n, _ in ns], np.float64)
    fitted = line(batch, np.array(list(ns.values())) / NS_PER_MS)
    return PhaseTrend(host, mode, name, ns, fitted, tuple(sorted(phases, key=lambda phase: (-phases[phase], phase))))
