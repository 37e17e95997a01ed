"""What the analysis found, as stretches of device time with a name: steps, idle time by cause, and by phase of the engine.

Room: export. Every exporter writes the same three sets. Their sums are the ledger's, to the nanosecond.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kerntrace.accounting.analysis import Analysis
from kerntrace.accounting.ledger import GAP_TERMS, Gaps
from kerntrace.export.idle_phases import phases_of_pieces
from kerntrace.export.idle_pieces import IdlePieces, cut_by_cause
from kerntrace.export.stretches import NO_STRETCHES, Stretches
from kerntrace.steps.names import KINDS
from kerntrace.steps.ownership import Steps
from kerntrace.trace.table import Ints, Mask, Names


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found. The sets are empty where an integrity rule refuses the trace or it has no steps.

    Attributes:
        steps: each step's window on the device.
        gaps: stretches in which the device was idle, each under the term of the ledger that it belongs to.
        phases: of those, the stretches that the host is to blame for (host_wait and launch_call), each under the innermost
            NVTX range, or synchronising call, of the thread that launched next.
        account: the ledger's terms of each of the steps, in ns, by name.
        pid: the process whose work was accounted for; -1 where it is not recorded or nothing was.
        device_id: the device accounted for; -1 likewise.
        reason: why there is nothing, one line; empty where there is something.
    """

    steps: Stretches
    gaps: Stretches
    phases: Stretches
    account: dict[str, Ints] = field(default_factory=dict)
    pid: int = -1
    device_id: int = -1
    reason: str = ""


def find(analysis: Analysis, first: int = 0, last: int | None = None) -> Findings:
    """The findings of an analysis, for the steps from `first` up to but without `last`."""
    steps, ledger = analysis.steps, analysis.ledger
    if not analysis.ok:
        refused = next(rule for rule in analysis.rules if not rule.ok)
        return Findings(
            NO_STRETCHES, NO_STRETCHES, NO_STRETCHES, reason=f"rule {refused.rule} refuses the trace: {refused.detail}"
        )
    if steps is None or ledger is None:
        return Findings(NO_STRETCHES, NO_STRETCHES, NO_STRETCHES, reason="no steps were found in it")
    last = len(steps) if last is None else last
    pieces = cut_by_cause(analysis.trace, _of_steps(ledger.gaps, first, last))
    device, pid = _place(analysis)
    windows = _windows(steps, analysis.steady, first, last)
    account = {name: ledger.term(name)[windows.step] for name in ("wall", "busy", *GAP_TERMS)}
    return Findings(windows, _by_cause(pieces), phases_of_pieces(analysis.trace, pieces), account, pid, device)


def _of_steps(gaps: Gaps, first: int, last: int) -> Gaps:
    low, high = np.searchsorted(gaps.step, [first, last])
    part = slice(low, high)
    terms = {name: term[part] for name, term in gaps.terms.items()}
    return Gaps(gaps.step[part], gaps.start[part], gaps.end[part], gaps.call[part], gaps.between[part], terms)


def _place(analysis: Analysis) -> tuple[int, int]:
    """The one device and process that the analysis is of."""
    for table in (analysis.trace.kernels, analysis.trace.memops):
        if len(table):
            return int(table.ints("device_id", null=-1)[0]), int(table.ints("pid", null=-1)[0])
    return -1, -1


def _windows(steps: Steps, steady: Mask, first: int, last: int) -> Stretches:
    """The steps that ran something."""
    chosen = np.arange(first, last)
    chosen = chosen[(steps.operations[first:last] > 0) & (steps.window_begin[first:last] < steps.window_end[first:last])]
    said = steps.boundaries
    texts: dict[str, int] = {}
    columns = (said.kind, said.batch, steps.complete, steady)
    rows = zip(*(column[chosen].tolist() for column in columns))
    codes = [texts.setdefault(_step_name(*row), len(texts)) for row in rows]
    names = Names(np.array(codes, np.int32), tuple(texts))
    return Stretches(chosen, steps.window_begin[chosen], steps.window_end[chosen], names)


def _step_name(kind: int, batch: int, complete: bool, steady: bool) -> str:
    name = "step" if KINDS[kind] == "unknown" else f"step {KINDS[kind]}"
    name += f" batch {batch}" if batch > 0 else ""
    return name if steady else f"{name} (not steady)" if complete else f"{name} (not closed)"


def _by_cause(pieces: IdlePieces) -> Stretches:
    return Stretches(pieces.step, pieces.start, pieces.end, Names(pieces.cause.astype(np.int32), GAP_TERMS))


def total_by_name(stretches: Stretches) -> dict[str, int]:
    """The summed length (ns) of the stretches under each name that occurs."""
    length: Ints = stretches.end - stretches.start
    total = np.zeros(len(stretches.name.values), np.int64)
    np.add.at(total, stretches.name.codes, length)
    used = np.unique(stretches.name.codes)
    return {stretches.name.values[code]: int(total[code]) for code in used}
