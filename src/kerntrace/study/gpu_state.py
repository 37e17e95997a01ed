"""The GPU's clocks, temperature and throttle reasons by NVML, fast enough to be read after every call. Room: study."""

from __future__ import annotations

import ctypes
import hashlib
import os
from dataclasses import dataclass
from typing import Any

_NVML = "libnvidia-ml.so.1"
_SM, _MEMORY = 1, 2  # nvmlClockType_t
_TEXT = 96
_REASONS = {
    0x2: "applications clocks", 0x4: "software power cap", 0x8: "hardware slowdown", 0x10: "sync boost",
    0x20: "software thermal slowdown", 0x40: "hardware thermal slowdown", 0x80: "hardware power brake", 0x100: "display clocks",
}  # fmt: skip  # 0x1, an idle GPU, holds nothing down


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the GPU; None for what cannot be read."""

    sm_mhz: int | None = None
    memory_mhz: int | None = None
    temperature_c: int | None = None
    throttled: str = ""


class GpuState:
    """Reads the GPU that CUDA calls device 0 here. Where there is no NVML it reads nothing, and says so by None."""

    def __init__(self) -> None:
        self._handle = ctypes.c_void_p()
        self._nvml: Any = None
        try:
            nvml: Any = ctypes.CDLL(_NVML)
        except OSError:
            return
        if nvml.nvmlInit_v2() == 0 and _find(nvml, self._handle):
            self._nvml = nvml

    def read(self) -> Reading:
        """Clocks, temperature and why clocks are held down, now."""
        if self._nvml is None:
            return Reading()
        return Reading(
            self._number("nvmlDeviceGetClockInfo", _SM),
            self._number("nvmlDeviceGetClockInfo", _MEMORY),
            self._number("nvmlDeviceGetTemperature", 0),
            self._throttled(),
        )

    def settings(self) -> dict[str, str]:
        """What does not change while a study runs: largest clocks, power limit, persistence, and a name for the device.

        The name is a hash: it tells two GPUs apart and says nothing else of them.
        """
        if self._nvml is None:
            return {}
        limit = self._number("nvmlDeviceGetEnforcedPowerLimit")
        said = {
            "max_sm_mhz": self._number("nvmlDeviceGetMaxClockInfo", _SM),
            "max_memory_mhz": self._number("nvmlDeviceGetMaxClockInfo", _MEMORY),
            "power_limit_w": None if limit is None else limit // 1000,
            "persistence": self._number("nvmlDeviceGetPersistenceMode"),
        }
        uuid = ctypes.create_string_buffer(_TEXT)
        found = {name: str(value) for name, value in said.items() if value is not None}
        if self._nvml.nvmlDeviceGetUUID(self._handle, uuid, _TEXT) == 0:
            found["device"] = hashlib.sha256(uuid.value).hexdigest()[:8]
        return found

    def _number(self, function: str, *arguments: int) -> int | None:
        value = ctypes.c_uint(0)
        try:
            status = getattr(self._nvml, function)(self._handle, *arguments, ctypes.byref(value))
        except AttributeError:  # a driver older or newer than the function
            return None
        return None if status else int(value.value)

    def _throttled(self) -> str:
        reasons = ctypes.c_ulonglong(0)
        for function in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"):
            try:
                status = getattr(self._nvml, function)(self._handle, ctypes.byref(reasons))
            except AttributeError:
                continue
            if status == 0:
                return ", ".join(name for bit, name in _REASONS.items() if reasons.value & bit)
        return ""


def _find(nvml: Any, handle: ctypes.c_void_p) -> bool:
    """The first GPU that CUDA may see."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    if first.isdecimal():
        return int(nvml.nvmlDeviceGetHandleByIndex_v2(int(first), ctypes.byref(handle))) == 0
    return int(nvml.nvmlDeviceGetHandleByUUID(first.encode(), ctypes.byref(handle))) == 0
