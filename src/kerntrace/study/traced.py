"""Traced cells: a fresh process a mode under the native recorder, every cell recorded and reduced to its ledger. Room: study.

The recorder's windows are told apart by time: the device is idle and synchronised at both ends of a recorded call, and nothing
else is recorded between two of them, so that a cell's records lie between its first window's beginning and its last one's end.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kerntrace.capture.dressing import dressed
from kerntrace.capture.machine import Machine
from kerntrace.capture.profile import Plan as Profile
from kerntrace.capture.profile import job_of
from kerntrace.capture.remote import Remote
from kerntrace.capture.wallclock import CellTimes, Pair
from kerntrace.engines.protocol import EngineSpec
from kerntrace.study.records import Plan, TracedCell
from kerntrace.study.reduce import reduced
from kerntrace.study.schedule import Shape, TracedWork, token_order
from kerntrace.trace.bundle import write_bundle
from kerntrace.trace.model import Trace
from kerntrace.trace.shards import read_shards

_TIMED = ("kernels", "memops", "api_calls", "ranges", "overheads")
_Pairs = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Stage:
    """Where cells are traced.

    Attributes:
        engine: long and wide enough for each of them.
        scratch: an empty directory.
        keep: directory for bundles; None for not keeping them.
        beside: an untraced engine runs beside the traced one, and calls alternate between them.
    """

    plan: Plan
    engine: EngineSpec
    host: str
    scratch: Path
    machine: Machine
    keep: Path | None
    beside: bool


@dataclass(slots=True)
class _Timed:
    """A cell's calls: walls, and CLOCK_REALTIME around those that were recorded."""

    traced: _Pairs
    untraced: _Pairs
    begin: int = 0
    end: int = 0


def trace_cells(stage: Stage, work: TracedWork) -> list[TracedCell]:
    """Trace cells of one mode.

    Raises:
        KerntraceError: if an engine does not start or ends early, or its records cannot be read.
    """
    profile = Profile(stage.engine, "native", {}, warmup=stage.plan.warmup)
    with ExitStack() as stack:
        base = None
        if stage.beside:
            base = stack.enter_context(Remote(job_of(profile, None, stage.scratch), stage.scratch, "untraced"))
            base.wait()
        watched = stack.enter_context(Remote(job_of(profile, "native", stage.scratch), stage.scratch, "traced"))
        watched.wait()
        watched.ready()
        timed = {shape: _time(stage.plan, shape, watched, base) for shape in work.cells}
        watched.stop()
        facts = dict(watched.facts)
    trace = read_shards(stage.scratch / "records")
    cells = []
    for shape, times in timed.items():
        part = _between(trace, times.begin, times.end)
        if stage.keep is not None:
            _keep(stage, shape, times, part, facts)
        spec = replace(stage.engine, batches=(shape[0],), context=shape[1])
        cells.append(reduced(part, spec, stage.host, tuple(times.traced), tuple(times.untraced)))
    return cells


def _time(plan: Plan, shape: Shape, watched: Remote, base: Remote | None) -> _Timed:
    engines = [watched] if base is None else [watched, base]
    for engine in engines:
        for _ in range(plan.warmup):
            engine.generate(*shape, plan.tokens)
    timed = _Timed([], [])
    for repetition in range(plan.traced_repetitions):
        for engine in engines if repetition % 2 == 0 else reversed(engines):
            record = engine is watched and repetition < plan.traced_recorded
            walls = {}
            for tokens in token_order(plan, repetition):
                begin = time.time_ns()
                walls[tokens] = engine.generate(*shape, tokens, record=record and tokens != 1)
                if record and tokens != 1:
                    timed.begin, timed.end = timed.begin or begin, time.time_ns()
            pairs = timed.traced if engine is watched else timed.untraced
            pairs.append((walls[plan.tokens], walls[1]))
    return timed


def _between(trace: Trace, begin: int, end: int) -> Trace:
    """The records that began in a stretch of CLOCK_REALTIME."""
    epoch = trace.manifest.epoch_ns or 0
    parts = {}
    for name in _TIMED:
        table = trace.table(name)
        start = table.ints("start_ns").astype(np.int64) + epoch
        # A record without a time belongs to no stretch; it stays everywhere, so that the rules see it.
        parts[name] = table.where(((start >= begin) & (start <= end)) | ~table.valid("start_ns"))
    return replace(trace, **parts)  # type: ignore[arg-type]


def _keep(stage: Stage, shape: Shape, times: _Timed, part: Trace, facts: dict[str, str]) -> None:
    assert stage.keep is not None
    batch, context = shape
    spec = replace(stage.engine, batches=(batch,), context=context)
    traced, untraced = (tuple(Pair(*pair) for pair in pairs) for pairs in (times.traced, times.untraced))
    cell = CellTimes(batch, context, stage.plan.tokens, traced, untraced)
    name = f"{stage.host}-{spec.mode}-n{batch}-ctx{context}.ktrace"
    stage.keep.mkdir(parents=True, exist_ok=True)
    write_bundle(dressed(part, spec, (cell,), facts, stage.machine), stage.keep / name, force=True)
