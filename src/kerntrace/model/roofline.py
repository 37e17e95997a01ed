"""How long each kernel takes, by a profile, and what binds it. Room: accounting | model.

    slot = t0 + max(operations / (e_c x peak), bytes / (e x bandwidth), L2 bytes / L2 bandwidth)

A slot is a kernel and the gap to the next node of a replay, because that is how the published constants were timed. A
calibrated profile says how far the shapes that it measured are off that; a kernel's slot is scaled by it (`model.residuals`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from kerntrace.hardware import GpuSpec
from kerntrace.model.inventory import Inventory
from kerntrace.model.kernels import Kernel, Phase
from kerntrace.model.operations import Kind
from kerntrace.model.profile import Launched, Profile, Timing, timing
from kerntrace.model.residuals import ratio_for

# Below a third of the time, whatever the roofs say, the fixed cost is what a faster roof would not shorten.
_LATENCY_SHARE = 1 / 3
_LONG_ENOUGH_NS = 5_000


class Bound(str, Enum):
    """What a kernel's time goes by."""

    MEMORY = "memory"
    COMPUTE = "compute"
    LATENCY = "latency"
    L2 = "l2"


@dataclass(frozen=True, slots=True)
class Timed:
    """A kernel with its predicted time.

    Attributes:
        ideal_ns: the roofline's lower bound.
        slot_ns: the kernel and the gap to the next node of a replay.
        busy_ns: the kernel alone, which is what a trace records.
    """

    kernel: Kernel
    ideal_ns: float
    slot_ns: float
    busy_ns: float
    bound: Bound


@dataclass(frozen=True, slots=True)
class Violation:
    """A kernel measured faster than its bytes and operations allow: the byte model counts too much."""

    kernel: Kernel
    measured_ns: float
    ideal_ns: float


def ideal_ns(kernel: Kernel, gpu: GpuSpec, dtype: str = "bfloat16") -> float:
    """The roofline's lower bound: operations at the dense peak or bytes at the nominal bandwidth, whichever takes longer.

    Copies between host and device do not touch the roofs and have no bound here.
    """
    return _ideal(kernel, gpu.peak_flops_per_ns(dtype), gpu.bandwidth)


def _ideal(kernel: Kernel, flops_per_ns: float, bytes_per_ns: float) -> float:
    return 0.0 if kernel.kind is Kind.COPY else max(kernel.flops / flops_per_ns, kernel.bytes / bytes_per_ns)


def time_kernels(inventory: Inventory, profile: Profile, dtype: str = "bfloat16") -> tuple[Timed, ...]:
    """Every kernel of the inventory with its time, in the same order.

    Raises:
        UsageError: if the profile or the GPU lacks a constant that is needed.
    """
    gpu = inventory.step.gpu
    launched = {kernel: launched_as(kernel, profile) for kernel in inventory.kernels}
    alike = {(kernel.kind, kernel.family, how) for kernel, how in launched.items()}
    constants = {key: timing(profile, gpu, key[0], dtype, *key[1:]) for key in alike}
    measured = {entry.kind for entry in profile.residual if not entry.launched}
    covered = _time_of_parts(inventory, profile, constants, measured)
    peak, bandwidth = gpu.peak_flops_per_ns(dtype), gpu.bandwidth
    known: dict[tuple[object, ...], Timed] = {}  # layers repeat: time each distinct kernel once
    timed = []
    for kernel in inventory.kernels:
        fixed = covered.get((kernel.layer, kernel.name), 0.0)
        how = launched[kernel]
        key = (kernel.name, kernel.family, kernel.shape, kernel.bytes, fixed, how)
        like = known.get(key)
        if like is None:
            ideal = _ideal(kernel, peak, bandwidth)
            ratio = ratio_for(profile.residual, kernel.kind.value, kernel.family, kernel.shape, how)
            like = known[key] = _time(
                kernel, constants[kernel.kind, kernel.family, how], fixed, ideal, gpu.l2_bytes, 1.0 if ratio is None else ratio
            )
        timed.append(Timed(kernel, like.ideal_ns, like.slot_ns, like.busy_ns, like.bound))
    return tuple(timed)


