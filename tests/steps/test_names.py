"""What the name of a step's range says."""

from __future__ import annotations

import re

import pytest

from kerntrace.steps.names import KERNTRACE, VLLM, StepName, read_step_name


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("execute_context_0(0)_generation_4(4)", StepName("decode", 4)),
        ("execute_context_0(0)_generation_0(0)", StepName("empty")),
        ("execute_context_2(1024)_generation_0(0)", StepName("prefill", None, 1024)),
        ("execute_context_1(7)_generation_3(3)", StepName("mixed", None, 7)),
        ("execute_7_context_0(sq0sk0)_generation_4(sq4sk2052)", StepName("decode", 4)),
        ("execute_1024_context_1(sq1020sk1020sqsq1)_generation_4(sq4sk2052)", StepName("mixed", None, 1020)),
        ("gpu_model_runner: execute_context_0(0)_generation_16(16) #3", StepName("decode", 16)),
        ("kerntrace.step decode=4 prefill=0 prefill_tokens=0", StepName("decode", 4)),
        ("kerntrace.step prefill=1 prefill_tokens=512 decode=0", StepName("prefill", None, 512)),
        ("kerntrace.step decode=3 prefill=1 prefill_tokens=9", StepName("mixed", None, 9)),
        ("kerntrace.step", StepName("empty")),
        ("kerntrace.step decode=2 later=5", StepName("decode", 2)),
        ("forward", StepName("unknown")),
        ("", StepName("unknown")),
        ("execute_context_0(0)_generation_", StepName("unknown")),
        ("execute_context_-1(0)_generation_1(1)", StepName("unknown")),
        ("execute_context_99999999999(0)_generation_1(1)", StepName("unknown")),
        ("kerntrace.step decode=four", StepName("unknown")),
        ("kerntrace.steps decode=4", StepName("unknown")),
    ],
)
def test_known_forms(name: str, said: StepName) -> None:
    assert read_step_name(name) == said


@pytest.mark.parametrize(
    ("pattern", "name", "said"),
    [
        (r"decode bs=(?P<batch>\d+)", "decode bs=8", StepName("decode", 8)),
        (r"bs=(?P<batch>\d+)", "warmup bs=8 run", StepName("decode", 8)),
        (r"pre (?P<prefill_tokens>\d+)", "pre 77", StepName("prefill", None, 77)),
        (r"(?P<prefill_tokens>\d+)\+(?P<batch>\d+)", "77+3", StepName("mixed", None, 77)),
        (r"(?P<prefill_tokens>\d+)\+(?P<batch>\d+)", "0+3", StepName("decode", 3)),
        (r"(?P<batch>\w+)", "many", StepName("unknown")),
        (r"(?P<batch>\d+)", "12345678901234567890", StepName("unknown")),
        (r"step(?P<batch>\d+)?", "step", StepName("unknown")),
        (r"step", "step 5", StepName("unknown")),
        (r".*", "execute_context_0(0)_generation_4(4)", StepName("decode", 4)),
    ],
)
def test_a_users_own_pattern_may_name_groups(pattern: str, name: str, said: StepName) -> None:
    assert read_step_name(name, re.compile(pattern)) == said


@pytest.mark.parametrize("form", [KERNTRACE, VLLM])
def test_hostile_names_do_not_take_long(form: re.Pattern[str]) -> None:
    """Each of these would take minutes if the form could be matched in many ways."""
    for name in ("kerntrace.step" + " a=1" * 100_000 + "!", "execute_context_1(" + "sq" * 200_000, "execute_" * 100_000):
        assert form.search(name) is None
