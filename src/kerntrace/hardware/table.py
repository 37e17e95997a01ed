"""The GPU table in `specs/`, looked up by short name or by the name that CUDA reports. Room: stats | hardware | workload."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from kerntrace.errors import UsageError
from kerntrace.hardware.spec import DENSE_FLOPS_PER_CLOCK_PER_SM, Figure, GpuSpec, Quantity, refuse_sparse
from kerntrace.hardware.toml_file import read_toml

_SPECS = Path(__file__).parent.parent / "specs"


class _Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the table."""

    gpu: tuple[GpuSpec, ...]


@lru_cache(maxsize=1)
def known_gpus() -> tuple[GpuSpec, ...]:
    """Every GPU of the table, in the order of its files.

    Raises:
        UsageError: if a file of the table is broken or states a sparse peak.
    """
    return tuple(gpu for path in _files() for gpu in _family(path))


def _files() -> list[Path]:
    return sorted(_SPECS.glob("*.toml"))


@lru_cache(maxsize=32)
def _family(path: Path) -> tuple[GpuSpec, ...]:
    return tuple(refuse_sparse(gpu) for gpu in read_toml(path, _Family).gpu)


def read_gpus(path: Path) -> tuple[GpuSpec, ...]:
    """The GPUs of a file of the user's own, in the table's format; marked out of table.

    Raises:
        UsageError: if the file is broken or states a sparse peak.
    """
    return tuple(msgspec.structs.replace(refuse_sparse(gpu), in_table=False) for gpu in read_toml(path, _Family).gpu)


def find_gpu(name: str) -> GpuSpec:
    """The GPU of that short name, alias or CUDA device name; case, dashes and a leading `NVIDIA` do not matter.

    Raises:
        UsageError: if the table has none; lists the closest names and how to describe another GPU.
    """
    wanted = _plain(name)
    # Parsing a file takes longer than looking for the name in its text: only those that hold it are parsed.
    holding = [path for path in _files() if wanted and wanted in _plain(path.read_text(encoding="utf-8"))]
    for gpu in (gpu for path in holding for gpu in _family(path)):
        if wanted in {_plain(known) for known in (gpu.name, *gpu.aliases, *gpu.device_names)}:
            return gpu
    names = [gpu.name for gpu in known_gpus()]
    near = [known for known in names if wanted and wanted in _plain(known)]
    near = near or difflib.get_close_matches(name, names, n=3, cutoff=0.5) or names
    raise UsageError(
        f"no GPU {name!r} in the table; {'did you mean' if near != names else 'known are'} {', '.join(near)}",
        "describe another GPU with --bandwidth, --sms, --clock and --compute-capability, or with --gpu-file",
    )


def device_reported(
    name: str,
    *,
    bandwidth_gb_s: float,
    sms: int,
    compute_capability: str,
    clock_mhz: float | None = None,
    bf16_tflops: float | None = None,
    l2_mib: float | None = None,
    memory_gb: float | None = None,
    date: str = "",
) -> GpuSpec:
    """A GPU that the table lacks, from what its driver reports; marked out of table.

    Without `bf16_tflops` the peak is multiprocessors x clock x the architecture's dense operations per clock.

    Raises:
        UsageError: if a value is not positive, if neither peak nor clock is given, or if the peak is a sparse one.
    """
    given = {"bandwidth": bandwidth_gb_s, "sms": sms, "clock": clock_mhz, "bf16-tflops": bf16_tflops, "l2": l2_mib}
    for what, value in given.items():
        if value is not None and value <= 0:
            raise UsageError(f"{name}: --{what} {value:g} is not above zero", "give what nvidia-smi or the device reports")
    peak = bf16_tflops or _derived_peak(name, sms, clock_mhz, compute_capability)
    reported = {
        "bandwidth_gb_s": bandwidth_gb_s,
        "sms": sms,
        "bf16_tflops": peak,
        "tensor_clock_mhz": clock_mhz,
        "l2_mib": l2_mib,
        "memory_gb": memory_gb,
    }
    quantities: dict[str, Any] = {
        key: Quantity(device=Figure(float(value), "given on the command line", date))
        for key, value in reported.items()
        if value
    }
    gpu = GpuSpec(name, (name,), compute_capability, in_table=False, note="out of table: given values only", **quantities)
    return refuse_sparse(gpu)


def _derived_peak(name: str, sms: int, clock_mhz: float | None, compute_capability: str) -> float:
    per_clock = DENSE_FLOPS_PER_CLOCK_PER_SM.get(compute_capability)
    if clock_mhz is None or per_clock is None:
        known = ", ".join(DENSE_FLOPS_PER_CLOCK_PER_SM)
        raise UsageError(
            f"{name}: its dense peak cannot be derived from compute capability {compute_capability} and clock {clock_mhz}",
            f"give --bf16-tflops, or --clock with a compute capability of {known}",
        )
    return sms * clock_mhz * per_clock / 1e6


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]|^nvidia|geforce", "", name.casefold().strip())
