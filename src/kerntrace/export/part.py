"""Part of a trace: what some of its steps own. Room: export."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kerntrace.accounting.analysis import Analysis
from kerntrace.errors import RefusedError, UsageError
from kerntrace.steps.chosen import steps_within
from kerntrace.steps.ownership import NEVER, Steps
from kerntrace.trace.launches import Rows
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Mask, Table


@dataclass(frozen=True, slots=True)
class Part:
    """The steps from `first` up to but without `last`."""

    first: int
    last: int


def read_part(text: str, count: int) -> Part:
    """The part that `N`, `A-B` or `A:B` names (`steps.chosen`).

    Args:
        count: how many steps there are.

    Raises:
        UsageError: if it names none of them.
    """
    return Part(*steps_within(text, count))


def steps_of(analysis: Analysis, name: str) -> Steps:
    """The steps of an analysis of which a part is wanted.

    Raises:
        RefusedError: if a rule refuses the trace, for then nobody knows which work is whose.
        UsageError: if there are no steps.
    """
    if not analysis.ok:
        rule = next(rule for rule in analysis.rules if not rule.ok)
        raise RefusedError(
            f"{name}: --steps is refused by rule {rule.rule}: {rule.detail}", "Export the whole, without --steps."
        )
    if analysis.steps is None:
        raise UsageError(f"{name} has no steps of which --steps could name some", "Name their range with --step-range REGEX.")
    return analysis.steps


def part_of(analysis: Analysis, steps: Steps, part: Part) -> Trace:
    """The trace of some steps: their device work, and the calls, ranges and profiler's records that begin while they are begun.

    Device work without a launch on record comes along by its time. Times stay as they are.
    """
    trace, ops = analysis.trace, analysis.ops
    begins = steps.boundaries.begins
    begin = int(begins[part.first])
    end = int(begins[part.last]) if part.last < len(begins) else NEVER
    window = _window(steps, part)
    owner = steps.owner
    stray = (owner < 0) & (ops.start >= window[0]) & (ops.start < window[1])
    kept = ((owner >= part.first) & (owner < part.last)) | stray
    on_host = (begin, end) if steps.boundaries.on_host else window
    parts = {
        name: trace.table(name).where(_rows(len(trace.table(name)), ops.row[kept & (ops.is_kernel == is_kernel)]))
        for name, is_kernel in (("kernels", True), ("memops", False))
    }
    parts |= {name: _begun(trace.table(name), *on_host) for name in ("api_calls", "ranges", "overheads")}
    return Trace(trace.manifest, **parts, walls=trace.walls)


def _window(steps: Steps, part: Part) -> tuple[int, int]:
    owning = np.flatnonzero(steps.operations[part.first : part.last]) + part.first
    if not len(owning):
        return NEVER, NEVER
    return int(steps.window_begin[owning[0]]), int(steps.window_end[owning].max())


def _rows(count: int, rows: Rows) -> Mask:
    keep = np.zeros(count, dtype=bool)
    keep[rows] = True
    return keep


def _begun(table: Table, begin: int, end: int) -> Table:
    start = table.ints("start_ns")
    return table.where(table.valid("start_ns") & (start >= begin) & (start < end))
