"""The repeating layer motif of a step: `438 = 32 x 13 + 22`. Room: steps.

A decode step is a few kernels that prepare, the same kernels once a layer, and a few that sample. What repeats is found in the
sequence alone, so that two published kernel counts can be compared part by part.

The rule
    A motif of period p is a stretch of k blocks of p kernels, each equal to the one before it, kernel for kernel. The first
    block may differ from the second, and the last from the one before it, in at most a quarter of their kernels (a first
    layer that has no residual to add, a last one whose norm belongs to the head), as long as two blocks in a row are equal.
    Of the stretches of one period the one with most blocks counts; of those, the one with fewest differing kernels; of
    those, the one with fewest of them in the first block; of those, the earliest: a motif begins where its run begins.
    A stretch covers its kernels that do not differ. A period counts if its stretch covers at least 1/min(k, 4) of the step.
    The motif is that of the smallest period whose stretch covers at least nine tenths of what the best period covers: a
    layer, not two layers taken together.

Time is linear in kernels times periods tried, each a vectorised comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.integer]
Places = npt.NDArray[np.intp]
Tokens = npt.NDArray[np.unsignedinteger]

_ODD_SHARE = 4  # a first or last block may differ in a 1/4 of its kernels
_COVER = 4  # blocks from which on a stretch need not cover more than a 1/4 of the step
_COMPARISONS = 400_000_000  # a step of more than 28 000 kernels is tried with fewer periods than half its length ...
_PERIODS = 256  # ... but with at least these


@dataclass(frozen=True, slots=True)
class Motif:
    """A stretch of equal blocks in a step's sequence of kernels.

    Attributes:
        period: kernels in a block.
        repeats: blocks, the differing first and last ones included.
        start: index of the first block's first kernel.
        rest_before: kernels before the stretch; the same as `start`.
        rest_after: kernels after it.
        first_differs: kernels in which the first block differs from the second.
        last_differs: kernels in which the last block differs from the one before it.
    """

    period: int
    repeats: int
    start: int
    rest_before: int
    rest_after: int
    first_differs: int = 0
    last_differs: int = 0

    def written(self) -> str:
        """The step's kernel count as people write it: `438 = 32 x 13 + 22`."""
        covered = self.repeats * self.period
        rest = self.rest_before + self.rest_after
        return f"{covered + rest} = {self.repeats} x {self.period}" + (f" + {rest}" if rest else "")

    def block(self, sequence: Codes) -> Codes:
        """The kernels of one block, from a block that is equal to its neighbour."""
        begin = self.start + (self.period if self.first_differs else 0)
        return sequence[begin : begin + self.period]

    def before(self, sequence: Codes) -> Codes:
        """The kernels before the stretch."""
        return sequence[: self.start]

    def after(self, sequence: Codes) -> Codes:
        """The kernels after the stretch."""
        return sequence[self.start + self.repeats * self.period :]


def find_motif(sequence: Codes) -> Motif | None:
    """The motif of a step by the rule above, or None where nothing repeats enough.

    Args:
        sequence: a number for each kernel in launch order, equal for equal kernels (of families or of names).
    """
    tokens = _small(sequence)
    reach = _reach(tokens)
    order = np.argsort(-reach, kind="stable")
    found: dict[int, Motif | None] = {}
    best = 0
    for at in order:
        if reach[at] <= best:
            break
        motif = found[int(at) + 1] = _of_period(tokens, int(at) + 1)
        best = max(best, _covered(motif))
    if not best:
        return None
    enough = (9 * best + 9) // 10
    tried = (int(at) + 1 for at in np.flatnonzero(reach >= enough))
    motifs = (found[period] if period in found else _of_period(tokens, period) for period in tried)
    return next(motif for motif in motifs if _covered(motif) >= enough)


def _small(sequence: Codes) -> Tokens:
    """The sequence renumbered from 0 in as few bits as hold it: 16 bits compare four times faster than 64."""
    distinct, codes = np.unique(sequence, return_inverse=True)
    return codes.reshape(-1).astype(np.uint16 if len(distinct) <= 1 << 16 else np.uint32)


def _reach(tokens: Tokens) -> Places:
    """For each period from 1: at least as many kernels as its stretch can cover, 0 for none."""
    size = len(tokens)
    periods = np.arange(1, min(size // 2, max(_COMPARISONS // max(size, 1), _PERIODS)) + 1)
    same = np.fromiter((np.count_nonzero(tokens[p:] == tokens[:-p]) for p in periods), np.intp, len(periods))
    reach = np.minimum(same + periods + 2 * (periods // _ODD_SHARE), size)
    return np.where((same >= periods) & (reach * _COVER >= size), reach, 0)


def _covered(motif: Motif | None) -> int:
    return motif.repeats * motif.period - motif.first_differs - motif.last_differs if motif else 0


def _of_period(tokens: Tokens, period: int) -> Motif | None:
    """The best stretch of one period, if it covers enough."""
    differs = tokens[period:] != tokens[:-period]
    edges = np.concatenate([[-1], np.flatnonzero(differs), [len(differs)]])
    runs = np.flatnonzero(np.diff(edges) > period)
    if not len(runs):
        return None
    before = np.concatenate([[0], np.cumsum(differs)])
    options = [_in_run(before, int(edges[run]) + 1, int(edges[run + 1]), period) for run in runs]
    fewer, odd, first, start = min(options)
    rest_after = len(tokens) - start + fewer * period
    motif = Motif(period, -fewer, start, start, rest_after, first, odd - first)
    return motif if _covered(motif) * min(-fewer, _COVER) >= len(tokens) else None


def _in_run(before: Places, begin: int, end: int, period: int) -> tuple[int, int, int, int]:
    """The best stretch whose equal neighbours lie in one run of matches.

    Args:
        before: number of mismatches before each place; a match at i says that kernel i + period equals kernel i.
        begin, end: the run, at least one period long.

    Returns:
        Blocks (negative: more is less), kernels that differ at either end, those of them in the first block, its place.
    """
    start = np.arange(begin, min(begin + period, end - period + 1))
    equal = (end - start) // period
    stop = start + equal * period
    first, has_first = _odd_block(before, start - period, period)
    last, has_last = _odd_block(before, stop, period)
    blocks = 1 + equal + has_first + has_last
    begins = start - period * has_first
    odd = first + last
    best = np.lexsort([begins, first, odd, -blocks])[0]
    return -int(blocks[best]), int(odd[best]), int(first[best]), int(begins[best])


def _odd_block(before: Places, at: Places, period: int) -> tuple[Places, Places]:
    """Mismatches between the block at each place and the next, where they are few enough to count it as one: else 0 and no."""
    inside = (at >= 0) & (at + period < len(before))
    place = np.where(inside, at, 0)
    differing = before[np.minimum(place + period, len(before) - 1)] - before[place]
    near = inside & (differing <= period // _ODD_SHARE)
    return np.where(near, differing, 0), near.astype(np.intp)
