"""What must hold of a trace before any figure is taken from it: the rules that need no steps. Room: trace.

A rule that fails refuses the figures it touches and says which rule, which rows, and how to capture again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.trace.coverage import Coverage, graph_launches, recorded_stretch
from kerntrace.trace.launches import Launches
from kerntrace.trace.model import Trace, devices, pids
from kerntrace.trace.operations import Operations, starts_before_launch
from kerntrace.trace.table import Ints, Mask, Table
from kerntrace.units import duration

LONGEST_NS = 24 * 3600 * 10**9  # no kernel, copy or recording of decode steps lasts a day
SKEW_TOLERANCE_NS = 100  # both clocks are read in ns but converted from ticks, each rounded

NODE_LEVEL = "nsys profile --cuda-graph-trace=node, or kerntrace record"


@dataclass(frozen=True, slots=True)
class Rule:
    """The outcome of one rule.

    Attributes:
        rule: its name.
        ok: whether figures may be taken.
        detail: what was found, with counts and rows.
        fix: how to capture again; empty where the rule holds.
    """

    rule: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rules look at."""

    trace: Trace
    launches: Launches
    ops: Operations
    coverage: Coverage


def check_trace(facts: Facts) -> list[Rule]:
    """Every rule that needs no steps, in the order in which a person should read them."""
    return [rule(facts) for rule in RULES]


def _kernels(facts: Facts) -> Rule:
    count = len(facts.trace.kernels)
    spans = facts.trace.manifest.capture.whole_graph_replays
    if count or spans:
        return Rule("kernels-recorded", True, f"{count} kernels, {len(facts.trace.memops)} memops")
    calls = int(np.count_nonzero(facts.trace.api_calls.mask("is_launch")))
    return Rule(
        "kernels-recorded",
        False,
        "no kernel on record"
        + (f", though {calls} kernel launch calls are" if calls else "")
        + ": there is nothing to account for",
        "Record with CUDA tracing on (nsys profile -t cuda,nvtx), in the process that runs the model.",
    )


def _granularity(facts: Facts) -> Rule:
    name = "graph-node-granularity"
    spans = facts.trace.manifest.capture.whole_graph_replays
    graph = graph_launches(facts.trace, facts.launches)
    with_nodes = int(np.count_nonzero(graph & (facts.ops.first >= 0)))
    replays = int(np.count_nonzero(graph))
    only_cut = not bool(np.any(graph & recorded_stretch(facts.ops)))
    if (spans and not with_nodes) or (replays and not with_nodes and not only_cut):
        told = f"{spans} replays recorded as one span each" if spans else f"{replays} graph launches without one kernel"
        return Rule(
            name,
            False,
            f"graphs were traced as a whole, not node by node: {told}. Kernel counts and busy time cannot be known",
            f"Record again at node level: {NODE_LEVEL} (--cuda-graph-trace=node).",
        )
    return Rule(
        name, True, f"{with_nodes} of {replays} graph launches have kernels on record" if replays else "no graph launches"
    )


def _coverage(facts: Facts) -> Rule:
    name = "replay-coverage"
    found = facts.coverage
    replays = len(found.call)
    if not replays:
        return Rule(name, True, "no graph launches")
    short = int(np.count_nonzero(found.seen < found.expected))
    if short:
        missing = int((found.expected - found.seen).sum())
        return Rule(
            name,
            False,
            f"{short} of {replays} graph replays are under-recorded: coverage {100 * found.share():.1f} %, {missing} kernels"
            " missing",
            f"Record fewer steps or with larger buffers, at node level ({NODE_LEVEL}).",
        )
    return Rule(name, True, f"{replays} graph replays, coverage 100 %")


def _timestamps(facts: Facts) -> Rule:
    found: list[str] = []
    for name in ("kernels", "memops", "api_calls"):
        found += _bad_times(facts.trace.table(name), name)
    if found:
        return Rule("timestamps", False, "; ".join(found), "Record again; zero timestamps come from buffers read too early.")
    return Rule("timestamps", True, "every record has a start and an end, no duration is negative or absurd")


def _bad_times(table: Table, name: str) -> list[str]:
    if not len(table):
        return []
    table.load(["start_ns", "end_ns"])
    timed = table.valid("start_ns") & table.valid("end_ns")
    start, end = table.ints("start_ns"), table.ints("end_ns")
    if timed.all() and _sane(start, end):
        return []
    late = end < start
    length = end - start  # wraps around only where an end is absurd, which the next line finds by itself
    centre = int(np.median(start[timed])) if timed.any() else 0
    far = (np.abs(start - np.float64(centre)) > 30.0 * LONGEST_NS) | (np.abs(end - np.float64(centre)) > 30.0 * LONGEST_NS)
    absurd = ~late & ((length > LONGEST_NS) | (length < 0) | far)
    kinds = [("a negative duration", timed & late), ("an absurd duration or time", timed & absurd)]
    missing = ~timed if name != "api_calls" else ~table.valid("start_ns")  # a call may be open when recording ends
    kinds.insert(0, ("a zero (missing) timestamp", missing))
    return [f"{_count(mask)} of {len(table)} {name} have {what} (rows {_rows(mask)})" for what, mask in kinds if mask.any()]


