"""Gaps of the ledger cut where the cause changes: [g0, a0) waited for the host, [a0, a1) in the launch call, then latency.

Room: export. The ledger gives each gap's terms as lengths; here they get their places. The profiler's own time lies anywhere
before the launch call, and is cut out where its records say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.accounting.intervals import meet, union
from kerntrace.accounting.ledger import GAP_TERMS, Gaps
from kerntrace.export.stretches import Index
from kerntrace.trace.launches import Rows
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints

HOST_WAIT, PROFILER = GAP_TERMS.index("host_wait"), GAP_TERMS.index("profiler")
_ORDER = ("host_wait", "launch_call", "launch_latency", "device_gap", "unattributed")  # of the terms in a gap


@dataclass(frozen=True, slots=True)
class IdlePieces:
    """Pieces of gaps, ascending within a step. Arrays of one length.

    Attributes:
        step: whose window the gap lies in.
        start, end: in ns.
        cause: place in GAP_TERMS.
        call: row in `trace.api_calls` of the launch that ended the gap, -1 where none is on record.
    """

    step: Index
    start: Ints
    end: Ints
    cause: npt.NDArray[np.int64]
    call: Rows

    def __len__(self) -> int:
        return len(self.start)

    def chosen(self, rows: Index) -> IdlePieces:
        return IdlePieces(self.step[rows], self.start[rows], self.end[rows], self.cause[rows], self.call[rows])


def cut_by_cause(trace: Trace, gaps: Gaps) -> IdlePieces:
    """Every gap in pieces of one cause each; pieces of no length are left out."""
    lengths = np.stack([gaps.terms[name] for name in _ORDER], axis=1)
    lengths[:, 0] += gaps.terms["profiler"]  # cut out below
    ends = gaps.start[:, None] + np.cumsum(lengths, axis=1)
    some = lengths.reshape(-1) > 0
    gap = np.repeat(np.arange(len(gaps.start)), len(_ORDER))[some]
    causes = np.array([GAP_TERMS.index(name) for name in _ORDER])
    pieces = IdlePieces(
        gaps.step[gap],
        (ends - lengths).reshape(-1)[some],
        ends.reshape(-1)[some],
        np.tile(causes, len(gaps.start))[some],
        gaps.call[gap],
    )
    disturbed = np.flatnonzero((pieces.cause == HOST_WAIT) & (gaps.terms["profiler"][gap] > 0))
    return pieces if not len(disturbed) else _with_own_time(trace, pieces, disturbed)


def _with_own_time(trace: Trace, pieces: IdlePieces, rows: Index) -> IdlePieces:
    """The pieces, with the profiler's own time cut out of those in `rows`."""
    start, end = pieces.start[rows], pieces.end[rows]
    own_start, own_end, source = _own_time(trace, pieces.call[rows], start, end)
    before = np.concatenate([np.arange(len(rows)), source])
    left_start, left_end = np.concatenate([start, own_end]), np.concatenate([own_start, end])
    from_, to = np.lexsort([left_start, before]), np.lexsort([left_end, np.concatenate([source, np.arange(len(rows))])])
    left_start, left_end, left = left_start[from_], left_end[to], before[from_]
    some = left_start < left_end
    parts = [(source, own_start, own_end, PROFILER), (left[some], left_start[some], left_end[some], HOST_WAIT)]
    kept = np.delete(np.arange(len(pieces)), rows)
    taken = np.concatenate([kept, *(rows[part[0]] for part in parts)])
    starts = np.concatenate([pieces.start[kept], *(part[1] for part in parts)])
    order = np.lexsort([starts, pieces.step[taken]])
    return IdlePieces(
        pieces.step[taken][order],
        starts[order],
        np.concatenate([pieces.end[kept], *(part[2] for part in parts)])[order],
        np.concatenate([pieces.cause[kept], *(np.full(len(part[0]), part[3]) for part in parts)])[order],
        pieces.call[taken][order],
    )


def _own_time(trace: Trace, call: Rows, start: Ints, end: Ints) -> tuple[Ints, Ints, Index]:
    """Where the profiler's own time on the launching thread meets intervals: start, end and the interval, ascending in it."""
    own, calls = trace.overheads, trace.api_calls
    parts = []
    threads = np.stack([own.ints("pid", null=-1), own.ints("tid", null=-1)]).astype(np.int64)
    for pid, tid in np.unique(threads, axis=1).T.tolist():
        rows = np.flatnonzero((threads[0] == pid) & (threads[1] == tid))
        rows = rows[np.argsort(own.ints("start_ns")[rows], kind="stable")]
        mine = np.flatnonzero((calls.ints("pid", null=-1)[call] == pid) & (calls.ints("tid", null=-1)[call] == tid))
        met = meet(start[mine], end[mine], union(own.ints("start_ns")[rows], own.ints("end_ns")[rows]))
        parts.append((met.start, met.end, mine[met.source]))
    starts, ends, source = (np.concatenate(part) for part in zip(*parts))
    return starts, ends, source
