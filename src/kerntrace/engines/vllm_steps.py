"""What vLLM's scheduler asked of a worker, as a step's name; and the worker's one method that is watched. Room: engines.

`Worker.execute_model(scheduler_output)` is the same for both of vLLM's model runners. A request is prefilling until all of its
prompt is computed; that is counted here from the scheduler's output, because how vLLM itself tells it has changed by version.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from kerntrace.engines.protocol import StepRanges, step_name
from kerntrace.errors import KerntraceError

OLDEST = "0.20"
_OLDEST = (0, 20)
_READ = ("scheduled_new_reqs", "scheduled_cached_reqs", "num_scheduled_tokens", "finished_req_ids")
_READ_CACHED = ("req_ids", "num_computed_tokens")


class EngineChangedError(KerntraceError):
    """The installed vLLM lacks something that kerntrace reads."""

    def __init__(self, version: str, lacks: str) -> None:
        super().__init__(
            f"vLLM {version} has no {lacks}, by which kerntrace tells its steps",
            f"kerntrace knows vLLM {OLDEST} to 0.33; install one of these, or give --step-range for vLLM's own ranges.",
        )


def version_of(vllm: Any) -> str:
    """The version of a vllm module.

    Raises:
        KerntraceError: if it is older than those that kerntrace knows.
    """
    version = str(getattr(vllm, "__version__", "unknown"))
    found = re.match(r"(\d+)\.(\d+)", version)
    # A build from source may say `dev`: it is taken for a new one, and what it lacks is found when it is used.
    if found and (int(found[1]), int(found[2])) < _OLDEST and (int(found[1]), int(found[2])) != (0, 1):
        raise KerntraceError(f"vLLM {version} is older than {OLDEST}, the oldest that kerntrace knows", "Upgrade vLLM.")
    return version


class StepNamer:
    """Names a worker's steps by what the scheduler gave it."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._prompts: dict[str, int] = {}  # prompt tokens of the requests that are under way
        self._checked = False

    def name(self, scheduled: Any) -> str:
        """The name of the step that this output asks for.

        Raises:
            EngineChangedError: if the output lacks what is read; only the first one is looked at.
        """
        if not self._checked:
            self._check(scheduled)
        for request in scheduled.scheduled_new_reqs:
            self._prompts[request.req_id] = len(request.prompt_token_ids or ())
        counts = scheduled.num_scheduled_tokens
        computed = {request.req_id: request.num_computed_tokens for request in scheduled.scheduled_new_reqs}
        cached = scheduled.scheduled_cached_reqs
        computed.update(zip(cached.req_ids, cached.num_computed_tokens))
        prefilling = [request for request, done in computed.items() if done < self._prompts.get(request, 0)]
        tokens = sum(counts.get(request, 0) for request in prefilling)
        contexts = {self._prompts.get(request, 0) for request in computed.keys() - prefilling}
        context = contexts.pop() if len(contexts) == 1 else None
        for request in scheduled.finished_req_ids:
            self._prompts.pop(request, None)
        return step_name(len(computed) - len(prefilling), len(prefilling), tokens, context)

    def _check(self, scheduled: Any) -> None:
        for name in _READ:
            if not hasattr(scheduled, name):
                raise EngineChangedError(self._version, f"SchedulerOutput.{name}")
        for name in _READ_CACHED:
            if not hasattr(scheduled.scheduled_cached_reqs, name):
                raise EngineChangedError(self._version, f"CachedRequestData.{name}")
        self._checked = True


def stepped(execute_model: Callable[..., Any], namer: StepNamer, ranges: StepRanges) -> Callable[..., Any]:
    """A worker's execute_model, with a range around each step. The payload is the step's number, from 0."""
    index = 0

    def execute(scheduled: Any, *arguments: Any, **named: Any) -> Any:
        nonlocal index
        ranges.push(namer.name(scheduled), index)
        index += 1
        try:
            return execute_model(scheduled, *arguments, **named)
        finally:
            ranges.pop()

    return execute


def watch_worker(worker: Any, version: str, ranges: StepRanges) -> None:
    """Mark the steps of one worker object.

    Raises:
        EngineChangedError: if it has no execute_model.
    """
    method = getattr(worker, "execute_model", None)
    if not callable(method):
        raise EngineChangedError(version, "Worker.execute_model")
    worker.execute_model = stepped(method, StepNamer(version), ranges)


def watch_class(worker: Any, version: str, ranges: StepRanges) -> None:
    """Mark the steps of every worker of a class, for a process whose engine somebody else starts. Once a class.

    Raises:
        EngineChangedError: if it has no execute_model.
    """
    method = getattr(worker, "execute_model", None)
    if not callable(method):
        raise EngineChangedError(version, "Worker.execute_model")
    if getattr(method, "kerntrace_watched", False):
        return
    watched: dict[int, Callable[..., Any]] = {}  # by worker: a process has few, and keeps them

    @functools.wraps(method)
    def execute(self: Any, *arguments: Any, **named: Any) -> Any:
        if id(self) not in watched:
            watched[id(self)] = stepped(functools.partial(method, self), StepNamer(version), ranges)
        return watched[id(self)](*arguments, **named)

    execute.kerntrace_watched = True  # type: ignore[attr-defined]
    worker.execute_model = execute
