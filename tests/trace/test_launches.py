"""The join of device work to its launch call, against a search through all calls."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.recording import Recording

from kerntrace.trace.launches import join_launches
from kerntrace.trace.model import Trace

some_ids = st.sampled_from([None, 1, 2, 3, 4, 10**6, 2**40, 2**63 - 1, -1, -(2**63)])
some_pids = st.sampled_from([1, 1, 2, None])
records = st.lists(st.tuples(some_pids, some_ids), max_size=10)
calls = st.lists(st.tuples(some_pids, some_ids, st.integers(1, 9), st.integers(0, 5)), max_size=10)


def built(made_calls: list[tuple[int | None, int | None, int, int]], *device: list[tuple[int | None, int | None]]) -> Trace:
    made = Recording()
    for pid, id, start, length in made_calls:
        made.call(start, start + length, id, pid=pid)
    for add, found in zip((made.kernel, made.memop), device):
        for at, (pid, id) in enumerate(found):
            add(20 + at, 30 + at, id, pid=pid)
    return made.build()


def first_with(trace: Trace, pid: int | None, id: int | None) -> int:
    found = zip(trace.api_calls.arrow("pid").to_pylist(), trace.api_calls.arrow("correlation_id").to_pylist())
    return next((row for row, key in enumerate(found) if key == (pid, id)), -1) if id is not None else -1


@given(calls, records, records)
def test_every_operation_finds_the_first_call_of_its_process_with_its_id(
    made_calls: list[tuple[int | None, int | None, int, int]],
    kernels: list[tuple[int | None, int | None]],
    memops: list[tuple[int | None, int | None]],
) -> None:
    trace = built(made_calls, kernels, memops)
    launches = join_launches(trace)
    for table, found in ((trace.kernels, launches.of_kernels), (trace.memops, launches.of_memops)):
        keys = zip(table.arrow("pid").to_pylist(), table.arrow("correlation_id").to_pylist())
        assert found.tolist() == [first_with(trace, pid, id) for pid, id in keys]
    keys = zip(trace.api_calls.arrow("pid").to_pylist(), trace.api_calls.arrow("correlation_id").to_pylist())
    outer = [first_with(trace, pid, id) if id is not None else row for row, (pid, id) in enumerate(keys)]
    assert launches.outer.tolist() == outer
    assert launches.is_outermost.tolist() == [row == own for row, own in enumerate(outer)]


@given(st.permutations(range(1, 9)), st.integers(2, 2**59))
def test_ids_far_apart_join_as_dense_ones_do(order: list[int], factor: int) -> None:
    made: list[tuple[int | None, int | None, int, int]] = [(1, id, at + 1, 1) for at, id in enumerate(order)]
    dense = join_launches(built(made, [(1, id) for id in range(1, 9)]))
    sparse = join_launches(built([(p, i and i * factor, *t) for p, i, *t in made], [(1, id * factor) for id in range(1, 9)]))  # type: ignore[misc]
    assert np.array_equal(dense.of_kernels, sparse.of_kernels)
    assert sorted(dense.of_kernels) == list(range(8))


def test_of_a_nested_pair_the_outermost_is_the_launch() -> None:
    made = Recording()
    made.call(12, 18, 5, "cuLaunchKernel")
    made.call(10, 20, 5, "cudaLaunchKernel")
    made.call(30, 40, 6, "cuLaunchKernel")  # same times: the runtime's is the outer
    made.call(30, 40, 6, "cudaLaunchKernel")
    made.kernel(50, 60, 5)
    made.kernel(60, 70, 6)
    trace = made.build()
    names = [trace.api_calls.names("name").text(int(row)) for row in join_launches(trace).of_kernels]
    assert names == ["cudaLaunchKernel", "cudaLaunchKernel"]


def test_ids_of_two_processes_do_not_meet() -> None:
    made = Recording()
    made.call(10, 20, 5, pid=1)
    made.call(11, 20, 5, pid=2)
    made.kernel(50, 60, 5, pid=2)
    made.kernel(60, 70, 5, pid=3)
    assert join_launches(made.build()).of_kernels.tolist() == [1, -1]


def test_a_trace_without_calls_or_without_work() -> None:
    made = Recording()
    made.kernel(50, 60, 5)
    assert join_launches(made.build()).of_kernels.tolist() == [-1]
    made = Recording()
    made.call(50, 60, 5)
    launches = join_launches(made.build())
    assert launches.of_kernels.tolist() == []
    assert launches.outer.tolist() == [0]
