"""From the points of the microbenchmarks to a profile of the machine they ran on. Room: accounting | model.

Only microbenchmarks go in, never the time of a step. Products and attention get a line each, time = t0 + bytes / (e x
bandwidth), small kernels a fixed time by kind and by who wrote them, everything else the median small kernel. How far each
shape that was measured is off that is kept (`model.residuals`), so that no line need fit them all. What a profile cannot say
of itself stands beside the constants (`model.calibrate_beside`), what makes it doubtful in its warnings.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from kerntrace.errors import KerntraceError
from kerntrace.hardware import GpuSpec
from kerntrace.model import calibrate_residuals as residual
from kerntrace.model import operations as op
from kerntrace.model.calibrate_beside import beside, measured_value, microbenchmark
from kerntrace.model.calibrate_checks import doubts
from kerntrace.model.calibrate_load import Load, at_clocks_of_generation, load_of
from kerntrace.model.calibrate_small import fixed_ns, small_constants, small_residuals, stream_constants, stream_residuals
from kerntrace.model.line import Line, fit_line
from kerntrace.model.points import Point, Points
from kerntrace.model.profile import Constant, Constants, Profile

_WEIGHT_BYTES = 2
_NEEDED = ("gemm", "attention", "small", "dram_copy")
# A reduce of slices or of parts is timed with what it belongs to; its own time is taken out of that, and can be no more.
_PARTS = {"gemm_reduce": "gemm", "attention_combine": "attention"}


def fit_profile(points: Points, gpu: GpuSpec) -> Profile:
    """A profile for this GPU.

    Args:
        gpu: what shares of bandwidth and peak are of.

    Raises:
        KerntraceError: if a kind of point is missing or no line goes through them.
    """
    for what in _NEEDED:
        if not points.of(what):
            said = f": {'; '.join(points.warnings)}" if points.warnings else ""
            raise KerntraceError(f"the points hold no {what}, so there is no profile{said[:300]}", "Measure again.")
    date = points.machine.get("date", "")
    load = load_of(points)
    points = at_clocks_of_generation(points, load)
    cache = _cache_bandwidth(points.of("l2"))
    gemm, gemm_x = _line_of(points.of("gemm"), _weight_bytes)
    attention, attention_x = _line_of(points.of("attention"), _key_bytes)
    small = points.of("small")
    default = median(fixed_ns(point, cache) for point in small if point.family.startswith("torch."))
    lines = {"gemm": (gemm, len(gemm_x)), "attention": (attention, len(attention_x))}
    constants = [_general(points, gpu, default, date)]
    constants += [_of_line(kind, line, count, gpu, date, points) for kind, (line, count) in lines.items()]
    constants += [_part(part, min(default, lines[whole][0].intercept), gpu, date) for part, whole in _PARTS.items()]
    constants += small_constants(small, cache, gpu, date)
    streamed = stream_constants(points.of("stream_small"), cache, gpu, date)
    residuals = [
        *residual.of_line("gemm", points.of("gemm"), residual.gemm_shape, _line_ns(gemm, gpu, _weight_bytes)),
        *residual.of_line("attention", points.of("attention"), residual.attention_shape, _line_ns(attention, gpu, _key_bytes)),
        *small_residuals(small, cache),
        *stream_residuals(points.of("stream_small"), cache),
    ]
    return Profile(
        name=f"calibrated-{gpu.name}",
        form="calibrated",
        description=f"microbenchmarks on one {points.machine.get('gpu', gpu.name)}, {date}",
        constant=(*constants, *streamed),
        residual=tuple(residuals),
        node_gap_us=_gap(points, "node_slot", "a node of a replay", date),
        stream_gap_us=_gap(points, "stream_slot", "a launch on a stream that lags behind the host", date),
        l2_bandwidth_gb_s=measured_value(cache, "slope of time over size of elementwise passes that fit L2", date)
        if cache
        else None,
        machine=points.machine,
        measured=beside(points, default, date) | _of_load(load, date),
        warnings=(*points.warnings, *doubts(points, gpu, {kind: line for kind, (line, _) in lines.items()})),
    )


def _of_load(load: Load | None, date: str) -> dict[str, Constant]:
    """Which clocks the constants are for; nothing where that was not measured, as the warnings say."""
    if load is None:
        return {}
    return {
        "share_of_load": Constant(load.weight, "assumed", load.said, date),  # of a measured curve, over an assumed time
        "slower_after_load_ratio": measured_value(
            load.slower, "a product right after large products over its rested time", date
        ),
    }


def _weight_bytes(point: Point) -> int:
    return op.gemm("", None, point.rows, point.outputs, point.inputs, _WEIGHT_BYTES).dram_bytes


def _key_bytes(point: Point) -> int:
    return 2 * _WEIGHT_BYTES * point.rows * point.length * point.kv_heads * point.head_dim


def _line_of(points: list[Point], size: object) -> tuple[Line, list[float]]:
    assert callable(size)
    x = [float(size(point)) for point in points]
    try:
        return fit_line(x, [point.ns for point in points]), x
    except ValueError as error:
        raise KerntraceError(f"the {points[0].what} points: {error}", "Measure again.") from None


def _cache_bandwidth(points: list[Point]) -> float | None:
    """Bytes a ns of activations that stay in L2; None where the points show no slope."""
    try:
        slope = fit_line([point.bytes for point in points], [point.ns for point in points]).slope
    except ValueError:
        return None
    return 1 / slope if slope > 0 else None


def _efficiency(line: Line, gpu: GpuSpec) -> float:
    return 1 / (line.slope * gpu.bandwidth) if line.slope else 1.0


def _line_ns(line: Line, gpu: GpuSpec, size: Callable[[Point], float]) -> Callable[[Point], float]:
    """What a profile with this line says of a point: its share of bandwidth is 1 at most."""
    bandwidth = min(1.0, _efficiency(line, gpu)) * gpu.bandwidth
    return lambda point: line.intercept + size(point) / bandwidth


def _general(points: Points, gpu: GpuSpec, small_ns: float, date: str) -> Constants:
    copy, peak = points.one("dram_copy"), points.one("gemm_peak")
    assert copy is not None  # fit_profile has seen to it
    return Constants(
        (gpu.name,),
        ("*",),
        t0_us=microbenchmark(
            small_ns / 1000, "median small kernel of PyTorch after a product with cold weights, gap included", date
        ),
        efficiency=_share(
            copy.bytes / copy.ns / gpu.bandwidth, f"elementwise pass over {copy.bytes / 1e9:.1f} GB, read plus written", date
        ),
        compute_efficiency=_share(
            peak.flops / peak.ns / gpu.peak_flops_per_ns("bfloat16"), "8192 x 8192 x 8192 BF16 product", date
        )
        if peak
        else None,
    )


def _of_line(kind: str, line: Line, count: int, gpu: GpuSpec, date: str, points: Points) -> Constants:
    how = points.of(kind)[0].how
    source = (
        f"line through {count - len(line.outliers)} of {count} {kind} points, cold, each added to a graph after a product"
        f"{f' ({how}; cache write, forward and combine together)' if how else ''}; mean error {100 * line.mape:.1f} %"
    )
    share = _efficiency(line, gpu)
    return Constants(
        (gpu.name,),
        (kind,),
        t0_us=microbenchmark(line.intercept / 1000, source, date),
        efficiency=_share(share, source, date),
    )


def _part(kind: str, ns: float, gpu: GpuSpec, date: str) -> Constants:
    source = (
        "a small kernel, at most what the whole operation's fixed time is; taken out of that, so a sum does not depend on it"
    )
    return Constants((gpu.name,), (kind,), t0_us=microbenchmark(ns / 1000, source, date))


def _gap(points: Points, what: str, text: str, date: str) -> Constant | None:
    slot, kernel = points.one(what), points.one("node_kernel")
    if slot is None or kernel is None:
        return None
    return microbenchmark(
        max(0.0, slot.ns - kernel.ns) / 1000, f"time of {text} less its kernel's own duration by PyTorch's profiler", date
    )


def _share(value: float, source: str, date: str) -> Constant:
    """A share of a nominal figure; what is above it is cut, since a profile's shares are at most 1."""
    if value > 1:
        return microbenchmark(1.0, f"{source}; {value:.3f} of the nominal figure measured, cut to 1", date)
    return microbenchmark(value, source, date)
