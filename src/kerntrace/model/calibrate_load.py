"""Points at the clocks of a short generation: between rested and right after a prefill. Room: accounting | model.

Large products draw more power than the cap allows. A prefill may so leave the clocks held down, and the decode steps after it
then run while they recover. Products, attention and small kernels are timed in both states, and the recovery of one product is
timed by itself. A kernel of a generation then takes

    time = rested + w (loaded - rested),   w = mean over the generation of (recovery(t) - rested) / (loaded - rested)

with w from the recovery points alone. The generation is a stated assumption: 160 ms, which is 32 tokens of 5 ms, begun right
after a prefill. No time of a step goes in.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, median

import msgspec

from kerntrace.model.points import Point, Points

GENERATION_NS = 160e6
BOTH = ("gemm", "attention", "small")
_AT_FIRST_NS = 4e6  # the load before each pair is a few milliseconds away at most, so this is what `loaded` is
_RESTED_SHARE = 0.25  # of the curve, at its end
_TOLD_APART = 0.005


@dataclass(frozen=True, slots=True)
class Load:
    """How much of the difference between loaded and rested a generation pays.

    Attributes:
        weight: 0 where large products do not slow the product down.
        slower: the product's time right after large products over its rested time.
        said: where the weight comes from, one line.
    """

    weight: float
    slower: float
    said: str


def load_of(points: Points) -> Load | None:
    """The weight, from the recovery points; the mean over the rows measured. None where either state is missing.

    A curve that was cut short before the generation ends says nothing of rested clocks and does not count.
    """
    every = points.of("recovery")
    curves = [[point for point in every if point.rows == rows] for rows in _rows(every)]
    curves = [curve for curve in curves if max(point.after_ns for point in curve) > GENERATION_NS]
    if not curves or not any(points.of(f"{what}_loaded") for what in BOTH):
        return None
    each = [_weight(curve) for curve in curves]
    weight, slower = mean(weight for weight, _ in each), mean(ratio for _, ratio in each)
    return Load(
        round(weight, 4),
        round(slower, 4),
        f"rested time plus {weight:.2f} of the difference to the time right after large products: the mean of a product's "
        f"recovery over {GENERATION_NS / 1e6:.0f} ms, assumed as a generation after a prefill; {100 * (slower - 1):.1f} % "
        "slower at its beginning",
    )


def at_clocks_of_generation(points: Points, load: Load | None) -> Points:
    """The points, those that were timed in both states as a generation takes them; rested without a load."""
    if load is None:
        return points
    loaded = {_key(point): point for what in BOTH for point in points.of(f"{what}_loaded")}
    return msgspec.structs.replace(
        points, points=tuple(_between(point, loaded.get(_key(point)), load.weight) for point in points.points)
    )


def not_loaded(points: Points) -> dict[str, tuple[int, int]]:
    """Of each kind that was timed in both states only in part: how many points lack the time after large products, of all."""
    loaded = {_key(point) for what in BOTH for point in points.of(f"{what}_loaded")}
    found = {}
    for what in BOTH:
        alike = points.of(what)
        lack = sum(_key(point) not in loaded for point in alike)
        if lack:
            found[what] = (lack, len(alike))
    return found


def _rows(points: list[Point]) -> list[int]:
    return sorted({point.rows for point in points})


def _weight(curve: list[Point]) -> tuple[float, float]:
    """The weight and the first time over the rested one; 0 where the two cannot be told apart."""
    at_end = sorted(curve, key=lambda point: point.after_ns)[-max(1, int(_RESTED_SHARE * len(curve))) :]
    rested = median(point.ns for point in at_end)
    first = mean(point.ns for point in curve if point.after_ns < _AT_FIRST_NS)
    if first / rested - 1 < _TOLD_APART:
        return 0.0, first / rested
    during = mean(point.ns for point in curve if point.after_ns < GENERATION_NS)
    return min(1.0, max(0.0, (during - rested) / (first - rested))), first / rested


def _key(point: Point) -> tuple[object, ...]:
    what = point.what.removesuffix("_loaded")
    shape = (point.rows, point.outputs, point.inputs, point.length, point.heads, point.kv_heads, point.head_dim)
    return what, point.kind, point.family, *shape


def _between(rested: Point, loaded: Point | None, weight: float) -> Point:
    if loaded is None or rested.what not in BOTH:
        return rested
    more = weight * (loaded.ns - rested.ns)
    return msgspec.structs.replace(rested, times_ns=tuple(max(0.0, time + more) for time in rested.times_ns))
