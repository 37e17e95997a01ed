"""Fixed times of small kernels, as nodes of a graph and launched one by one. Room: accounting | model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from kerntrace.hardware import GpuSpec
from kerntrace.model import calibrate_residuals as residual
from kerntrace.model.calibrate_beside import microbenchmark
from kerntrace.model.points import Point
from kerntrace.model.profile import Constants
from kerntrace.model.residuals import Residuals

_BY_KIND = ("torch", "copy")  # writers whose time stands for a kind, whoever wrote the kernel


def small_constants(points: list[Point], cache: float | None, gpu: GpuSpec, date: str) -> list[Constants]:
    """Fixed times by kind, and by who wrote the kernel where several did."""
    found = []
    for (kind, writer), fixed in _fixed_by_writer(points, cache).items():
        alike = [point for point in points if _group(point) == (kind, writer)]
        families = () if writer in _BY_KIND else (f"{writer}.",)
        shown = ", ".join(dict.fromkeys(point.family for point in alike))
        source = (
            f"{shown} at {', '.join(sorted({str(point.rows) for point in alike}, key=int))} rows, "
            "added to a graph after a product with cold weights, gap included"
        )
        found.append(Constants((gpu.name,), (kind,), families, t0_us=microbenchmark(fixed / 1000, source, date)))
    return found


def small_residuals(points: list[Point], cache: float | None) -> list[Residuals]:
    """How far each is off its kind's fixed time, by rows."""
    fixed = _fixed_by_writer(points, cache)
    known = [point for point in points if _group(point) in fixed]
    return residual.of_small(known, lambda point: fixed[_group(point)] + _moving_ns(point, cache))


def stream_constants(points: list[Point], cache: float | None, gpu: GpuSpec, date: str) -> list[Constants]:
    """Fixed times of kernels launched one by one; none where they were not measured.

    Bookkeeping that was not measured by itself takes the median of PyTorch's kernels.
    """
    if not points:
        return []
    fixed = _fixed_streamed(points, cache)
    found = []
    for (kind, writer), ns in fixed.items():
        families = () if writer in _BY_KIND else (f"{writer}.",)
        shown = ", ".join(dict.fromkeys(point.family for point in points if _group(point) == (kind, writer)))
        which = "median of PyTorch's small kernels" if kind == "metadata" else shown
        source = f"{which}, added to a stream after a product with cold weights, launched one by one, gap included"
        found.append(
            Constants((gpu.name,), (kind,), families, t0_us=microbenchmark(ns / 1000, source, date), launched="stream")
        )
    return found


def stream_residuals(points: list[Point], cache: float | None) -> list[Residuals]:
    """How far each kernel launched one by one is off its kind's fixed time, by rows."""
    fixed = _fixed_streamed(points, cache)
    return residual.of_small(points, lambda point: fixed[_group(point)] + _moving_ns(point, cache), "stream")


def _fixed_streamed(points: list[Point], cache: float | None) -> dict[tuple[str, str], float]:
    fixed = _fixed_by_writer(points, cache)
    torch = [fixed_ns(point, cache) for point in points if point.family.startswith("torch.")]
    return fixed | {_group(point): median(torch) for point in points if point.kind == "metadata"}


def _moving_ns(point: Point, cache: float | None) -> float:
    return point.bytes / cache if cache else 0.0


def fixed_ns(point: Point, cache: float | None) -> float:
    """A small kernel's time without that of its bytes."""
    return max(0.0, point.ns - _moving_ns(point, cache))


def _group(point: Point) -> tuple[str, str]:
    """Kind, and who wrote it."""
    return point.kind, point.family.partition(".")[0]


def _fixed_by_writer(points: Iterable[Point], cache: float | None) -> dict[tuple[str, str], float]:
    """Median fixed time (ns) of each group of small kernels."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for point in points:
        if point.kind != "metadata":  # fills are the shortest of that kind and stand for none of the others
            groups[_group(point)].append(fixed_ns(point, cache))
    return {group: median(alike) for group, alike in groups.items()}
