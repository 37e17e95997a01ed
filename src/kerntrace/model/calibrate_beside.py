"""What a calibration measures beside a profile's constants: bandwidths reached, the peak, what launching costs.

Room: accounting | model.
"""

from __future__ import annotations

from kerntrace.model.line import fit_line
from kerntrace.model.points import Points
from kerntrace.model.profile import Constant


def beside(points: Points, small_ns: float, date: str) -> dict[str, Constant]:
    """Those that were measured, by name; each name ends in its unit."""
    found = {
        "small_kernel_us": measured_value(
            small_ns / 1000, "median small kernel after a product with cold weights, gap included", date
        )
    }
    for name, what, text in (
        ("dram_read_gb_s", "dram_read", "sum over {:.1f} GB"),
        ("dram_copy_gb_s", "dram_copy", "elementwise pass over {:.1f} GB, read plus written"),
    ):
        point = points.one(what)
        if point:
            found[name] = measured_value(point.bytes / point.ns, text.format(point.bytes / 1e9), date)
    peak = points.one("gemm_peak")
    if peak:
        found["gemm_peak_tflops"] = measured_value(
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
            found[name] = measured_value(point.ns / 1000, text, date)
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
        found[slope_name] = measured_value(line.slope / 1000, f"slope of {whose} over its nodes, empty kernels", date)
        if base_name:
            found[base_name] = measured_value(line.intercept / 1000, f"{whose} of a graph without nodes, by that line", date)
    return found


def microbenchmark(value: float, source: str, date: str) -> Constant:
    """A constant of the profile."""
    return Constant(round(value, 4), "microbenchmark", source, date)


def measured_value(value: float, source: str, date: str) -> Constant:
    """A figure that no prediction goes by."""
    return Constant(round(value, 4), "measured", source, date)
