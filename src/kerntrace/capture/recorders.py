"""What records inside the process that launches kernels: one object a collector, made by name. Room: capture."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Protocol

from kerntrace.errors import UsageError


class Recorder(Protocol):
    """Records the process it lives in. The device is idle and synchronised whenever start, open, close or stop is called."""

    def start(self) -> None:
        """Take hold of the process; nothing is kept yet.

        Raises:
            KerntraceError: if something else has hold of it, or what it needs is missing.
        """

    def ready(self) -> None:
        """The program is warm: from here on, be as much in its way as while it is measured."""

    def open(self) -> None:
        """Keep what happens from here on."""

    def close(self) -> None:
        """Keep no more until the next open."""

    def stop(self) -> None:
        """Write what was kept."""

    def push(self, name: str, payload: int) -> None:
        """Begin a range on this thread."""

    def pop(self) -> None:
        """End the innermost one."""


class NativeRecorder:
    """libkerntrace.so, started by call."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        from kerntrace.capture.native import native

        self._native = native()
        named = os.environ.get("KERNTRACE_CUPTI")
        self._settings = {"range": "manual", **({"cupti": named} if named else {}), **settings}

    def start(self) -> None:
        self._native.start(self._settings)
        # The first window switches CUPTI's kinds on, and they stay on: the program warms up as it will be measured.
        self._native.open_window()
        self._native.close_window()

    def ready(self) -> None:
        pass

    def open(self) -> None:
        self._native.open_window()

    def close(self) -> None:
        self._native.close_window()

    def stop(self) -> None:
        self._native.stop()

    def push(self, name: str, payload: int) -> None:
        self._native.push(name, payload)

    def pop(self) -> None:
        self._native.pop()


class ProfilerApiRecorder:
    """Marks the stretch to be kept for a profiler outside: cudaProfilerStart to cudaProfilerStop, and NVTX ranges.

    The profiler outside takes one stretch a run, so it lasts from ready to stop.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        import torch

        self._runtime = torch.cuda.cudart()
        self._nvtx = torch.cuda.nvtx

    def start(self) -> None:
        pass

    def ready(self) -> None:
        self._runtime.cudaProfilerStart()

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def stop(self) -> None:
        self._runtime.cudaProfilerStop()

    def push(self, name: str, payload: int) -> None:
        self._nvtx.range_push(name)

    def pop(self) -> None:
        self._nvtx.range_pop()


def make_recorder(collector: str, settings: Mapping[str, str]) -> Recorder:
    """A collector's recorder.

    Args:
        settings: `directory`, and what else the collector takes.

    Raises:
        UsageError: if there is no such collector.
        KerntraceError: if what it needs is not installed.
    """
    if collector == "native":
        return NativeRecorder(settings)
    if collector == "nsys":
        return ProfilerApiRecorder(settings)
    if collector == "cupti-python":
        from kerntrace.capture.cupti_python import CuptiPythonRecorder

        return CuptiPythonRecorder(settings)
    if collector.startswith("kineto"):
        from kerntrace.capture.torch_profiler import TorchProfilerRecorder

        return TorchProfilerRecorder(settings, with_cpu=collector == "kineto-cpu")
    raise UsageError(f"no collector {collector!r}", "Collectors: native, cupti-python, nsys, kineto, kineto-cpu.")
