"""Host intervals on the threads of API calls, and how much of them a host table covers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.recording import Recording

from kerntrace.accounting.threads import covered, line_of, overlap
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints, Table

THREADS = [(7, 70), (7, 71), (8, 70), (7, None), (None, 70)]

asked_intervals = st.lists(st.tuples(st.sampled_from(THREADS), st.integers(0, 40), st.integers(0, 15)), min_size=1, max_size=6)
covers = st.lists(st.tuples(st.sampled_from([*THREADS, (9, 9)]), st.integers(0, 45), st.integers(0, 15)), max_size=8)

Covers = list[tuple[tuple[int | None, int | None], int, int]]


def built(intervals: Covers, covering: Covers, first: int) -> Trace:
    """A call for each interval, on its thread, and an overhead row for each cover."""
    made = Recording()
    made.kernel(first, first + 100)
    for n, ((pid, tid), _, _) in enumerate(intervals):
        made.call(first + n, first + n + 1, n + 1, pid=pid, tid=tid)
    for (pid, tid), start, length in covering:
        made.overhead(first + start, first + start + length, pid=pid, tid=tid)
    return made.build()


def overlaps(trace: Trace, start: Ints, end: Ints, table: Table) -> list[int]:
    """How much of each interval, of the call of the same number, a table's rows cover."""
    call = np.arange(len(start), dtype=np.int32) % len(trace.api_calls)
    line = line_of(trace, call, int(start.min()), int(end.max()))
    found: list[int] = overlap(line, call, start, end, covered(line, table)).tolist()
    return found


@given(asked_intervals, covers)
def test_overlap_counts_every_nanosecond_of_the_same_thread_once(intervals: Covers, covering: Covers) -> None:
    trace = built(intervals, covering, 1_000)
    start, end = (np.array([s + extra * length for _, s, length in intervals], np.int64) for extra in (0, 1))
    found = overlaps(trace, start, end, trace.overheads)
    for (thread, begin, length), total in zip(intervals, found):
        own = [range(s, s + n) for t, s, n in covering if t == thread]
        assert total == sum(any(ns in part for part in own) for ns in range(begin, begin + length))


def test_nothing_there() -> None:
    trace = built([((7, 70), 0, 5)], [], 1_000)
    assert overlaps(trace, np.array([0]), np.array([5]), trace.overheads) == [0]


def test_a_row_still_open_covers_all_that_follows() -> None:
    made = Recording()
    made.kernel(1_000, 1_001)
    made.call(1_000, 1_001, 1)
    made.range(1_004, None, "open")
    trace = made.build()
    assert overlaps(trace, np.array([0, 10]), np.array([8, 20]), trace.ranges) == [4, 10]


def test_threads_do_not_touch_where_they_meet_on_the_line() -> None:
    """A range of one thread that runs beyond what is asked about must not reach into the next thread's part."""
    made = Recording()
    made.kernel(1_000, 1_001)
    made.call(1_000, 1_001, 1, tid=1)
    made.call(1_001, 1_002, 2, tid=2)
    made.range(1_005, 9_999, "far", tid=1)
    made.range(1_005, None, "open", tid=1)
    trace = made.build()
    assert overlaps(trace, np.array([0, 0]), np.array([10, 10]), trace.ranges) == [5, 0]
