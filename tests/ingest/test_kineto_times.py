"""Decimal microseconds become whole nanoseconds exactly; what is finer is rounded half to even; nothing overflows."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.ingest.kineto_times import NotATimeError, ends, nanoseconds

LOW, HIGH = -(2**63), 2**63 - 1

digits = st.text("0123456789", min_size=1, max_size=25)
decimals = st.builds(
    lambda sign, whole, part, power: f"{sign}{int(whole)}{part}{power}",
    st.sampled_from(["", "-"]),
    digits,
    st.just("") | digits.map(".{}".format) | st.sampled_from([".0005", ".0015", ".00050000000000000000001", ".0004999"]),
    st.just("") | st.integers(-45, 45).map("e{:+d}".format) | st.integers(0, 9).map("E{}".format),
)
micros = st.builds("{}.{:03d}".format, st.integers(0, 10**16), st.integers(0, 999))  # what profilers write


def tokens(*texts: str) -> list[msgspec.Raw]:
    return [msgspec.Raw(text.encode()) for text in texts]


def expected(text: str) -> int:
    return min(max(round(Fraction(text) * 1000), LOW), HIGH)  # Python rounds a Fraction half to even


@given(st.lists(decimals | micros, min_size=1, max_size=20))
def test_any_numbers_together_are_exact(texts: list[str]) -> None:
    times, valid = nanoseconds(tokens(*texts))

    assert times.tolist() == [expected(text) for text in texts]
    assert valid.all()


@given(st.lists(micros, min_size=1, max_size=20))
def test_what_profilers_write_is_exact(texts: list[str]) -> None:
    assert nanoseconds(tokens(*texts))[0].tolist() == [expected(text) for text in texts]


def test_a_third_decimal_that_a_double_cannot_hold_is_kept() -> None:
    assert nanoseconds(tokens("1796067426009184.123"))[0].tolist() == [1_796_067_426_009_184_123]


def test_digits_that_a_tool_added_when_it_printed_a_double_are_rounded_off() -> None:
    assert nanoseconds(tokens("123.45600000001", "123.45599999999999"))[0].tolist() == [123_456, 123_456]


def test_a_missing_number_is_told_from_a_zero() -> None:
    times, valid = nanoseconds(tokens("", "0", "null", "1"))

    assert times.tolist() == [0, 0, 0, 1000]
    assert valid.tolist() == [False, True, False, True]
    assert [len(part) for part in nanoseconds([])] == [0, 0]


@pytest.mark.parametrize("power", ["999999999999", "-999999999999"])
def test_an_exponent_beyond_reason_costs_no_memory(power: str) -> None:
    times, _ = nanoseconds(tokens(f"1e{power}", f"-1e{power}"))

    assert times.tolist() == ([HIGH, LOW] if power[0] != "-" else [0, 0])


@pytest.mark.parametrize("text", ['"5"', "[1,2]", "[]", "{}", "true", '"a,b"', '"\xff"'])
def test_what_is_no_number_is_named_by_its_place(text: str) -> None:
    with pytest.raises(NotATimeError) as raised:
        nanoseconds(tokens("1", "2.5", text, "3"))

    assert raised.value.index == 2


bounds = st.integers(LOW, HIGH) | st.sampled_from([LOW, -1, 0, 1, HIGH])


@given(st.lists(st.tuples(bounds, bounds), min_size=1, max_size=20))
def test_an_end_beyond_int64_stays_at_its_edge(pairs: list[tuple[int, int]]) -> None:
    start, duration = (np.array(column, np.int64) for column in zip(*pairs))

    assert ends(start, duration).tolist() == [min(max(s + d, LOW), HIGH) for s, d in pairs]
