"""A study on the GPU at hand: an engine's process a session, walls by that process's own clock. Room: study."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kerntrace.capture.machine import Machine, look
from kerntrace.capture.profile import Plan as Profile
from kerntrace.capture.profile import job_of
from kerntrace.capture.remote import Remote
from kerntrace.engines.presets import model_directory
from kerntrace.engines.protocol import EngineSpec
from kerntrace.errors import KerntraceError, UsageError
from kerntrace.study.capacity import Capacity
from kerntrace.study.gpu_state import GpuState
from kerntrace.study.host import this_host
from kerntrace.study.plan import Asked
from kerntrace.study.records import Host, LeftOut, TracedCell, Wall
from kerntrace.study.schedule import SessionWork, Shape, TracedWork, Work
from kerntrace.study.traced import Stage, trace_cells

_VERSIONS = ("vllm", "torch", "cuda", "python")
_FREE_SECONDS, _FREE_POLL = 60.0, 1.0  # the memory of an engine that was killed comes back a little after it


@dataclass(frozen=True, slots=True)
class Setting:
    """What the command knows and a study file does not say.

    Attributes:
        weights: dummy or auto.
        capacity: what fits.
        keep_traces: directory for the traced cells' bundles; None for not keeping them.
        say: told a line.
    """

    weights: str
    capacity: Capacity
    keep_traces: Path | None
    say: Callable[[str], None]


class LiveSite:
    """This machine's GPU."""

    def __init__(self, asked: Asked, machine: Machine, setting: Setting) -> None:
        """Raises:
        UsageError: if no cell of the grid fits.
        """
        self._asked, self._machine, self._setting = asked, machine, setting
        self._state = GpuState()
        self._host = this_host(machine, self._state)
        plan = asked.plan
        shapes = [(batch, context) for context in plan.contexts for batch in plan.batches]
        reasons = {shape: setting.capacity.why_not(shape, machine.gpus[0]) for shape in shapes}
        self._out = [LeftOut(self._host.key, None, *shape, why) for shape, why in reasons.items() if why]
        self._shapes = [shape for shape in shapes if not reasons[shape]]
        if not self._shapes:
            raise UsageError(f"no cell of the study fits: {self._out[0].reason}", "Take a smaller model or grid.")

    def host(self) -> Host:
        return self._host

    def left_out(self) -> list[LeftOut]:
        return list(self._out)

    def offered(self, work: Work) -> Work | None:
        return work

    def now(self) -> float:
        return time.monotonic()

    @contextmanager
    def session(self, work: SessionWork) -> Iterator[LiveSession]:
        with tempfile.TemporaryDirectory(prefix="kerntrace-", ignore_cleanup_errors=True) as place:
            scratch = Path(place)
            spec = self.spec(work.mode, scratch)
            self._wait_for_memory(spec)
            with Remote(job_of(_profile(spec), None, scratch), scratch, "untraced") as remote:
                remote.wait()
                yield LiveSession(self, work, remote, self._state, self._asked.plan.tokens)
                remote.stop()

    def trace(self, work: TracedWork) -> list[TracedCell]:
        with tempfile.TemporaryDirectory(prefix="kerntrace-", ignore_cleanup_errors=True) as place:
            scratch = Path(place)
            plan = self._asked.plan
            spec = replace(self.spec(work.mode, scratch), nvtx_scopes=plan.traced_scopes)
            self._wait_for_memory(spec)
            beside = plan.traced_untraced and 2 * self._setting.capacity.total(self._shapes) < look().gpus[0].free_bytes
            if plan.traced_untraced and not beside:
                self._setting.say("no room for an untraced engine beside the traced one: the study's own walls serve")
            stage = Stage(plan, spec, self._host.key, scratch, self._machine, self._setting.keep_traces, beside)
            return trace_cells(stage, work)

    def spec(self, mode: str, scratch: Path) -> EngineSpec:
        """The engine of every session of a mode: long and wide enough for all cells of the grid that fit."""
        plan, capacity = self._asked.plan, self._setting.capacity
        batches = tuple(sorted({batch for batch, _ in self._shapes}))
        share = min(0.9, capacity.total(self._shapes) / self._machine.gpus[0].memory_bytes)
        return EngineSpec(
            plan.engine,
            model_directory(self._asked.model, scratch / "model"),
            mode,
            batches,
            max(context for _, context in self._shapes),
            plan.tokens,
            self._setting.weights,
            multiprocess=plan.multiprocess and plan.engine == "vllm",
            kv_cache_bytes=capacity.kv_cache(self._shapes) if capacity.known else None,
            memory_share=share if capacity.known else None,
            seed=plan.seed % 2**31,
            prefix_caching=plan.prefix_caching,
            chunked_prefill=plan.chunked_prefill,
            async_scheduling=plan.async_scheduling,
            sequences=batches[-1],
            capture_sizes=plan.capture_sizes,
        )

    def with_engine(self, mode: str, facts: dict[str, str]) -> Host:
        """The host with an engine's versions and, under the mode's name, what the engine runs with."""
        versions = {name: facts[name] for name in _VERSIONS if name in facts}
        settings = {f"{mode}: {name}": value for name, value in facts.items() if name not in _VERSIONS}
        return replace(self._host, versions=self._host.versions | versions, settings=self._host.settings | settings)

    def _wait_for_memory(self, spec: EngineSpec) -> None:
        """Wait until the GPU has room for an engine, as after one that was killed.

        Raises:
            KerntraceError: if it stays full.
        """
        needed = self._setting.capacity.total(self._shapes) if self._setting.capacity.known else 0
        until = time.monotonic() + _FREE_SECONDS
        while (free := look().gpus[0].free_bytes) < needed:
            if time.monotonic() > until:
                raise KerntraceError(
                    f"mode {spec.mode} needs {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free on the GPU",
                    "End what else uses it (nvidia-smi lists it), then run the study again: it resumes.",
                )
            time.sleep(_FREE_POLL)


@dataclass(frozen=True, slots=True)
class LiveSession:
    """An engine that is up."""

    site: LiveSite
    work: SessionWork
    remote: Remote
    state: GpuState
    tokens: int

    def host(self) -> Host:
        return self.site.with_engine(self.work.mode, self.remote.facts)

    def warm(self, shape: Shape) -> None:
        self.remote.generate(*shape, self.tokens)

    def wall(self, shape: Shape, tokens: int, repetition: int) -> Wall:
        started = time.time_ns()
        wall = self.remote.generate(*shape, tokens)
        seen = self.state.read()
        return Wall(
            self.site.host().key,
            self.work.mode,
            *shape,
            tokens,
            self.work.session,
            repetition,
            wall,
            started,
            seen.sm_mhz,
            seen.memory_mhz,
            seen.temperature_c,
            seen.throttled,
        )


def _profile(spec: EngineSpec) -> Profile:
    return Profile(spec, "native", {})
