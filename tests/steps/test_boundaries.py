"""Where steps begin on the host: whose ranges count, and in which order they are looked for."""

from __future__ import annotations

import pytest
from tests.support.recording import Recording, decode_range, prefill_range

from kerntrace.errors import KerntraceError, UsageError
from kerntrace.steps.boundaries import Boundaries, compile_pattern, find_ranges, some_names
from kerntrace.steps.names import KINDS


def found(made: Recording, pattern: str | None = None) -> Boundaries:
    boundaries = find_ranges(made.build(), compile_pattern(pattern) if pattern is not None else None)
    assert boundaries is not None
    return boundaries


def with_work() -> Recording:
    made = Recording()
    made.kernel(0, 1)
    made.kernel(1000, 1001)
    return made


def test_ranges_in_order_of_time_with_what_they_say() -> None:
    made = with_work()
    made.range(500, 600, decode_range(4))
    made.range(100, 200, prefill_range(64))
    made.range(300, None, "execute_context_1(8)_generation_2(2)")
    made.range(700, 800, "execute_context_0(0)_generation_0(0)")
    made.range(150, 160, "forward")
    boundaries = found(made)
    assert boundaries.method == "vllm"
    assert boundaries.begins.tolist() == [100, 300, 500, 700]
    assert [KINDS[k] for k in boundaries.kind] == ["prefill", "mixed", "decode", "empty"]
    assert boundaries.batch.tolist() == [-1, -1, 4, -1]
    assert boundaries.prefill_tokens.tolist() == [64, 8, -1, -1]
    assert boundaries.on_host


def test_kerntraces_own_ranges_come_before_vllms_and_the_users_before_both() -> None:
    made = with_work()
    made.range(100, 200, decode_range(4))
    assert found(made).method == "vllm"
    made.range(110, 190, "kerntrace.step decode=5 prefill=0 prefill_tokens=0")
    assert (found(made).method, found(made).begins.tolist(), found(made).batch.tolist()) == ("kerntrace", [110], [5])
    made.range(120, 130, "mine 6")
    own = found(made, r"^mine (?P<batch>\d+)$")
    assert (own.method, own.begins.tolist(), own.batch.tolist()) == ("regex", [120], [6])


def test_no_step_range_is_none() -> None:
    made = with_work()
    made.range(100, 200, "forward")
    made.range(300, 400, None)
    assert find_ranges(made.build(), None) is None
    assert find_ranges(with_work().build(), None) is None


def test_ranges_of_the_process_that_ran_the_work_count() -> None:
    made = with_work()
    made.range(100, 200, decode_range(4))
    made.range(150, 250, decode_range(9), pid=8)
    assert found(made).batch.tolist() == [4]
    assert found(made, "generation").batch.tolist() == [4]


def test_where_the_working_process_has_none_those_of_another_count() -> None:
    made = with_work()
    made.range(150, 250, decode_range(9), pid=8)
    assert found(made).batch.tolist() == [9]


def test_a_pattern_that_matches_nothing_names_some_ranges() -> None:
    made = with_work()
    for n in range(9):
        made.range(100 + n, 200, f"r{n % 6}")
    made.range(100, 200, "x" * 500)
    with pytest.raises(KerntraceError, match="no range matches --step-range 'nothing'") as caught:
        found(made, "nothing")
    assert "'r0'" in caught.value.hint
    assert len(caught.value.hint) < 400


def test_some_names_of_a_trace_without_ranges_says_so() -> None:
    assert "no ranges" in some_names(with_work().build())


@pytest.mark.parametrize("pattern", ["(", "[", "*", "(?P<1>x)", "a{99999999999}", "\\", "(" * 5000, "(?P<batch>a)(?P<batch>b)"])
def test_what_is_no_regular_expression_is_the_users_mistake(pattern: str) -> None:
    with pytest.raises(UsageError, match="not a regular expression") as caught:
        compile_pattern(pattern)
    assert "\n" not in caught.value.what


def test_an_empty_pattern_matches_every_named_range() -> None:
    made = with_work()
    made.range(100, 200, "a")
    made.range(300, 400, "b")
    made.range(500, 600, None)
    assert found(made, "").begins.tolist() == [100, 300]


def test_a_range_without_a_beginning_does_not_upset_the_others() -> None:
    made = with_work()
    made.range(100, 200, decode_range(4))
    made.range(None, 700, decode_range(4))
    made.range(500, 600, decode_range(4))
    assert found(made).begins.tolist() == [100, 500]
