"""Random tiny recordings, as unruly as a recorder could leave them, for comparison with the per-nanosecond oracle."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.support.recording import Recording, decode_range, prefill_range

_SPAN = 80  # ns: the host's part of a recording
_STEPS = (*[decode_range(1)] * 6, decode_range(2), prefill_range(8), "execute_context_1(8)_generation_2(2)")
_EMPTY = "execute_context_0(0)_generation_0(0)"
_CALLS = ("cudaLaunchKernel", "cudaLaunchKernel", "cudaMemcpyAsync", "cudaGraphLaunch", "cudaMemcpy", "cuLaunchKernel")
_ROWS = (*["step"] * 2, *["launch"] * 5, "range", "wait", "overhead")


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """A recording of one device and one process, two threads, two streams.

    Host rows begin at distinct times, so that "launched first" and "begun last" leave no choice; everything else may coincide.
    Device work is queued on its stream as on a real device, or starts any time after its call, or any time at all.
    """
    times = draw(st.lists(st.integers(1, _SPAN), min_size=12, max_size=20, unique=True).map(sorted))
    rows = draw(st.lists(st.sampled_from(_ROWS), min_size=len(times), max_size=len(times)))
    made = _Made(draw(st.sampled_from(["queued", "queued", "queued", "after its call", "any time"])))
    made.last_id = draw(st.sampled_from([0, 10**12, 2**62]))
    for start, row in zip(times, ["step", *rows[1:]]):
        tid = draw(st.sampled_from([70, 70, 70, 71]))
        end = start + draw(st.integers(0, 12))
        if row == "step":
            made.range(start, draw(_or_open(end + 10)), draw(st.sampled_from((*_STEPS, _EMPTY))), tid=tid)
        elif row == "range":
            made.range(start, draw(_or_open(end + draw(st.integers(0, 20)))), draw(st.sampled_from("abc")), tid=tid)
        elif row == "wait":
            made.call(start, draw(_or_open(end)), None, "cudaStreamSynchronize", tid=tid)
        elif row == "overhead":
            made.overhead(start, end, tid=tid)
        else:
            _launch(draw, made, start, end, tid)
    if draw(st.integers(0, 3)) == 0:  # work whose launch is not on record
        start = draw(st.integers(1, _SPAN))
        made.kernel(start, start + draw(st.integers(0, 6)), draw(st.sampled_from([None, 9])))
    return made


class _Made(Recording):
    """A recording, with what a device would know of its streams."""

    def __init__(self, when: str) -> None:
        super().__init__()
        self.when = when
        self.free = {7: 0, 8: 0}
        self.last_id = 0


def _or_open(end: int) -> st.SearchStrategy[int | None]:
    return st.sampled_from([end, end, end, None])


def _launch(draw: st.DrawFn, made: _Made, start: int, end: int, tid: int) -> None:
    """A call, perhaps with the driver call inside it, and what it launched: nothing, one operation or several."""
    function = draw(st.sampled_from(_CALLS))
    made.last_id += draw(st.sampled_from([1, 1, 5, 10**6]))
    id = made.last_id
    made.call(start, None if end % 16 == 0 else end, id, function, tid=tid)
    if function == "cudaLaunchKernel" and draw(st.booleans()):
        inner = draw(st.integers(start, end))
        made.call(inner, draw(st.integers(inner, end)), id, "cuLaunchKernel", tid=tid)
    several = function == "cudaGraphLaunch"
    for node in range(draw(st.sampled_from([3, 2, 1, 0] if several else [1, 1, 1, 1, 0]))):
        more: dict[str, Any] = {"stream_id": draw(st.sampled_from([7, 7, 7, 8]))}
        if several:
            more |= {"graph_id": 5, "graph_node_id": (5 << 32) + node}
        begin = draw(_begins(made, start, more["stream_id"]))
        finish = begin + draw(st.integers(0, 9))
        made.free[more["stream_id"]] = finish
        if "Memcpy" in function or (several and begin % 5 == 0):
            made.memop(begin, finish, id, **more)
        else:
            made.kernel(begin, finish, id, draw(st.sampled_from("kl")), **more)


def _begins(made: _Made, call: int, stream: int) -> st.SearchStrategy[int]:
    if made.when == "any time":
        return st.integers(1, _SPAN)
    earliest = max(call, made.free[stream]) if made.when == "queued" else call
    return st.integers(earliest, earliest + 9)
