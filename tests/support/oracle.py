"""The ledger nanosecond by nanosecond, in plain loops, as the design's text says it. Slow and obvious on purpose.

Written from the rules, over the rows of a Recording, and knows nothing of the code that it judges.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

from tests.support.recording import Recording, Row

TERMS = ("device_gap", "host_wait", "launch_call", "launch_latency", "profiler", "unattributed")
STEP = re.compile(r"execute_context_(\d+)\((\d+)\)_generation_(\d+)\((\d+)\)")
LAUNCHES = {"cudaLaunchKernel", "cuLaunchKernel", "cudaGraphLaunch", "cuGraphLaunch"}
GRAPHS = {"cudaGraphLaunch", "cuGraphLaunch"}
WAITING = {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaMemcpy", "cuStreamSynchronize"}
NO_RANGE = "(no range)"
FOREVER = 10**9


@dataclass
class Step:
    """What the oracle says of one step. Terms are empty where the step has no window."""

    kind: str
    batch: int | None
    begin: int
    operations: list[Row] = field(default_factory=list)
    kernels: int = 0
    launches: int = 0
    graph_launches: int = 0
    complete: bool = False
    steady: bool = False
    window: tuple[int, int] | None = None
    busy: int = 0
    overlap: int = 0
    within: Counter[str] = field(default_factory=Counter)
    between: Counter[str] = field(default_factory=Counter)
    waited: Counter[str] = field(default_factory=Counter)  # host_wait by phase
    called: Counter[str] = field(default_factory=Counter)  # launch_call by phase

    @property
    def wall(self) -> int:
        return self.window[1] - self.window[0] if self.window else 0

    def term(self, name: str) -> int:
        return self.within[name] + self.between[name]


def account(recording: Recording) -> list[Step]:
    """Every step of a recording of one device and one process, with its ledger."""
    rows = recording.rows
    operations = [row for table in ("kernels", "memops") for row in rows[table]]
    steps = sorted((_step(r) for r in rows["ranges"] if STEP.search(r["name"] or "")), key=lambda s: s.begin)
    for operation in operations:
        call = launch_of(operation, rows["api_calls"])
        owner = _step_at(steps, call["start_ns"]) if call else None
        if owner:
            owner.operations.append(operation)
            owner.kernels += "name" in operation
    for call in rows["api_calls"]:
        owner = _step_at(steps, call["start_ns"])
        if owner and call["name"] in LAUNCHES and call is _outermost(call, rows["api_calls"]):
            owner.launches += 1
            owner.graph_launches += call["name"] in GRAPHS
    _windows(steps)
    covered = {t for o in operations for t in range(o["start_ns"], o["end_ns"])}
    for step in steps:
        if step.complete:
            _ledger(step, operations, covered, rows)
    for before, step, after in zip(steps, steps[1:], steps[2:]):
        alike = {(s.kind, s.batch) for s in (before, step, after)}
        step.steady = step.complete and step.kind == "decode" and len(alike) == 1
    return steps


def launch_of(operation: Row, calls: list[Row]) -> Row | None:
    """The outermost call with the operation's process and id."""
    if operation["correlation_id"] is None:
        return None
    sharing = [c for c in calls if _key(c) == _key(operation)]
    return _outermost(sharing[0], calls) if sharing else None


def _outermost(call: Row, calls: list[Row]) -> Row:
    if call["correlation_id"] is None:
        return call
    sharing = [c for c in calls if _key(c) == _key(call)]
    return min(sharing, key=lambda c: (c["start_ns"], -_end(c), c["domain"] != "runtime"))


def _key(row: Row) -> tuple[int | None, int | None]:
    return row["pid"], row["correlation_id"]


def _end(row: Row) -> int:
    return FOREVER if row["end_ns"] is None else int(row["end_ns"])


