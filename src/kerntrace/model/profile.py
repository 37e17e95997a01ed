"""Timing profiles: the constants that turn bytes and operations into time, each with its source. Room: accounting | model.

A profile is a TOML file. Some ship; `kerntrace calibrate` writes one on a machine, which is read from a path.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from kerntrace.errors import UsageError
from kerntrace.hardware import GpuSpec
from kerntrace.hardware.toml_file import read_toml
from kerntrace.model.operations import Kind
from kerntrace.model.residuals import Residuals

_SHIPPED = Path(__file__).parent / "profiles"
_ANY = "*"
Launched = Literal["", "stream"]
Form = Literal["ideal", "flat", "affine", "calibrated"]


class Constant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number with how it is known, where from, and when it was read or measured there."""

    value: float
    kind: Literal["published", "datasheet", "microbenchmark", "measured", "assumed"]
    source: str
    date: str = ""


class Constants(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The constants of some kinds of kernels on some GPUs.

    Attributes:
        applies_to: GPU names, compute capabilities, or `*`.
        kinds: names of `Kind`, or `*`.
        families: beginnings of kernel families, e.g. `triton.`; any family if empty.
        t0_us: fixed time of a kernel, the gap to the next one included.
        efficiency: share of the nominal DRAM bandwidth that large kernels reach.
        compute_efficiency: share of the dense peak that large kernels reach.
        launched: `stream` where they are of kernels launched one by one, outside a graph; empty for all others.
    """

    applies_to: tuple[str, ...]
    kinds: tuple[str, ...]
    families: tuple[str, ...] = ()
    t0_us: Constant | None = None
    efficiency: Constant | None = None
    compute_efficiency: Constant | None = None
    launched: Launched = ""


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A named set of constants.

    Attributes:
        form: which formula they are for.
        residual: by shape, how far measured kernels are off the constants; applies to the GPUs of the constants.
        node_gap_us: gap between two nodes of a replay; a kernel's own duration is its slot less this.
        stream_gap_us: the same between two kernels launched one by one; that of two nodes if not given.
        l2_bandwidth_gb_s: bandwidth of activations that stay in L2; without it they are timed as DRAM bytes.
        machine: what a calibrated profile was measured on: GPU, clocks, versions.
        measured: what was measured beside the constants: bandwidths, peak, costs of launching; each name ends in its unit.
        warnings: what makes the measurement doubtful, one line each.
    """

    name: str
    form: Form
    description: str = ""
    constant: tuple[Constants, ...] = ()
    residual: tuple[Residuals, ...] = ()
    node_gap_us: Constant | None = None
    stream_gap_us: Constant | None = None
    l2_bandwidth_gb_s: Constant | None = None
    machine: dict[str, str] = {}
    measured: dict[str, Constant] = {}
    warnings: tuple[str, ...] = ()

    def streamed(self, kind: Kind) -> bool:
        """Whether kernels of this kind were measured launched one by one."""
        return any(constants.launched == "stream" and kind.value in constants.kinds for constants in self.constant)


@dataclass(frozen=True, slots=True)
class Timing:
    """The constants that time one kind of kernel on one GPU."""

    t0_ns: float
    bytes_per_ns: float
    flops_per_ns: float
    l2_bytes_per_ns: float | None
    node_gap_ns: float


def shipped_profiles() -> tuple[str, ...]:
    """Names of the profiles that need no file."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.toml")))


@lru_cache(maxsize=16)
def load_profile(name: str) -> Profile:
    """A shipped profile by name, or one from the path of a TOML file.

    Raises:
        UsageError: if there is none such, or the file is broken; names the key, and lists the shipped ones.
    """
    path = Path(name) if name.endswith(".toml") else _SHIPPED / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(shipped_profiles())
        raise UsageError(f"no profile {name!r}; known are {known}", "or give the path of a profile's .toml file")
    profile = read_toml(path, Profile)
    kinds = {kind.value for kind in Kind} | {_ANY}
    for constants in profile.constant:
        for unknown in set(constants.kinds) - kinds:
            raise UsageError(f"{path.name}: no kind of kernel {unknown!r}", f"known are {', '.join(sorted(kinds))}")
        for found in (constants.efficiency, constants.compute_efficiency):
            if found is not None and not 0 < found.value <= 1:
                raise UsageError(f"{path.name}: an efficiency of {found.value:g}", "a share of the nominal figure is in (0, 1]")
    for residuals in profile.residual:
        if len(residuals.shapes) != len(residuals.ratios) or not all(_whole(shape) for shape in residuals.shapes):
            raise UsageError(f"{path.name}: residuals of {residuals.kind} lack a ratio or a size", "calibrate again")
        if residuals.kind not in kinds or not all(0 < ratio < float("inf") for ratio in residuals.ratios):
            raise UsageError(f"{path.name}: residuals of {residuals.kind!r} make no sense", "calibrate again")
    return profile


def _whole(shape: tuple[int, ...]) -> bool:
    return bool(shape) and all(size > 0 for size in shape)


def with_efficiency(profile: Profile, efficiency: float) -> Profile:
    """The profile with one share of bandwidth for every kernel, for asking which share a prediction would need.

    Raises:
        UsageError: if it is not in (0, 1].
    """
    if not 0 < efficiency <= 1:
        raise UsageError(f"an efficiency of {efficiency:g}", "a share of the nominal bandwidth is in (0, 1]")
    share = Constant(efficiency, "assumed", "given on the command line")
    constants = Constants((_ANY,), (_ANY,), efficiency=share, compute_efficiency=share)
    return msgspec.structs.replace(profile, name=f"{profile.name}({efficiency:g})", constant=(constants,), residual=())


def find_constants(
    profile: Profile, gpu: GpuSpec, kind: Kind, family: str = "", launched: Launched = ""
) -> dict[str, Constant]:
    """The constants for a kernel on a GPU, by name; each from the most specific entry that states it.

    An entry for how the kernel is launched comes before one for its family comes before one for its kind, that before one
    for the GPU; the later of two alike wins.
    """
    ranked = sorted(
        (
            (
                bool(constants.launched),
                bool(constants.families),
                kind.value in constants.kinds,
                _rank(constants.applies_to, gpu),
                position,
                constants,
            )
            for position, constants in enumerate(profile.constant)
            if _rank(constants.applies_to, gpu)
            and constants.launched in ("", launched)
            and {kind.value, _ANY} & set(constants.kinds)
            and (not constants.families or family.startswith(constants.families))
        ),
        key=lambda entry: entry[:-1],
    )
    found: dict[str, Constant] = {}
    for *_, constants in ranked:
        for name in ("t0_us", "efficiency", "compute_efficiency"):
            value: Constant | None = getattr(constants, name)
            if value is not None:
                found[name] = value
    return found


def timing(profile: Profile, gpu: GpuSpec, kind: Kind, dtype: str, family: str = "", launched: Launched = "") -> Timing:
    """What times a kernel on a GPU.

    Raises:
        UsageError: if the GPU has no peak for the dtype, or the profile has no share of bandwidth for this GPU and kind.
    """
    peak = gpu.peak_flops_per_ns(dtype)
    l2 = profile.l2_bandwidth_gb_s.value if profile.l2_bandwidth_gb_s else None
    between = (profile.stream_gap_us if launched else None) or profile.node_gap_us
    gap = 1000 * between.value if between else 0.0
    if profile.form == "ideal":
        return Timing(0.0, gpu.bandwidth, peak, None, 0.0)
    found = find_constants(profile, gpu, kind, family, launched)
    if "efficiency" not in found:
        raise UsageError(
            f"profile {profile.name} has no constants for {kind.value} kernels on {gpu.name}",
            "use --profile affine, or calibrate",
        )
    compute = found["compute_efficiency"].value if "compute_efficiency" in found else 1.0
    fixed = 1000 * found["t0_us"].value if "t0_us" in found else 0.0
    return Timing(fixed, found["efficiency"].value * gpu.bandwidth, compute * peak, l2, gap)


def _rank(applies_to: tuple[str, ...], gpu: GpuSpec) -> int:
    if gpu.name in applies_to:
        return 3
    return 2 if gpu.compute_capability in applies_to else int(_ANY in applies_to)
