"""How far each shape that was measured is off its line or its kind's fixed time. Room: accounting | model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Literal

from kerntrace.model.points import Point
from kerntrace.model.residuals import Residuals

# A shape of its own takes half or twice what the line says at most; beyond that the measurement went wrong.
_FURTHEST = 2.0


def gemm_shape(point: Point) -> tuple[int, ...]:
    """Sizes of a product as the inventory has them."""
    return point.rows, point.outputs, point.inputs


def attention_shape(point: Point) -> tuple[int, ...]:
    """Sizes of attention as the inventory has them."""
    return point.rows, point.length, point.heads, point.kv_heads, point.head_dim


def of_line(
    kind: str, points: Iterable[Point], shape: Callable[[Point], tuple[int, ...]], line_ns: Callable[[Point], float]
) -> list[Residuals]:
    """The residuals of a kind of point around what the profile's line says; none where no point is near it."""
    return _residuals(kind, "", [(shape(point), point.ns / line_ns(point)) for point in points])


def of_small(
    points: Iterable[Point], line_ns: Callable[[Point], float], launched: Literal["", "stream"] = ""
) -> list[Residuals]:
    """Those of small kernels, by kind and family, over rows."""
    groups: dict[tuple[str, str], list[tuple[tuple[int, ...], float]]] = defaultdict(list)
    for point in points:
        expected = line_ns(point)
        if expected > 0:
            groups[point.kind, point.family].append(((point.rows,), point.ns / expected))
    return [found for (kind, family), alike in groups.items() for found in _residuals(kind, family, alike, None, launched)]


def _residuals(
    kind: str,
    family: str,
    found: list[tuple[tuple[int, ...], float]],
    furthest: float | None = _FURTHEST,
    launched: Literal["", "stream"] = "",
) -> list[Residuals]:
    kept = [
        (shape, round(ratio, 4))
        for shape, ratio in found
        if ratio > 0 and all(shape) and (furthest is None or 1 / furthest < ratio < furthest)
    ]
    if not kept:
        return []
    return [Residuals(kind, family, tuple(shape for shape, _ in kept), tuple(ratio for _, ratio in kept), launched)]
