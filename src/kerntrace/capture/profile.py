"""One profile: engines started with and without a recorder, generating in turn, and what the recorder left. Room: capture.

Where the GPU has room for two, the untraced engine stays up beside the traced one and repetitions alternate between them, so
that a host that others use disturbs both alike. Else the untraced one runs before the traced one, and again after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from kerntrace.capture.hooks import HOOKS
from kerntrace.capture.remote import Job, Remote
from kerntrace.capture.wallclock import CellTimes, Pair
from kerntrace.engines.protocol import EngineSpec
from kerntrace.errors import KerntraceError

Say = Callable[[str], None]
_COMPILED = ("graph", "compile")  # two starts at once would compile the same code twice: the second finds it cached


class Untraced(Enum):
    """How the untraced engine is timed: not at all, beside the traced one, or before and after it."""

    NONE = "none"
    BESIDE = "beside"
    AROUND = "around"


@dataclass(frozen=True, slots=True)
class Plan:
    """A profile to make.

    Attributes:
        engine: what runs; its `hooks` are set here.
        collector: native, cupti-python, nsys, kineto or kineto-cpu.
        settings: of the recorder, beside its directory.
        repetitions: timed pairs of calls a cell.
        recorded: how many of them are kept in the trace.
        warmup: calls a cell before anything is timed.
        nsys: the nsys to run under, for that collector.
    """

    engine: EngineSpec
    collector: str
    settings: Mapping[str, str]
    repetitions: int = 5
    recorded: int = 2
    warmup: int = 2
    untraced: Untraced = Untraced.BESIDE
    nsys: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """What a profile left.

    Attributes:
        collected: file or directory with the collector's records.
        cells: every cell's times.
        facts: versions, as the engine's process says.
    """

    collected: Path
    cells: tuple[CellTimes, ...]
    facts: Mapping[str, str]


def run_profile(plan: Plan, scratch: Path, say: Say, base: Remote | None = None) -> Profile:
    """Run a plan.

    Args:
        scratch: an empty directory that outlives the reading of what was collected.
        say: told in a line what is being done.
        base: an untraced engine of the same specification that is up already, to alternate with; it stays up.

    Raises:
        KerntraceError: if an engine does not start, or ends early.
    """
    untraced: dict[int, list[Pair]] = {batch: [] for batch in plan.engine.batches}
    around = plan.untraced is Untraced.AROUND and base is None
    if around:
        _time_alone(plan, scratch, "untraced-before", untraced, say)
    with ExitStack() as stack:
        own = None
        if base is None and plan.untraced is Untraced.BESIDE:
            own = base = _started(plan, None, scratch, "untraced", stack, say)
            if plan.engine.mode in _COMPILED:
                _warm(own, plan)
        watched = _started(plan, plan.collector, scratch, "traced", stack, say)
        if own is not None and plan.engine.mode not in _COMPILED:
            _warm(own, plan)
        _warm(watched, plan)
        traced = _alternate(plan, watched, base, untraced, say)
        say("writing what was recorded")
        watched.stop()
        facts = dict(watched.facts)
        if own is not None:
            own.stop()
    if around:
        _time_alone(plan, scratch, "untraced-after", untraced, say)
    spec = plan.engine
    cells = [CellTimes(b, spec.context, spec.tokens, tuple(traced[b]), tuple(untraced[b])) for b in spec.batches]
    return Profile(collected_path(plan.collector, scratch), tuple(cells), facts)


@contextmanager
def untraced_engine(plan: Plan, scratch: Path, say: Say) -> Iterator[Remote]:
    """The plan's engine with nothing in its way, warm; it ends with the context."""
    with ExitStack() as stack:
        remote = _started(plan, None, scratch, "untraced", stack, say)
        _warm(remote, plan)
        yield remote
        remote.stop()


def _alternate(
    plan: Plan, watched: Remote, base: Remote | None, untraced: dict[int, list[Pair]], say: Say
) -> dict[int, list[Pair]]:
    """Time every cell; of two engines each goes first in every other repetition."""
    traced: dict[int, list[Pair]] = {batch: [] for batch in plan.engine.batches}
    for batch in plan.engine.batches:
        say(f"batch {batch}: {plan.repetitions} repetitions")
        for repetition in range(plan.repetitions):
            turns = [(watched, traced, repetition < plan.recorded)]
            if base is not None:
                turns.insert(repetition % 2, (base, untraced, False))
            for remote, times, record in turns:
                times[batch].append(_pair(remote, plan, batch, record))
    return traced


def collected_path(collector: str, scratch: Path) -> Path:
    """Where a collector leaves its records."""
    if collector == "nsys":
        return scratch / "report.nsys-rep"
    if collector.startswith("kineto"):
        return scratch / "records" / "kineto.json"
    return scratch / "records"


def job_of(plan: Plan, collector: str | None, scratch: Path) -> Job:
    """The process that a plan starts, with or without its recorder."""
    from kerntrace.engines import vllm_engine

    spec = replace(plan.engine, hooks=HOOKS if collector else None)
    environment = {"PYTHONSAFEPATH": "1"}  # a directory called vllm or torch where we stand is not the engine
    if spec.engine == "vllm":
        environment |= vllm_engine.environment(spec)
    if collector is None:
        return Job(spec, None, (), environment)
    records = scratch / "records"
    records.mkdir(exist_ok=True)
    before: tuple[str, ...] = ()
    if collector == "native" and spec.nvtx_scopes:
        from kerntrace.capture.native import library_path

        environment["NVTX_INJECTION64_PATH"] = str(library_path())
    if collector == "nsys":
        from kerntrace.capture.nsys import profile_command

        if plan.nsys is None:
            raise KerntraceError("no nsys is found", "Install nsight-systems, or name it in KERNTRACE_NSYS.")
        before = profile_command(plan.nsys, collected_path(collector, scratch))
    settings = {**plan.settings, "directory": str(records)}
    return Job(spec, {"collector": collector, "settings": settings}, before, environment)


def _started(plan: Plan, collector: str | None, scratch: Path, name: str, stack: ExitStack, say: Say) -> Remote:
    say(f"starting the {name} {plan.engine.engine} engine, mode {plan.engine.mode}")
    return stack.enter_context(Remote(job_of(plan, collector, scratch), scratch, name))


def _warm(remote: Remote, plan: Plan) -> None:
    """Wait for the engine and run every cell until nothing is new to it."""
    remote.wait()
    for batch in plan.engine.batches:
        for _ in range(plan.warmup):
            remote.generate(batch, plan.engine.context, plan.engine.tokens)
    remote.ready()


def _time_alone(plan: Plan, scratch: Path, name: str, times: dict[int, list[Pair]], say: Say) -> None:
    with ExitStack() as stack:
        remote = _started(plan, None, scratch, name, stack, say)
        _warm(remote, plan)
        for batch in plan.engine.batches:
            times[batch] += [_pair(remote, plan, batch, False) for _ in range(plan.repetitions)]
        remote.stop()


def _pair(remote: Remote, plan: Plan, batch: int, record: bool) -> Pair:
    spec = plan.engine
    single = remote.generate(batch, spec.context, 1)
    return Pair(remote.generate(batch, spec.context, spec.tokens, record=record), single)
