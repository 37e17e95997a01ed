"""Which phase of the engine the GPU waited for, stretch by stretch. Room: export.

`kerntrace.accounting.phases` tells how much of an interval each phase covers. Cut at every edge of a range, an interval lies in
one phase whole, and so the places of phases come out of the same rule as their sums.
"""

from __future__ import annotations

import numpy as np

from kerntrace.accounting.ledger import GAP_TERMS, Gaps
from kerntrace.accounting.phases import attribute_phases
from kerntrace.export.idle_pieces import HOST_WAIT, IdlePieces
from kerntrace.export.stretches import NO_STRETCHES, Index, Stretches, ragged
from kerntrace.trace.api_names import is_synchronising
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints, Names

LAUNCH_CALL = GAP_TERMS.index("launch_call")
_AT_A_TIME = 1 << 16  # pieces, so that a table of pieces times phases stays small


def phases_of_pieces(trace: Trace, pieces: IdlePieces) -> Stretches:
    """The pieces of host_wait and launch_call by phase; neighbours of one phase and step are one stretch.

    Where steps lie out of order their windows share gaps, and no phases are told apart.
    """
    blamed = pieces.chosen(np.flatnonzero((pieces.cause == HOST_WAIT) | (pieces.cause == LAUNCH_CALL)))
    if not len(blamed) or np.any(blamed.start[1:] < blamed.end[:-1]):
        return NO_STRETCHES
    cut = _cut(blamed, _edges(trace))
    numbers: dict[str, int] = {}
    codes = [_phase(trace, cut.chosen(rows), numbers) for rows in np.split(np.arange(len(cut)), _bounds(len(cut)))]
    return _joined(cut, np.concatenate(codes), tuple(numbers))


def _bounds(count: int) -> list[int]:
    return list(range(_AT_A_TIME, count, _AT_A_TIME))


def _edges(trace: Trace) -> Ints:
    """Every time at which a range or a synchronising call begins or ends, ascending."""
    calls = trace.api_calls
    sync = calls.names("name").where(is_synchronising) if len(calls) else np.zeros(0, bool)
    edges = []
    for table, rows in ((trace.ranges, np.ones(len(trace.ranges), bool)), (calls, sync)):
        edges += [table.ints(time)[rows & table.valid(time)] for time in ("start_ns", "end_ns")]
    return np.unique(np.concatenate(edges))


def _cut(pieces: IdlePieces, edges: Ints) -> IdlePieces:
    """The pieces, cut at the edges that lie inside them."""
    low, high = np.searchsorted(edges, pieces.start, side="right"), np.searchsorted(edges, pieces.end, side="left")
    source, place = ragged(high - low + 1)
    inner = low[source] + place
    padded = np.append(edges, 0)
    start = np.where(place == 0, pieces.start[source], padded[inner - 1])
    end = np.where(place == (high - low)[source], pieces.end[source], padded[np.minimum(inner, len(edges))])
    return IdlePieces(pieces.step[source], start, end, pieces.cause[source], pieces.call[source])


def _phase(trace: Trace, pieces: IdlePieces, numbers: dict[str, int]) -> Index:
    """The phase of each piece, which lies in no more than one."""
    length = pieces.end - pieces.start
    terms = dict.fromkeys(GAP_TERMS, np.zeros(len(pieces), np.int64))
    terms |= {"host_wait": length * (pieces.cause == HOST_WAIT), "launch_call": length * (pieces.cause == LAUNCH_CALL)}
    alone = np.arange(len(pieces))
    gaps = Gaps(alone, pieces.start, pieces.end, pieces.call, np.zeros(len(pieces), bool), terms)
    found = attribute_phases(trace, gaps, len(pieces))
    number = np.array([numbers.setdefault(name, len(numbers)) for name in found.names])
    phase: Index = number[(found.host_wait + found.launch_call).argmax(axis=1)]
    return phase


def _joined(pieces: IdlePieces, codes: Index, names: tuple[str, ...]) -> Stretches:
    follows = (pieces.start[1:] == pieces.end[:-1]) & (codes[1:] == codes[:-1]) & (pieces.step[1:] == pieces.step[:-1])
    first = np.flatnonzero(np.concatenate([[True], ~follows]))
    last = np.append(first[1:], len(codes)) - 1
    return Stretches(pieces.step[first], pieces.start[first], pieces.end[last], Names(codes[first].astype(np.int32), names))
