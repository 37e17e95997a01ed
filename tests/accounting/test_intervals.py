"""Arithmetic of intervals, each function against loops over single nanoseconds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.accounting.intervals import Union, covered_before, gaps_of, gaps_within, meet, meet_in_groups, summed, union
from kerntrace.trace.table import Ints

Pairs = list[tuple[int, int]]

intervals = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda p: (p[0], p[0] + p[1])), max_size=12)
offsets = st.sampled_from([0, -1_000, 2**53 + 1, -(2**62)])


def arrays(pairs: Pairs, offset: int = 0) -> tuple[Ints, Ints]:
    table = np.array(pairs, np.int64).reshape(-1, 2) + offset
    return table[:, 0], table[:, 1]


def nanoseconds(pairs: Pairs) -> set[int]:
    return {t for start, end in pairs for t in range(start, end)}


def stretches(covered: set[int]) -> Pairs:
    """Maximal runs of consecutive numbers, as intervals."""
    begins = sorted(t for t in covered if t - 1 not in covered)
    ends = sorted(t + 1 for t in covered if t + 1 not in covered)
    return list(zip(begins, ends))


def pairs_of(start: Ints, end: Ints, offset: int = 0) -> Pairs:
    return list(zip((start - offset).tolist(), (end - offset).tolist()))


@given(intervals, offsets)
def test_union_covers_just_what_its_intervals_cover(pairs: Pairs, offset: int) -> None:
    pairs.sort()
    found = union(*arrays(pairs, offset))
    assert pairs_of(found.start, found.end, offset) == stretches(nanoseconds(pairs))
    for start, first in zip(found.start - offset, found.first):
        assert pairs[first][0] == start
        assert pairs[first][1] > start


@given(intervals, intervals, offsets)
def test_gaps_are_what_the_union_leaves_of_each_window(pairs: Pairs, windows: Pairs, offset: int) -> None:
    busy = union(*arrays(sorted(pairs), offset))
    covered = stretches(nanoseconds(pairs))
    asked = arrays(windows, offset)
    found = gaps_within(busy, *asked, *gaps_of(busy, *asked))
    for number, (begin, end) in enumerate(windows):
        mine = found.source == number
        expected = stretches(set(range(begin, end)) - nanoseconds(pairs))
        assert pairs_of(found.start[mine], found.end[mine], offset) == expected
        for stop, after in zip(found.end[mine] - offset, found.other[mine]):
            following = [n for n, (start, _) in enumerate(covered) if start >= stop]
            assert after == (following[0] if following else len(covered))


@given(intervals, intervals, offsets)
def test_meet_gives_every_overlap(pairs: Pairs, others: Pairs, offset: int) -> None:
    other = union(*arrays(sorted(others), offset))
    found = meet(*arrays(pairs, offset), other)
    covered = stretches(nanoseconds(others))
    met = {
        (mine, theirs, start, end)
        for mine, theirs, (start, end) in zip(
            found.source.tolist(), found.other.tolist(), pairs_of(found.start, found.end, offset)
        )
        if start < end
    }
    assert met == {
        (i, j, max(a, c), min(b, d))
        for i, (a, b) in enumerate(pairs)
        for j, (c, d) in enumerate(covered)
        if max(a, c) < min(b, d)
    }


@given(intervals, st.lists(st.integers(0, 3), min_size=60, max_size=60), intervals, offsets)
def test_meeting_in_groups_sums_what_meet_gives(pairs: Pairs, groups: list[int], others: Pairs, offset: int) -> None:
    mine = stretches(nanoseconds(pairs))
    group = np.array(groups[: len(mine)], np.intp)
    other: Union = union(*arrays(sorted(others), offset))
    stretch, grouped, length = meet_in_groups(*arrays(mine, offset), group, other)
    total = np.zeros((len(other.start), 4), np.int64)
    np.add.at(total, (stretch, grouped), length)
    for j, (c, d) in enumerate(stretches(nanoseconds(others))):
        for g in range(4):
            within = [set(range(a, b)) for (a, b), own in zip(mine, group) if own == g]
            assert total[j, g] == sum(len(part & set(range(c, d))) for part in within)


@given(intervals, st.lists(st.integers(-5, 60), max_size=8), offsets)
def test_covered_before_counts_overlapping_parts_each_time(pairs: Pairs, at: list[int], offset: int) -> None:
    start, end = arrays(pairs, offset)
    found = covered_before(start, end, np.array(at, np.int64) + offset)
    assert found.tolist() == [sum(t < time for a, b in pairs for t in range(a, b)) for time in at]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-(10**12), 10**12)), max_size=20))
def test_summed_adds_up_at_each_index(rows: list[tuple[int, int]]) -> None:
    index, value = (np.array([r[n] for r in rows], np.int64) for n in (0, 1))
    assert summed(index, value, 6).tolist() == [sum(v for i, v in rows if i == place) for place in range(6)]
