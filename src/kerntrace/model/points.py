"""The points a calibration measured, as a JSON document, and their medians. Room: accounting | model."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from kerntrace.errors import UnreadableError

SCHEMA = "kerntrace.calibration-points/1"
NOISY = 0.05  # of a point's median: a median deviation above it is said


class Point(msgspec.Struct, frozen=True):
    """One thing that was timed.

    Attributes:
        what: gemm, attention, small, dram_read, ...; `model.calibrate` knows what each is for.
        times_ns: samples.
        bytes, flops: of what is not described by a shape.
        rows, outputs, inputs: of a product.
        rows, length, heads, kv_heads, head_dim: of attention; how: who computed it.
        kind, family: of a small kernel, as the inventory names them.
        nodes: of a graph.
        after_ns: since large products ended, of a recovery.
    """

    what: str
    times_ns: tuple[float, ...]
    bytes: int = 0
    flops: int = 0
    rows: int = 0
    outputs: int = 0
    inputs: int = 0
    length: int = 0
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    how: str = ""
    kind: str = ""
    family: str = ""
    nodes: int = 0
    after_ns: float = 0.0

    @property
    def ns(self) -> float:
        return median(self.times_ns)

    @property
    def noise(self) -> float:
        """Median deviation from the median, as a share of it."""
        middle = self.ns
        return median(abs(time - middle) for time in self.times_ns) / middle if middle > 0 else 0.0

    def named(self) -> str:
        """What it is, for people."""
        sizes = {
            "gemm": f"{self.rows} x {self.outputs} x {self.inputs}",
            "attention": f"{self.rows} x {self.length} keys, {self.heads}/{self.kv_heads} heads of {self.head_dim}",
            "small": f"{self.family} {self.kind}, {self.rows} rows",
        }
        like = "small" if self.what == "stream_small" else self.what.removesuffix("_loaded")
        return f"{self.what} {sizes.get(like, '')}".strip()


class Points(msgspec.Struct, frozen=True):
    """Everything one run of the microbenchmarks measured.

    Attributes:
        machine: GPU, versions, date and clocks, as each says itself.
        warnings: parts that could not be measured.
    """

    schema: str
    machine: dict[str, str]
    points: tuple[Point, ...]
    warnings: tuple[str, ...] = ()

    def of(self, what: str) -> list[Point]:
        return [point for point in self.points if point.what == what]

    def one(self, what: str) -> Point | None:
        return next(iter(self.of(what)), None)


def read_points(path: Path) -> Points:
    """The points of a file.

    Raises:
        UnreadableError: if it cannot be read or is no such document.
    """
    try:
        return parse_points(msgspec.json.decode(path.read_bytes()), path.name)
    except OSError as error:
        raise UnreadableError(
            f"{path.name}: cannot be read: {error.strerror}", "Give the points that calibrate wrote."
        ) from None
    except msgspec.DecodeError as error:
        raise UnreadableError(f"{path.name}: not JSON: {error}", "Give the points that calibrate wrote.") from None


def parse_points(document: Any, name: str = "points") -> Points:
    """The points of a parsed document.

    Raises:
        UnreadableError: if a key is missing or wrong, or a point has no time above zero.
    """
    try:
        points = msgspec.convert(document, Points)
    except msgspec.ValidationError as error:
        raise UnreadableError(f"{name}: {error}", "Give the points that calibrate wrote.") from None
    if points.schema != SCHEMA:
        raise UnreadableError(f"{name}: schema {points.schema!r} is not {SCHEMA}", "Measure again with this version.")
    for point in points.points:
        if not point.times_ns or not all(0 <= time < float("inf") for time in point.times_ns):
            raise UnreadableError(f"{name}: {point.named()} has no time that could be measured", "Measure again.")
    return points
