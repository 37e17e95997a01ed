"""From a trace to its account: rules first, then steps, then the ledger where the rules allow one. Room: accounting."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from kerntrace.accounting.ledger import Ledger, keep_ledger
from kerntrace.steps.boundaries import compile_pattern, find_ranges
from kerntrace.steps.consistency import check_steps
from kerntrace.steps.ownership import Steps, launch_calls, own
from kerntrace.steps.periodicity import find_period
from kerntrace.steps.steady import steady_steps
from kerntrace.trace.coverage import Coverage, replay_coverage
from kerntrace.trace.integrity import Facts, Rule, check_trace
from kerntrace.trace.launches import Launches, join_launches
from kerntrace.trace.model import Trace
from kerntrace.trace.operations import Operations, operations_of
from kerntrace.trace.select import select
from kerntrace.trace.table import Ints, Mask

_BLINDING = {"kernels-recorded", "graph-node-granularity", "timestamps"}  # without these, steps cannot even be told apart


@dataclass(frozen=True, slots=True)
class Question:
    """What part of a trace is asked about, and how its steps are told apart.

    Attributes:
        device, pid: the device and process to account for; None where the trace has one.
        step_range: regular expression for the names of step ranges; None for the known ones.
    """

    device: int | None = None
    pid: int | None = None
    step_range: str | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """A trace with its steps and ledger.

    Attributes:
        trace: the part asked about.
        rules: every integrity rule's outcome.
        steps: None where a rule forbids them or none was found.
        coverage: how much of each graph replay is on record.
        steady: steps that headline figures are taken over.
        ledger: None unless every rule holds.
    """

    trace: Trace
    ops: Operations
    rules: tuple[Rule, ...]
    coverage: Coverage
    steps: Steps | None
    steady: Mask
    ledger: Ledger | None

    @property
    def ok(self) -> bool:
        return all(rule.ok for rule in self.rules)


def analyse(trace: Trace, question: Question, *, with_ledger: bool = True) -> Analysis:
    """Check a trace, cut it into steps and, if asked and allowed, keep its ledger.

    Raises:
        KerntraceError: if a step pattern matches nothing or the device or process asked for ran nothing.
    """
    pattern = compile_pattern(question.step_range) if question.step_range is not None else None
    _read_ahead(trace)
    trace = select(trace, device=question.device, pid=question.pid)
    launches = join_launches(trace)
    ops = operations_of(trace, launches)
    coverage = replay_coverage(trace, launches, ops)
    rules = check_trace(Facts(trace, launches, ops, coverage))
    nothing = np.zeros(0, dtype=bool)
    if any(not rule.ok and rule.rule in _BLINDING for rule in rules):
        return Analysis(trace, ops, tuple(rules), coverage, None, nothing, None)
    boundaries = find_ranges(trace, pattern)
    if boundaries is None:
        boundaries = find_period(trace, ops)
    if boundaries is None:
        return Analysis(trace, ops, tuple(rules), coverage, None, nothing, None)
    steps = own(trace, launches, ops, boundaries)
    if pattern is None and not steps.kernels.any() and (period := find_period(trace, ops)) is not None:
        steps = own(trace, launches, ops, period)  # ranges to which no work can be given say nothing
    steady = steady_steps(steps)
    missing = _launches_without_work(trace, launches, ops, steps)
    rules += check_steps(steps, steady, missing, nodes_known=trace.kernels.has("graph_node_id") or not coverage.call.size)
    steady = steady & (missing == 0)
    allowed = with_ledger and all(rule.ok for rule in rules)
    return Analysis(trace, ops, tuple(rules), coverage, steps, steady, keep_ledger(trace, ops, steps) if allowed else None)


_READ = {
    "kernels": ("start_ns", "end_ns", "pid", "device_id", "stream_id", "correlation_id", "graph_id", "graph_node_id", "name"),
    "api_calls": ("start_ns", "end_ns", "pid", "tid", "correlation_id", "name", "is_launch"),
}


def _read_ahead(trace: Trace) -> None:
    """Read the columns that every analysis needs, the two large tables at once: decoding them leaves the interpreter free."""
    with ThreadPoolExecutor(len(_READ)) as pool:
        for reading in [pool.submit(trace.table(name).load, columns) for name, columns in _READ.items()]:
            reading.result()


def _launches_without_work(trace: Trace, launches: Launches, ops: Operations, steps: Steps) -> Ints:
    """For each step, the kernel-launch calls begun in it of which nothing is on record."""
    calls = trace.api_calls
    launch, _ = launch_calls(trace, launches)
    bare = np.flatnonzero(launch & (ops.first < 0))
    step = np.searchsorted(steps.boundaries.begins, calls.ints("start_ns")[bare], side="right") - 1
    return np.bincount(step[step >= 0], minlength=len(steps))