def _step(row: Row) -> Step:
    found = STEP.search(row["name"])
    assert found
    prefills, decodes = int(found[1]), int(found[3])
    kind = ("mixed" if decodes else "prefill") if prefills else ("decode" if decodes else "empty")
    return Step(kind, decodes if kind == "decode" else None, row["start_ns"])


def _step_at(steps: list[Step], time: int) -> Step | None:
    begun = [step for step in steps if step.begin <= time]
    return begun[-1] if begun else None


def _first(step: Step) -> int:
    return min(int(o["start_ns"]) for o in step.operations)


def _windows(steps: list[Step]) -> None:
    working = [step for step in steps if step.operations]
    for step, after in pairwise(working):
        if _first(step) < _first(after):
            step.complete, step.window = True, (_first(step), _first(after))


def _ledger(step: Step, operations: list[Row], covered: set[int], rows: dict[str, list[Row]]) -> None:
    assert step.window
    begin, end = step.window
    lengths = [max(0, min(o["end_ns"], end) - max(o["start_ns"], begin)) for o in operations]
    idle = [t for t in range(begin, end) if t not in covered]
    step.busy = end - begin - len(idle)
    step.overlap = sum(lengths) - step.busy
    while idle:
        gap = [idle.pop(0)]
        while idle and idle[0] == gap[-1] + 1:
            gap.append(idle.pop(0))
        _explain(step, gap, operations, rows)


def _explain(step: Step, gap: list[int], operations: list[Row], rows: dict[str, list[Row]]) -> None:
    """Give every nanosecond of a gap to its term."""
    assert step.window
    g0, g1 = gap[0], gap[-1] + 1
    side = step.between if g1 == step.window[1] else step.within
    launches = [(launch_of(o, rows["api_calls"]), o) for o in operations if o["start_ns"] == g1]
    known = [(call["start_ns"], _end(call), id(call), call, o) for call, o in launches if call]
    if not known:
        side["unattributed"] += len(gap)
        return
    a0, a1, _, call, operation = min(known, key=lambda k: k[:3])
    siblings = [o for o in operations if _key(o) == _key(call)]
    if a1 <= g0 or any(o["start_ns"] < operation["start_ns"] for o in siblings):
        side["device_gap"] += len(gap)
        return
    for t in gap:
        if t >= a1:
            side["launch_latency"] += 1
        elif t >= a0:
            side["launch_call"] += 1
            step.called[_phase(t, call, rows)] += 1
        elif any(o["start_ns"] <= t < o["end_ns"] for o in _same_thread(rows["overheads"], call)):
            side["profiler"] += 1
        else:
            side["host_wait"] += 1
            step.waited[_phase(t, call, rows)] += 1


def _same_thread(table: list[Row], call: Row) -> list[Row]:
    return [row for row in table if (row["pid"], row["tid"]) == (call["pid"], call["tid"])]


def _phase(t: int, call: Row, rows: dict[str, list[Row]]) -> str:
    """The range or waiting call, of the launching thread, that began last of those active; of two, the shorter."""
    waits = [c for c in rows["api_calls"] if c["name"] in WAITING]
    active = [r for r in _same_thread(rows["ranges"] + waits, call) if r["start_ns"] <= t < _end(r)]
    if not active:
        return NO_RANGE
    name: Any = max(active, key=lambda r: (r["start_ns"], -_end(r)))["name"]
    return "execute step" if STEP.search(name) else str(name)


def medians(steps: list[Step], batch: int) -> dict[str, float]:
    """Medians over the steady steps of one batch."""
    chosen = [s for s in steps if s.steady and s.batch == batch]
    figures = {f"{name}_ns": median(s.term(name) for s in chosen) for name in TERMS}
    figures["wall_ns"], figures["busy_ns"] = median(s.wall for s in chosen), median(s.busy for s in chosen)
    figures["host_exposed_ns"] = median(sum(s.term(n) for n in ("host_wait", "launch_call", "launch_latency")) for s in chosen)
    return figures
