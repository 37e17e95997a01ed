"""A step's kernel count, part by part: the layer that repeats and the rest, by family. Room: steps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerntrace.steps.families import families
from kerntrace.steps.motif import find_motif
from kerntrace.steps.ownership import Steps
from kerntrace.steps.work import sequence_of
from kerntrace.trace.model import Trace
from kerntrace.trace.operations import Operations

Parts = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Layers:
    """The motif of one step.

    Attributes:
        written: e.g. `438 = 32 x 13 + 22`.
        step: the step it was found in.
        period, repeats: kernels in the motif, and how often it repeats.
        motif, rest: families with their count, in order of first appearance.
    """

    written: str
    step: int
    period: int
    repeats: int
    motif: Parts
    rest: Parts

    def json(self) -> dict[str, Any]:
        parts = {n: [{"family": f, "count": c} for f, c in part] for n, part in (("motif", self.motif), ("rest", self.rest))}
        return {"written": self.written, "step": self.step, "period": self.period, "repeats": self.repeats, **parts}


def layers_of(trace: Trace, ops: Operations, steps: Steps, step: int) -> Layers | None:
    """The layer that repeats in a step's kernels in launch order, or None where none does."""
    rows = sequence_of(trace, ops, steps, step)
    names = trace.kernels.names("name")
    codes, labels = families((*names.values, ""))
    sequence = np.array(codes)[names.codes[rows]]
    motif = find_motif(sequence)
    if motif is None:
        return None
    rest = np.concatenate([motif.before(sequence), motif.after(sequence)])
    return Layers(
        motif.written(), step, motif.period, motif.repeats, _parts(motif.block(sequence), labels), _parts(rest, labels)
    )


def _parts(codes: np.ndarray, labels: list[str]) -> Parts:
    return tuple((labels[code], count) for code, count in Counter(codes.tolist()).items())
