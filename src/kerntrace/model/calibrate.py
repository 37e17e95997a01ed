"""From the points of the microbenchmarks to a profile of the machine they ran on. Room: accounting | model.

Only microbenchmarks go in, never the time of a step. Products and attention get a line each, time = t0 + bytes / (e x
bandwidth), small kernels a fixed time by kind and by who wrote them, everything else the median small kernel. What a profile
cannot say of itself (bandwidths reached, the peak, what launching costs) stands beside the constants, what makes it doubtful in
its warnings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from kerntrace.errors import KerntraceError
from kerntrace.hardware import GpuSpec
from kerntrace.model import operations as op
from kerntrace.model.calibrate_checks import doubts
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
    cache = _cache_bandwidth(points.of("l2"))
    gemm, gemm_x = _line_of(points.of("gemm"), _weight_bytes)
    attention, attention_x = _line_of(points.of("attention"), _key_bytes)
    small = points.of("small")
    default = median(_fixed_ns(point, cache) for point in small if point.family.startswith("torch."))
    lines = {"gemm": (gemm, len(gemm_x)), "attention": (attention, len(attention_x))}
    constants = [_general(points, gpu, default, date)]
    constants += [_of_line(kind, line, count, gpu, date, points) for kind, (line, count) in lines.items()]
    constants += [_part(part, min(default, lines[whole][0].intercept), gpu, date) for part, whole in _PARTS.items()]
    constants += _of_small(small, cache, gpu, date)
    return Profile(
        name=f"calibrated-{gpu.name}",
        form="calibrated",
        description=f"microbenchmarks on one {points.machine.get('gpu', gpu.name)}, {date}",
        constant=tuple(constants),
        node_gap_us=_node_gap(points, date),
        l2_bandwidth_gb_s=_measured(cache, "slope of time over size of elementwise passes that fit L2", date)
        if cache
        else None,
        machine=points.machine,
        measured=_beside(points, default, date),
        warnings=(*points.warnings, *doubts(points, gpu, {kind: line for kind, (line, _) in lines.items()})),
    )


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


def _fixed_ns(point: Point, cache: float | None) -> float:
    """A small kernel's time without that of its bytes."""
    return max(0.0, point.ns - (point.bytes / cache if cache else 0.0))


def _general(points: Points, gpu: GpuSpec, small_ns: float, date: str) -> Constants:
    copy, peak = points.one("dram_copy"), points.one("gemm_peak")
    assert copy is not None  # fit_profile has seen to it
    return Constants(
        (gpu.name,),
        ("*",),
        t0_us=_microbenchmark(small_ns / 1000, "median small kernel of PyTorch in a graph, gap included", date),
        efficiency=_share(copy.bytes / copy.ns / gpu.bandwidth, "elementwise pass over 8.6 GB, read plus written", date),
        compute_efficiency=_share(
            peak.flops / peak.ns / gpu.peak_flops_per_ns("bfloat16"), "8192 x 8192 x 8192 BF16 product", date
        )
        if peak
        else None,
    )


def _of_line(kind: str, line: Line, count: int, gpu: GpuSpec, date: str, points: Points) -> Constants:
    how = points.of(kind)[0].how
    source = (
        f"line through {count - len(line.outliers)} of {count} {kind} points with cold weights or keys, timed in a graph"
        f"{f' ({how}; cache write, forward and combine together)' if how else ''}; mean error {100 * line.mape:.1f} %"
    )
    share = 1 / (line.slope * gpu.bandwidth) if line.slope else 1.0
    return Constants(
        (gpu.name,),
        (kind,),
        t0_us=_microbenchmark(line.intercept / 1000, source, date),
        efficiency=_share(share, source, date),
    )


def _part(kind: str, ns: float, gpu: GpuSpec, date: str) -> Constants:
    source = (
        "a small kernel, at most what the whole operation's fixed time is; taken out of that, so a sum does not depend on it"
    )
    return Constants((gpu.name,), (kind,), t0_us=_microbenchmark(ns / 1000, source, date))