def launched_as(kernel: Kernel, profile: Profile) -> Launched:
    """How the profile's constants for the kernel were launched: bookkeeping and sampler are outside a graph in every mode."""
    return "stream" if kernel.phase is not Phase.FORWARD and profile.streamed(kernel.kind) else ""


def total_ns(timed: Iterable[Timed]) -> float:
    """Sum of the slots."""
    return sum(entry.slot_ns for entry in timed)


def faster_than_ideal(
    kernels: Sequence[Kernel], measured_ns: Sequence[float], gpu: GpuSpec, dtype: str = "bfloat16"
) -> tuple[Violation, ...]:
    """Kernels over 5 us whose bytes exceed the L2 cache and that were measured faster than their lower bound.

    There can be none unless bytes are counted that do not move, so each is a bug of the byte model. Shorter kernels and those
    that fit the cache are left out: a warm cache may serve them.
    """
    found = []
    for kernel, measured in zip(kernels, measured_ns, strict=True):
        bound = ideal_ns(kernel, gpu, dtype)
        if measured > _LONG_ENOUGH_NS and kernel.bytes > gpu.l2_bytes and measured < bound:
            found.append(Violation(kernel, measured, bound))
    return tuple(found)


def _time_of_parts(
    inventory: Inventory, profile: Profile, constants: dict[tuple[Kind, str, Launched], Timing], measured: set[str]
) -> dict[tuple[int | None, str], float]:
    """For each (layer, kernel): time of other kernels that its own time already covers.

    Published fixed times cover those of the parts. Where a profile measured the whole, it covers all of the parts' time.
    """
    covered: dict[tuple[int | None, str], float] = defaultdict(float)
    whole = {(kernel.layer, kernel.name): kernel.kind.value for kernel in inventory.kernels}
    cache = inventory.step.gpu.l2_bytes
    for kernel in inventory.kernels:
        if not kernel.part_of:
            continue
        timing_of = constants[kernel.kind, kernel.family, ""]
        key = kernel.layer, kernel.part_of
        if whole.get(key) in measured:
            ratio = ratio_for(profile.residual, kernel.kind.value, kernel.family, kernel.shape)
            covered[key] += _time(kernel, timing_of, 0.0, 0.0, cache, 1.0 if ratio is None else ratio).slot_ns
        else:
            covered[key] += timing_of.t0_ns
    return covered


def _time(kernel: Kernel, constants: Timing, covered_ns: float, ideal: float, cache_bytes: int, ratio: float) -> Timed:
    """The kernel's time; `covered_ns` of it belongs to its parts, `ratio` is that of its shape to the line."""
    compute = kernel.flops / constants.flops_per_ns
    if kernel.kind is Kind.COPY:
        fixed = max(0.0, constants.t0_ns - covered_ns)
        return Timed(kernel, ideal, fixed, max(0.0, fixed - constants.node_gap_ns), Bound.LATENCY)
    if constants.l2_bytes_per_ns is None or 0 < cache_bytes < kernel.l2_bytes:
        dram, l2 = kernel.bytes / constants.bytes_per_ns, 0.0
    else:
        dram, l2 = kernel.dram_bytes / constants.bytes_per_ns, kernel.l2_bytes / constants.l2_bytes_per_ns
    moving = max(compute, dram, l2)
    slot = max(min(moving, ratio * (constants.t0_ns + moving)), ratio * (constants.t0_ns + moving) - covered_ns)
    in_cache = l2 > dram or (kernel.l2_bytes > kernel.dram_bytes and kernel.bytes <= cache_bytes)
    bound = _bound(ideal / slot if slot else 0.0, compute > max(dram, l2), in_cache)
    return Timed(kernel, ideal, slot, max(ideal, slot - constants.node_gap_ns), bound)


def _bound(ideal_share: float, computes: bool, in_cache: bool) -> Bound:
    if ideal_share < _LATENCY_SHARE:
        return Bound.LATENCY
    if computes:
        return Bound.COMPUTE
    return Bound.L2 if in_cache else Bound.MEMORY
