"""Ranges around the parts of vLLM's iteration that it marks none of itself. Room: engines.

vLLM's newer model runner (`vllm.v1.worker.gpu`) has no scopes, and of the scheduler only some inner calls are marked. These are
the methods in which the launching thread spends an iteration. A release that lacks one of them has one range less: nothing else
depends on it.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from kerntrace.engines.protocol import StepRanges

SCOPES = "VLLM_NVTX_SCOPES_FOR_PROFILING"
PREFIX = "engine: "
_RUNNER = {
    "finish_requests": "update states",
    "add_requests": "update states",
    "update_requests": "update states",
    "_update_states": "update states",
    "prepare_inputs": "prepare inputs",
    "_prepare_inputs": "prepare inputs",
    "prepare_attn": "prepare inputs",
    "sample": "sample",
    "_sample": "sample",
    "sample_tokens": "sample",
    "postprocess_sampled": "postprocess",
}
# The engine's core runs already when a worker is watched, so its classes are changed; a method that it keeps a reference to
# (EngineCore.step) cannot be.
_CLASSES = {
    ("vllm.v1.core.sched.scheduler", "Scheduler"): {"schedule": "schedule", "update_from_output": "update from output"},
    ("vllm.v1.engine.core", "EngineCoreProc"): {"_process_engine_step": "core step", "_process_input_queue": "input queue"},
}


def wanted() -> bool:
    """Whether this process was started with the engine's scopes on."""
    return os.environ.get(SCOPES) == "1"


def watch_phases(worker: Any, ranges: StepRanges) -> tuple[str, ...]:
    """Mark the parts of an iteration of a worker and of the engine's core in this process.

    Returns:
        The methods that are marked now, `Class.method`.
    """
    marked = []
    runner = getattr(worker, "model_runner", None)
    for method, phase in _RUNNER.items():
        found = getattr(runner, method, None)
        if callable(found):
            setattr(runner, method, _marked(found, phase, ranges))
            marked.append(f"{type(runner).__name__}.{method}")
    for (module, name), methods in _CLASSES.items():
        owner = getattr(sys.modules.get(module), name, None)
        for method, phase in methods.items():
            found = getattr(owner, method, None)
            if callable(found) and not getattr(found, "kerntrace_marked", False):
                setattr(owner, method, _marked(found, phase, ranges))
                marked.append(f"{name}.{method}")
    return tuple(marked)


def _marked(method: Callable[..., Any], phase: str, ranges: StepRanges) -> Callable[..., Any]:
    name = PREFIX + phase

    @functools.wraps(method)
    def run(*arguments: Any, **named: Any) -> Any:
        ranges.push(name, 0)
        try:
            return method(*arguments, **named)
        finally:
            ranges.pop()

    run.kerntrace_marked = True  # type: ignore[attr-defined]
    return run
