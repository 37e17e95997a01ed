"""What makes a calibration doubtful: noise, outliers, throttling, what was not measured. Room: accounting | model."""

from __future__ import annotations

from kerntrace.hardware import GpuSpec
from kerntrace.model.calibrate_load import BOTH, load_of, not_loaded
from kerntrace.model.line import Line
from kerntrace.model.points import NOISY, Point, Points

_DRIFT = 0.03
_POOR_FIT = 0.15
_FAR_BELOW_CLOCK = 0.9
_TOLD_APART_NS = 100.0  # differences of graphs tell no less
# Bits of nvidia-smi's clocks_event_reasons.active that slow a GPU down; being idle or asked for a clock are not among them.
_REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "thermal limit (software)",
    0x40: "thermal limit (hardware)",
    0x80: "power brake",
}
_NAMED = 3
# What a fit or a check goes by.
USED = (
    {*BOTH, *(f"{what}_loaded" for what in BOTH)}
    | {"recovery", "stream_small", "stream_slot", "node_slot", "node_kernel", "graph_nodes", "graph_launch"}
    | {"null_launch", "launch_to_start", "dram_read", "dram_read_again", "dram_copy", "l2", "gemm_peak"}
)
# What was timed for people to compare with; no constant comes of it.
COMPARED = frozenset({*(f"{what}_alone" for what in BOTH), "gemm_probe"})
_KINDS = {"vllm": "vLLM's own kernels", "triton": "Inductor's kernels"}


def doubts(points: Points, gpu: GpuSpec, lines: dict[str, Line]) -> list[str]:
    """A line for each doubt."""
    found = [*_throttling(points), *_noise(points)]
    for what, line in lines.items():
        alike = points.of(what)
        if line.outliers:
            found.append(f"{len(line.outliers)} of {len(alike)} {what} points are off the line: {_names(alike, line.outliers)}")
        if line.mape > _POOR_FIT:
            found.append(f"the {what} line is {100 * line.mape:.0f} % off its own points on average")
    how = points.of("attention")[0].how if points.of("attention") else ""
    if how and not how.startswith("vLLM"):
        found.append(f"attention was measured with {how}, which is not what an engine runs")
    lost = [number for number, point in enumerate(points.of("small")) if point.ns == 0]
    if lost:
        found.append(f"{len(lost)} small kernels add no time that can be told: {_names(points.of('small'), lost)}")
    writers = {point.family.partition(".")[0] for point in points.of("small")}
    found += [
        f"{name} were not measured: the median small kernel stands for them"
        for key, name in _KINDS.items()
        if key not in writers
    ]
    if points.one("node_slot") is None:
        found.append("the gap between two nodes was not measured: kernels are predicted with the gap after them")
    found += _load(points)
    if not points.of("stream_small"):
        found.append("kernels launched one by one were not measured: those outside a graph are predicted as its nodes")
    if not points.of("l2"):
        found.append("the L2 cache was not measured: activations are timed as DRAM bytes")
    if not gpu.in_table:
        found.append(f"{gpu.name} is out of table: shares are of given values")
    unknown = dict.fromkeys(point.what for point in points.points if point.what not in USED | COMPARED)
    if unknown:
        found.append(f"points of a kind that this version does not use: {', '.join(unknown)}")
    return found


def _load(points: Points) -> list[str]:
    if load_of(points) is None:
        return ["times after large products were not measured: kernels are predicted at rested clocks"]
    return [
        f"{lack} of {count} {what} points were not timed after large products: those are taken as rested"
        for what, (lack, count) in not_loaded(points).items()
    ]


def _throttling(points: Points) -> list[str]:
    found = []
    first, last = points.one("dram_read"), points.one("dram_read_again")
    if first and last and abs(last.ns / first.ns - 1) > _DRIFT:
        change = 100 * (first.ns / last.ns - 1)
        found.append(f"DRAM reads went {change:+.1f} % in speed from the first measurement to the last: throttled or shared")
    machine = points.machine
    try:
        reasons = int(machine.get("clocks_event_reasons_active", "0"), 16)
    except ValueError:
        reasons = 0
    said = [name for bit, name in _REASONS.items() if reasons & bit]
    if said:
        found.append(f"clocks were held down under load: {', '.join(said)}")
    try:
        now, most = float(machine["clocks_sm"]), float(machine["clocks_max_sm"])
    except (KeyError, ValueError):
        return found
    if now < _FAR_BELOW_CLOCK * most:
        found.append(f"the SM clock was {now:.0f} MHz under load, of {most:.0f}")
    return found


def _noise(points: Points) -> list[str]:
    # Host times are noisy by nature; what the device does should repeat.
    device = [
        point
        for point in points.points
        if point.what not in ("null_launch", "launch_to_start", "graph_launch", "node_kernel", "recovery")
    ]
    noisy = [number for number, point in enumerate(device) if point.noise > max(NOISY, _TOLD_APART_NS / max(point.ns, 1.0))]
    if not noisy:
        return []
    return [f"{len(noisy)} of {len(device)} points vary by more than {100 * NOISY:.0f} %: {_names(device, noisy)}"]


def _names(points: list[Point], which: list[int] | tuple[int, ...]) -> str:
    named = "; ".join(points[number].named() for number in which[:_NAMED])
    return named + ("; ..." if len(which) > _NAMED else "")