def _sane(start: Ints, end: Ints) -> bool:
    """Whether, at a glance, no time can be wrong: all within a month and no duration negative or longer than a day."""
    if min(int(start.min()), int(end.min())) < -LONGEST_NS or max(int(start.max()), int(end.max())) > 30 * LONGEST_NS:
        return False
    length = end - start
    return bool(length.min() >= 0 and length.max() <= LONGEST_NS)


def _duplicates(facts: Facts) -> Rule:
    found = []
    for name in ("kernels", "memops", "api_calls"):
        table = facts.trace.table(name)
        same = _same_as_before(table)
        if same.any():
            found.append(f"{_count(same)} of {len(table)} {name} are duplicates of the record before (rows {_rows(same)})")
    if found:
        return Rule("duplicate-records", False, "; ".join(found), "Record again with one profiler; export the report afresh.")
    return Rule("duplicate-records", True, "no record is there twice")


def _same_as_before(table: Table) -> Mask:
    """Rows equal to the one before in all that identifies a record. Rows are ordered by just that."""
    same = np.zeros(len(table), dtype=bool)
    if len(table) < 2:
        return same
    columns = [name.lstrip("-") for name in table.schema.order]
    start = table.ints("start_ns", null=-1)
    tied = np.flatnonzero(start[1:] == start[:-1]) + 1  # the other columns are looked at only where starts are equal
    for name in columns:
        values = table.names(name).codes if name in ("name", "kind") else table.ints(name, null=-1)
        tied = tied[values[tied] == values[tied - 1]]
        if not len(tied):
            return same
    if "graph_node_id" in columns:  # of no length and without a node id, two records may be two kernels of one replay
        telling = (table.ints("end_ns")[tied] > start[tied]) | table.valid("graph_node_id")[tied]
        tied = tied[telling & table.valid("start_ns")[tied]]
    same[tied] = True
    return same


def _dropped(facts: Facts) -> Rule:
    dropped = facts.trace.manifest.capture.dropped_records
    if dropped:
        return Rule(
            "dropped-records",
            False,
            f"the recorder lost {dropped} records: counts and busy time are too low",
            "Record fewer steps or with larger buffers.",
        )
    return Rule("dropped-records", True, "the recorder says it lost none" if dropped == 0 else "the recorder does not say")


def _skew(facts: Facts) -> Rule:
    name = "clock-skew"
    early = starts_before_launch(facts.trace, facts.ops)
    if not len(early):
        return Rule(name, True, "no launch on record to compare clocks by")
    bound, count = int(early.max()), int(np.count_nonzero(early > 0))
    if bound > SKEW_TOLERANCE_NS:
        return Rule(
            name,
            False,
            f"{count} of {len(early)} launches have work that starts before the launch call, by up to {duration(bound)}: the"
            f" device clock is behind the host's by at least that, and host terms would be wrong by as much",
            "Record again; compare with another profiler's trace of the same run.",
        )
    least = f"the shortest time from launch call to start is {duration(-bound)}" if bound < 0 else f"by at most {bound} ns"
    return Rule(name, True, f"no operation starts before its launch call; {least}, so the device clock is not further behind")


def _reuse(facts: Facts) -> Rule:
    calls, outer = facts.trace.api_calls, facts.launches.outer
    inner = np.flatnonzero(~facts.launches.is_outermost)
    inner = inner[facts.ops.first[outer[inner]] >= 0]  # an id matters only where work hangs on it
    start, end = calls.ints("start_ns"), calls.ints("end_ns", null=np.iinfo(np.int64).max)
    tid = calls.ints("tid", null=-1)
    after = (start[inner] >= end[outer[inner]]) & (end[inner] > start[inner])
    reused = inner[after | (tid[inner] != tid[outer[inner]])]
    if len(reused):
        return Rule(
            "correlation-ids",
            False,
            f"{len(reused)} API calls reuse the correlation id of a call that had returned or is another thread's"
            f" (rows {_listed(reused)}): kernels cannot be joined to their launch",
            "Export the report again, one process at a time.",
        )
    return Rule(
        "correlation-ids",
        True,
        f"ids are unique within a process; {len(inner)} calls lie inside the launch they share one with",
    )


def _one_of(name: str, option: str, noun: str, values: Callable[[Trace], Ints]) -> Callable[[Facts], Rule]:
    def rule(facts: Facts) -> Rule:
        found = values(facts.trace)
        told = ", ".join(str(v) if v >= 0 else "not recorded" for v in found[:8]) + (", ..." if len(found) > 8 else "")
        if len(found) > 1:
            return Rule(
                name,
                False,
                f"work of {len(found)} {noun} is in this trace ({told}): one ledger cannot speak for both",
                f"Choose one with {option}, e.g. {option} {found[-1]}.",
            )
        return Rule(name, True, f"{noun[:-1] if noun != 'processes' else 'process'} {told}" if len(found) else "none")

    return rule


def _count(mask: Mask) -> int:
    return int(np.count_nonzero(mask))


def _rows(mask: Mask) -> str:
    return _listed(np.flatnonzero(mask))


def _listed(rows: npt.NDArray[np.intp]) -> str:
    return ", ".join(str(r) for r in rows[:3]) + (", ..." if len(rows) > 3 else "")


RULES: Iterable[Callable[[Facts], Rule]] = (
    _kernels,
    _granularity,
    _coverage,
    _timestamps,
    _duplicates,
    _dropped,
    _skew,
    _reuse,
    _one_of("one-device", "--device", "devices", devices),
    _one_of("one-process", "--pid", "processes", pids),
)
