"""torch.profiler as a collector, to be compared with: its trace is Kineto's JSON. Room: capture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


class TorchProfilerRecorder:
    """Records this process with torch.profiler, from ready to stop: it cannot be paused cheaply.

    Args:
        with_cpu: record torch's operators too, which also gives the steps their ranges.
    """

    def __init__(self, settings: Mapping[str, str], *, with_cpu: bool) -> None:
        import torch

        self._directory = Path(settings["directory"])
        activity = torch.profiler.ProfilerActivity
        activities = [activity.CUDA, *([activity.CPU] if with_cpu else [])]
        self._profiler: Any = torch.profiler.profile(activities=activities)
        self._range: Any = torch.profiler.record_function
        self._open: list[Any] = []

    def start(self) -> None:
        pass

    def ready(self) -> None:
        self._profiler.start()

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def stop(self) -> None:
        self._profiler.stop()
        self._profiler.export_chrome_trace(str(self._directory / "kineto.json"))

    def push(self, name: str, payload: int) -> None:
        entered = self._range(name)
        entered.__enter__()
        self._open.append(entered)

    def pop(self) -> None:
        self._open.pop().__exit__(None, None, None)
