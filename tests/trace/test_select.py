"""One device and one process of a trace."""

from __future__ import annotations

import pytest
from tests.support.recording import Recording

from kerntrace.errors import UsageError
from kerntrace.trace.launches import join_launches
from kerntrace.trace.model import devices, pids
from kerntrace.trace.select import select


def two_of_each() -> Recording:
    """A launch for each of two devices in each of two processes, one graph on both, and a call that launches nothing."""
    made = Recording()
    for pid in (1, 2):
        made.pid = pid
        for device in (0, 1):
            made.call(10 * device + pid, 10 * device + pid + 2, 1 + device)
            made.call(10 * device + pid + 1, 10 * device + pid + 2, 1 + device, "cuLaunchKernel")
            made.kernel(100, 110, 1 + device, f"k{pid}{device}", device_id=device)
        made.call(30, 31, 8, "cudaGraphLaunch")
        made.kernel(120, 130, 8, "both", device_id=0)
        made.memop(120, 130, 8, device_id=1)
        made.call(40, 41, None, "cudaEventRecord")
        made.range(1, 2, "r")
    return made


def test_nothing_asked_gives_the_trace_itself() -> None:
    trace = two_of_each().build()
    assert select(trace) is trace


def test_a_device_keeps_its_work_and_loses_the_calls_of_the_others() -> None:
    trace = select(two_of_each().build(), device=1)
    assert devices(trace).tolist() == [1]
    assert sorted(trace.kernels.arrow("name").to_pylist()) == ["k11", "k21"]
    assert len(trace.memops) == 2
    ids = trace.api_calls.arrow("correlation_id").to_pylist()
    # a nested pair for device 1 and the graph, in each process; what launched nothing stays
    assert sorted(i for i in ids if i is not None) == [2, 2, 2, 2, 8, 8]
    assert ids.count(None) == 2
    assert len(trace.ranges) == 2


def test_a_process_on_a_device() -> None:
    trace = select(two_of_each().build(), device=0, pid=2)
    assert trace.kernels.arrow("name").to_pylist() == ["k20", "both"]
    assert len(trace.memops) == 0
    assert pids(trace).tolist() == [2]
    launches = join_launches(trace)
    assert (launches.of_kernels >= 0).all()
    assert set(trace.api_calls.ints("pid")[launches.of_kernels].tolist()) == {2}


def test_work_on_an_unknown_device_can_be_asked_for() -> None:
    made = Recording()
    made.kernel(1, 2, device_id=None)
    made.kernel(3, 4, device_id=0)
    assert len(select(made.build(), device=0).kernels) == 1


@pytest.mark.parametrize(
    ("asked", "there"), [({"device": 7}, "0, 1"), ({"pid": 70}, "1, 2"), ({"device": 0, "pid": 3}, "1, 2")]
)
def test_what_did_not_run_is_refused_with_what_did(asked: dict[str, int], there: str) -> None:
    with pytest.raises(UsageError) as caught:
        select(two_of_each().build(), **asked)
    assert there in caught.value.hint


def test_an_empty_trace_has_no_device() -> None:
    with pytest.raises(UsageError, match="device 0"):
        select(Recording().build(), device=0)
