"""The fake worker, and what its scheduler tells it."""

from __future__ import annotations

import ctypes
import importlib
import os
from dataclasses import dataclass, field
from typing import Any

KERNELS_A_STEP = 5
_strdup = ctypes.CDLL(None).strdup
_strdup.restype, _strdup.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
# Records point to kernels' names until the process has ended, as with CUPTI's own; Python's would be gone by then.
_NAMES = [ctypes.c_char_p(_strdup(f"kernel_{index}".encode())) for index in range(KERNELS_A_STEP)]


@dataclass
class CachedRequestData:
    req_ids: list[str]
    num_computed_tokens: list[int]


@dataclass
class SchedulerOutput:
    scheduled_new_reqs: list[Any]
    scheduled_cached_reqs: Any
    num_scheduled_tokens: dict[str, int]
    finished_req_ids: set[str] = field(default_factory=set)


def scheduled(new: list[Any], cached: list[Any], tokens: int) -> SchedulerOutput:
    data = CachedRequestData([r.req_id for r in cached], [r.num_computed_tokens for r in cached])
    return SchedulerOutput(list(new), data, {r.req_id: tokens for r in [*new, *cached]})


class Worker:
    """Launches the same kernels for every step."""

    def __init__(self) -> None:
        self.finished: set[str] = set()
        self._mock = ctypes.CDLL(os.environ["MOCK_CUPTI"]) if "MOCK_CUPTI" in os.environ else None
        self.steps = 0

    def execute_model(self, scheduler_output: SchedulerOutput) -> str:
        scheduler_output.finished_req_ids |= self.finished
        self.steps += 1
        if self._mock is not None:
            for name in _NAMES:
                self._mock.mock_launch(name, 0, 7)
        return "done"


def made(extension: str) -> Any:
    """A worker, with the extension class mixed in as vLLM does it."""
    if not extension:
        return Worker()
    module, _, name = extension.rpartition(".")
    mixin = getattr(importlib.import_module(module), name)
    for attribute in dir(mixin):
        assert attribute.startswith("__") or not hasattr(Worker, attribute)
    return type("Worker", (Worker, mixin), {})()
