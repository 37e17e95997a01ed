"""Steps by the period of the launch sequence, where no range tells them. Room: steps.

The sequence is that of launch calls, each standing for the kernels it launched, so that a graph replay is one element. Its
period is the length that repeats over the longest stretch: a layer repeats inside a step, but only as far as the step goes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.steps.boundaries import Boundaries
from kerntrace.steps.names import KINDS, UNKNOWN
from kerntrace.trace.model import Trace
from kerntrace.trace.operations import Operations
from kerntrace.trace.table import Ints

_LOOKED_AT = 1_000_000  # launches that the period is sought in
_CANDIDATES = 48
_LEAST = 5  # a period that holds less than 1/5 of the kernels is not the step
_NEARLY = 0.9  # of the longest stretch: the shortest period that repeats so far is taken, not a multiple of it
_LOOK_BACK = 32  # launches by which a cut may be moved to the pause it belongs to


@dataclass(frozen=True, slots=True)
class Sequence:
    """Launches in order: `token` is equal for equal work, `time` when each began (device time where no API call is known)."""

    token: npt.NDArray[np.intp]
    time: Ints
    kernels: Ints
    on_host: bool


def find_period(trace: Trace, ops: Operations) -> Boundaries | None:
    """Steps by periodicity, or None where the sequence does not repeat at least once."""
    sequence = _sequence(trace, ops)
    found = _period(sequence)
    if found is None:
        return None
    period, at = found
    cuts = _cuts(sequence, period, at)
    count = len(cuts)
    inside = slice(at, at + period)
    detail = f"period of {int(sequence.kernels[inside].sum())} kernels in {period} launches"
    return Boundaries(
        "periodic",
        sequence.time[cuts],
        np.full(count, KINDS.index("unknown"), np.int8),
        np.full(count, UNKNOWN, np.int64),
        np.full(count, UNKNOWN, np.int64),
        detail,
        sequence.on_host,
    )


def _widespread(sequence: Sequence, period: int) -> bool:
    """Whether launches that return after one period hold a fair share of all kernels: a step, not an accident."""
    token = sequence.token
    same = token[period:] == token[:-period]
    return bool(sequence.kernels[period:][same].sum() * _LEAST >= sequence.kernels.sum() > 0)


def _sequence(trace: Trace, ops: Operations) -> Sequence:
    """Each launch call with kernels on record, in order of its start; each kernel by itself where no call is on record.

    Copies and fills are left out: how many there are may differ from step to step.
    """
    names = trace.kernels.names("name")
    kernel = np.flatnonzero(ops.is_kernel)
    code = names.codes[ops.row[kernel]].astype(np.intp) + 1
    launch = ops.launch[kernel]
    launched = launch >= 0
    if not launched.any():
        return Sequence(np.unique(code, return_inverse=True)[1], ops.start[kernel], np.ones(len(kernel), np.int64), False)
    number = np.random.default_rng(1).integers(1, 2**32, len(names.values) + 1).astype(np.float64)
    calls = np.unique(launch[launched])
    place = np.searchsorted(calls, launch[launched])
    work = np.bincount(place, weights=number[code[launched]])
    begun = trace.api_calls.ints("start_ns")[calls]
    return Sequence(np.unique(work, return_inverse=True)[1], begun, np.bincount(place, minlength=len(calls)), True)


def _period(sequence: Sequence) -> tuple[int, int] | None:
    """The period and where the stretch over which it repeats begins. Stretches are measured in kernels: a graph launch counts
    for all that it launched."""
    token = sequence.token[:_LOOKED_AT]
    before = np.concatenate([[0], np.cumsum(sequence.kernels)])
    best: list[tuple[int, int, int]] = []  # kernels in the stretch, period, its beginning
    for period in _candidates(token):
        begin, length = _longest_run(token[period:] == token[:-period])
        if length >= period and _widespread(sequence, period):
            best.append((int(before[begin + length + period] - before[begin]), period, begin))
    if not best:
        return None
    longest = max(stretch for stretch, _, _ in best)
    _, period, begin = min((b for b in best if b[0] >= _NEARLY * longest), key=lambda b: b[1])
    return period, begin


def _candidates(token: npt.NDArray[np.intp]) -> list[int]:
    """Distances at which some element most often returns: the period is one of them if any element is in it once."""
    order = np.argsort(token, kind="stable")
    ranked = token[order]
    same = ranked[1:] == ranked[:-1]
    distance = (order[1:] - order[:-1])[same]
    if not len(distance):
        return []
    found, count = np.unique(ranked[1:][same] * np.int64(len(token)) + distance, return_counts=True)
    element, apart = found // len(token), found % len(token)
    most = np.zeros(int(element.max()) + 1, np.int64)
    np.maximum.at(most, element, count)
    usual = np.unique(apart[count == most[element]])
    reach = np.zeros(len(token) + 1, np.int64)
    np.add.at(reach, apart, count * apart)
    ranked_by_reach = usual[np.argsort(-reach[usual], kind="stable")]
    return [int(p) for p in ranked_by_reach[:_CANDIDATES] if 2 * p <= len(token)]


def _longest_run(same: npt.NDArray[np.bool_]) -> tuple[int, int]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    if not len(edges):
        return 0, 0
    lengths = edges[1::2] - edges[::2]
    longest = int(np.argmax(lengths))
    return int(edges[2 * longest]), int(lengths[longest])


def _cuts(sequence: Sequence, period: int, at: int) -> npt.NDArray[np.intp]:
    """Where each step begins: at the longest pause of the host, wherever the anchor tells that such a place has come round.

    The anchor is an element that is in the period once, so that steps with other work in them (a prefill) are cut as well.
    """
    token, time = sequence.token, sequence.time
    whole = (len(token) - at) // period
    inside = token[at : at + period]
    once = np.flatnonzero(np.bincount(inside, minlength=int(token.max()) + 1)[inside] == 1)
    stretch = np.arange(at, at + period) + period * np.arange(max(whole - 1, 1))[:, None]
    stretch = stretch[stretch[:, -1] < len(token)]
    pauses = np.diff(time, prepend=time[0])[stretch]
    pause = np.median(pauses, axis=0) if len(pauses) < 1000 else np.median(pauses[:1000], axis=0)
    if at == 0 and len(pauses) > 1:
        pause[0] = np.median(pauses[1:, 0])
    longest = int(np.argmax(pause))
    if not len(once):  # every element is there several times: nothing but the period itself tells where a step begins
        return np.arange((at + longest) % period, len(token), period)
    back = (once - longest) % period
    anchor = once[np.argmin(back)]
    found = np.flatnonzero(token == inside[anchor])
    distance = int(back.min())
    return _moved_back(token, found, distance if distance <= _LOOK_BACK else 0)


def _moved_back(token: npt.NDArray[np.intp], found: npt.NDArray[np.intp], distance: int) -> npt.NDArray[np.intp]:
    """The anchors' places, moved `distance` back where the launches between are those that most anchors have before them."""
    reachable = found[found >= distance]
    if not distance or not len(reachable):
        return found
    before = token[reachable[:, None] - np.arange(distance, 0, -1)]
    _, which, count = np.unique(before, axis=0, return_inverse=True, return_counts=True)
    usual = which.reshape(-1) == int(np.argmax(count))
    moved = np.where(usual, reachable - distance, reachable)
    return np.concatenate([found[found < distance], moved])
