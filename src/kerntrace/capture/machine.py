"""What machine this is: GPUs and driver by NVML, the CPU by /proc. No torch and no CUDA context. Room: capture."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerntrace.errors import KerntraceError

_NVML = "libnvidia-ml.so.1"
_TEXT = 96


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU as NVML sees it; memory in bytes."""

    name: str
    memory_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Machine:
    """GPUs and driver. `cuda` is the newest CUDA that the driver serves."""

    gpus: tuple[Gpu, ...]
    driver: str | None
    cuda: str | None


class NoGpuError(KerntraceError):
    """There is no GPU to run on."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"no NVIDIA GPU here ({reason}), so nothing can be profiled",
            "What was recorded on one can be read here: kerntrace compare traces/h200-native-eager.ktrace"
            " traces/h200-native-graph.ktrace (in the repository), or your own.",
        )


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


def look() -> Machine:
    """The machine's GPUs.

    Raises:
        NoGpuError: if there is no driver or no GPU; the message says which.
    """
    try:
        nvml: Any = ctypes.CDLL(_NVML)
    except OSError:
        raise NoGpuError("no driver: libnvidia-ml.so.1 is not installed") from None
    if nvml.nvmlInit_v2():
        raise NoGpuError("the driver does not answer")
    try:
        gpus = tuple(_gpus(nvml))
        if not gpus:
            raise NoGpuError("the driver sees none")
        return Machine(gpus, _driver(nvml), _cuda(nvml))
    finally:
        nvml.nvmlShutdown()


def _gpus(nvml: Any) -> list[Gpu]:
    count = ctypes.c_uint(0)
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    found = []
    for index in range(count.value):
        handle, name, memory = ctypes.c_void_p(), ctypes.create_string_buffer(_TEXT), _Memory()
        if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)):
            continue
        nvml.nvmlDeviceGetName(handle, name, _TEXT)
        nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
        found.append(Gpu(name.value.decode("utf-8", "replace"), memory.total, memory.free))
    return found


def _driver(nvml: Any) -> str | None:
    text = ctypes.create_string_buffer(_TEXT)
    return None if nvml.nvmlSystemGetDriverVersion(text, _TEXT) else text.value.decode("utf-8", "replace")


def _cuda(nvml: Any) -> str | None:
    version = ctypes.c_int(0)
    if nvml.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(version)):
        return None
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def cpu_name() -> str | None:
    """The CPU's model as the kernel prints it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip() or None
    except OSError:
        pass
    return None