def _of_small(points: Iterable[Point], cache: float | None, gpu: GpuSpec, date: str) -> list[Constants]:
    """Fixed times by kind, and by who wrote the kernel where several did."""
    groups: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for point in points:
        if point.kind != "metadata":  # fills are the shortest of that kind and stand for none of the others
            groups[point.kind, point.family.partition(".")[0]].append(point)
    found = []
    for (kind, writer), alike in groups.items():
        families = () if writer in ("torch", "copy") else (f"{writer}.",)
        shown = ", ".join(dict.fromkeys(point.family for point in alike))
        source = f"{shown} at {', '.join(sorted({str(point.rows) for point in alike}, key=int))} rows in a graph, gap included"
        fixed = median(_fixed_ns(point, cache) for point in alike)
        found.append(Constants((gpu.name,), (kind,), families, t0_us=_microbenchmark(fixed / 1000, source, date)))
    return found


def _node_gap(points: Points, date: str) -> Constant | None:
    slot, kernel = points.one("node_slot"), points.one("node_kernel")
    if slot is None or kernel is None:
        return None
    source = "time of a node of a replay less its kernel's own duration by PyTorch's profiler"
    return _microbenchmark(max(0.0, slot.ns - kernel.ns) / 1000, source, date)


def _beside(points: Points, small_ns: float, date: str) -> dict[str, Constant]:
    found = {"small_kernel_us": _measured(small_ns / 1000, "median small kernel in a graph, gap included", date)}
    for name, what, text in (
        ("dram_read_gb_s", "dram_read", "sum over 4.3 GB"),
        ("dram_copy_gb_s", "dram_copy", "elementwise pass over 8.6 GB, read plus written"),
    ):
        point = points.one(what)
        if point:
            found[name] = _measured(point.bytes / point.ns, text, date)
    peak = points.one("gemm_peak")
    if peak:
        found["gemm_peak_tflops"] = _measured(
            peak.flops / peak.ns / 1000, "8192 x 8192 x 8192 BF16 product, random values", date
        )
    for name, what, text in (
        ("null_launch_us", "null_launch", "CPU time of the driver's launch call, an empty kernel"),
        (
            "launch_to_start_us",
            "launch_to_start",
            "from the call's beginning until the host sees the kernel's write, idle stream",
        ),
    ):
        point = points.one(what)
        if point:
            found[name] = _measured(point.ns / 1000, text, date)
    return found | _of_graphs(points, date)


def _of_graphs(points: Points, date: str) -> dict[str, Constant]:
    """Slopes over the number of nodes; nothing where they cannot be drawn."""
    found = {}
    for what, slope_name, base_name in (
        ("graph_nodes", "graph_node_us", ""),
        ("graph_launch", "graph_launch_per_node_us", "graph_launch_us"),
    ):
        alike = points.of(what)
        try:
            line = fit_line([point.nodes for point in alike], [point.ns for point in alike])
        except ValueError:
            continue
        whose = "a replay's GPU time" if what == "graph_nodes" else "the replay call's CPU time"
        found[slope_name] = _measured(line.slope / 1000, f"slope of {whose} over its nodes, empty kernels", date)
        if base_name:
            found[base_name] = _measured(line.intercept / 1000, f"{whose} of a graph without nodes, by that line", date)
    return found


def _share(value: float, source: str, date: str) -> Constant:
    """A share of a nominal figure; what is above it is cut, since a profile's shares are at most 1."""
    if value > 1:
        return _microbenchmark(1.0, f"{source}; {value:.3f} of the nominal figure measured, cut to 1", date)
    return _microbenchmark(value, source, date)


def _microbenchmark(value: float, source: str, date: str) -> Constant:
    return Constant(round(value, 4), "microbenchmark", source, date)


def _measured(value: float, source: str, date: str) -> Constant:
    return Constant(round(value, 4), "measured", source, date)
