"""Which step owns which work: by launch call and never by a CPU window."""

from __future__ import annotations

import numpy as np
from tests.support.pipeline import Account, account_of
from tests.support.recording import Playing, Recording, decode_range


def account(recording: Recording) -> Account:
    found = account_of(recording.build())
    assert found is not None
    return found


def test_work_belongs_to_the_step_that_launched_it_however_late_it_runs() -> None:
    """The host runs ahead: every kernel runs inside the next step's range, or after all of them."""
    play = Playing()
    play.free[7] = 5_000
    for step in range(4):
        with play.within(decode_range(1)):
            for n in range(step + 1):
                play.launch(f"k{n}", 1_000)
    made = account(play)
    assert made.steps.kernels.tolist() == [1, 2, 3, 4]
    assert made.ledger.wall.tolist()[:3] == [1_000, 2_000, 3_000]


def test_a_call_that_begins_with_the_step_belongs_to_it() -> None:
    made = Recording()
    made.range(100, 200, decode_range(1))
    made.range(200, 300, decode_range(1))
    for id, call in enumerate((99, 100, 199, 200), 1):
        made.call(call, call + 5, id)
        made.kernel(1_000 + call, 1_001 + call, id)
    assert account(made).steps.kernels.tolist() == [2, 1]


def test_calls_after_a_steps_range_belong_to_it_until_the_next_begins() -> None:
    made = Recording()
    made.range(100, 110, decode_range(1))
    made.range(200, 210, decode_range(1))
    made.call(150, 160, 1)
    made.kernel(300, 310, 1)
    assert account(made).steps.kernels.tolist() == [1, 0]


def test_work_without_a_launch_on_record_belongs_to_no_step() -> None:
    made = Recording()
    made.range(100, 110, decode_range(1))
    made.call(150, 160, 1)
    made.kernel(300, 310, 2)
    made.kernel(310, 320, None)
    assert account(made).steps.operations.tolist() == [0]
    assert account(made).steps.owner.tolist() == [-1, -1]


def test_a_nested_pair_is_one_launch_and_calls_without_an_id_count_each() -> None:
    made = Recording()
    made.range(10, 20, decode_range(1))
    made.call(30, 40, 1)
    made.call(32, 38, 1, "cuLaunchKernel")
    made.call(50, 60, None)
    made.call(60, 70, 2, "cudaGraphLaunch")
    made.call(62, 68, 2, "cuGraphLaunch")
    made.call(80, 90, 3, "cudaMemcpyAsync")
    made.call(91, 95, 9, pid=8)  # of a process that runs nothing on the device
    for id in (1, 2):
        made.kernel(100, 110, id)
    made.memop(100, 110, 3)
    steps = account(made).steps
    assert (steps.launches.tolist(), steps.graph_launches.tolist()) == ([3], [1])
    assert (steps.kernels.tolist(), steps.operations.tolist()) == ([2], [3])


def test_the_window_closes_at_the_next_step_that_owns_work() -> None:
    made = Recording()
    for step in range(4):
        made.range(100 * step + 1, 100 * step + 2, decode_range(1))
    for id, (call, start, end) in enumerate([(10, 50, 60), (11, 55, 58), (310, 350, 390), (311, 360, 370)], 1):
        made.call(call, call + 1, id)
        made.kernel(start, end, id)
    steps = account(made).steps
    assert steps.complete.tolist() == [True, False, False, False]
    first = steps.window_begin[0]
    assert steps.window_end[0] - first == 300
    assert (steps.window_begin[3] - first, steps.window_end[3] - first) == (300, 340)  # to its own last operation's end


def test_the_last_operation_to_end_need_not_be_the_last_to_start() -> None:
    made = Recording()
    made.range(1, 2, decode_range(1))
    for id, (start, end) in enumerate([(50, 500), (60, 70)], 1):
        made.call(10 + id, 11 + id, id)
        made.kernel(start, end, id, stream_id=id)
    assert account(made).ledger.wall.tolist() == [450]


def test_equal_kernels_give_equal_signatures_whatever_their_order() -> None:
    play = Playing()
    for names in ("abc", "cab", "abd", "abcc", "abc"):
        with play.within(decode_range(1)):
            for name in names:
                play.launch(name, 10)
    signature = account(play).steps.signature
    assert signature[0] == signature[1] == signature[4]
    assert len(np.unique(signature)) == 3


def test_two_ranges_that_begin_together_leave_the_first_empty() -> None:
    made = Recording()
    made.range(10, 90, decode_range(1))
    made.range(10, 50, decode_range(2))
    made.call(20, 30, 1)
    made.kernel(100, 110, 1)
    found = account(made)
    assert found.steps.boundaries.batch.tolist() == [1, 2]
    assert found.steps.kernels.tolist() == [0, 1]
