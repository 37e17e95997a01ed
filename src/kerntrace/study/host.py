"""A host's facts, and the key that other records name it by. Room: study."""

from __future__ import annotations

import hashlib
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kerntrace import __version__
from kerntrace.capture.machine import Machine, cpu_name
from kerntrace.study.gpu_state import GpuState
from kerntrace.study.records import Host

_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_KEYED = ("driver", "torch", "vllm", "python")


def this_host(machine: Machine, state: GpuState) -> Host:
    """This machine. Two of the same GPU, CPU, driver and versions have one key: their records can stand together."""
    versions = {"driver": machine.driver, "driver_cuda": machine.cuda, "python": platform.python_version()}
    versions |= {name: _installed(name) for name in ("torch", "vllm")}
    known = {name: value for name, value in versions.items() if value} | {"kerntrace": __version__}
    gpu, cpu = machine.gpus[0].name, cpu_name()
    return Host(host_key(gpu, cpu, known), gpu, cpu, known, {**_governor(), **state.settings()})


def host_key(gpu: str, cpu: str | None, versions: dict[str, str]) -> str:
    """A short name for the GPU and a hash of what makes two hosts alike."""
    told = "\n".join([gpu, cpu or "", *(f"{name}={versions.get(name, '')}" for name in _KEYED)])
    short = re.sub(r"[^a-z0-9]+", "-", gpu.casefold().removeprefix("nvidia")).strip("-") or "gpu"
    return f"{short}-{hashlib.sha256(told.encode()).hexdigest()[:8]}"


def _governor() -> dict[str, str]:
    try:
        return {"governor": _GOVERNOR.read_text(encoding="utf-8").strip()}
    except OSError:
        return {}


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
