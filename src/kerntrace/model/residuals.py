"""How far measured kernels are off a profile's line, and what that says of one between them. Room: accounting | model.

A line through products of 8 MB to 1 GB is off most of them by a few per cent, each shape in its own direction. Where shapes
were measured, a kernel takes what the line says times the ratio of measured to line of its shape, or of those nearest to it:

    ratio = sum(w_i ratio_i) / sum(w_i),   w_i = 1 / d_i^3,   d_i = sum over dimensions of |ln(size / size_i)|

It is the measured time where the shape was measured, and the line's times about 1 far from all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from typing import Literal

import msgspec

_POWER = 3


class Residuals(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Measured time over the line's, by shape.

    Attributes:
        kind: the name of a `Kind`.
        family: the kernel family, any of the kind if empty.
        shapes: sizes as the inventory's operation has them; a shorter shape is of the first dimensions only.
        ratios: one for each shape.
        launched: `stream` for kernels that are launched one by one, empty for nodes of a graph.
    """

    kind: str
    family: str
    shapes: tuple[tuple[int, ...], ...]
    ratios: tuple[float, ...]
    launched: Literal["", "stream"] = ""

    def of(self, shape: tuple[int, ...]) -> float:
        """The ratio for a shape."""
        total = weights = 0.0
        for measured, ratio in zip(self.shapes, self.ratios, strict=True):
            distance = sum(abs(log(size / other)) for size, other in zip(shape, measured) if size > 0)
            if distance == 0:
                return ratio
            weight = distance**-_POWER
            total += weight * ratio
            weights += weight
        return total / weights if weights else 1.0


def ratio_for(
    residuals: Iterable[Residuals], kind: str, family: str, shape: tuple[int, ...], launched: Literal["", "stream"] = ""
) -> float | None:
    """The ratio of the first entry for the kernel's family, else of one for any family of its kind; None if there is none."""
    alike = [entry for entry in residuals if (entry.kind, entry.launched) == (kind, launched) and entry.family in (family, "")]
    chosen = min(alike, key=lambda entry: not entry.family, default=None)
    return chosen.of(shape) if chosen else None
