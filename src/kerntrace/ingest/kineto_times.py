"""Decimal microseconds, as JSON writes them, in whole nanoseconds. Room: ingest.

A trace's absolute microseconds have sixteen digits and more, whose third decimal a double cannot hold; so they are read from
their text. What is finer than a nanosecond is rounded to the nearest, half to even.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kerntrace.trace.table import Ints, Mask

_ENDS = np.iinfo(np.int64)
_EXACT = Context(prec=60)
_NANOSECOND = Decimal("0.001")
_DIGITS = 40  # numbers of more digits before or after the point are cut short: they are beyond int64 or below a nanosecond


class NotATimeError(ValueError):
    """A token is not a number; `index` says which."""

    def __init__(self, index: int) -> None:
        super().__init__(f"token {index} is not a number")
        self.index = index


def nanoseconds(tokens: Sequence[msgspec.Raw]) -> tuple[Ints, Mask]:
    """Nanoseconds of JSON numbers that are microseconds, and where there are any.

    A token that is empty or null is 0 and invalid. A time beyond int64 becomes the end of int64.

    Raises:
        NotATimeError: if a token is anything else than a number.
    """
    texts = b",".join(tokens).split(b",")
    if len(texts) == len(tokens):  # no token holds a comma
        with suppress(pa.ArrowInvalid):
            return _unscaled(_thousandths(pa.array(texts))), np.ones(len(tokens), bool)
        with suppress(pa.ArrowInvalid):
            return _unscaled(_rounded(pa.array(texts))), np.ones(len(tokens), bool)
    texts = [bytes(token) for token in tokens]
    times = np.array([_nanoseconds(text, index) for index, text in enumerate(texts)], np.int64)
    return times, np.array([text not in (b"", b"null") for text in texts], bool)


def ends(start: Ints, duration: Ints) -> Ints:
    """`start + duration`, which stays at the end of int64 where it would leave it."""
    end = start + duration
    end[(duration > 0) & (end < start)] = _ENDS.max
    end[(duration < 0) & (end > start)] = _ENDS.min
    return end


def _thousandths(texts: pa.Array) -> pa.Array:
    """Numbers of at most three decimals, which is what profilers write; ArrowInvalid if one has more."""
    return texts.cast(pa.string()).cast(pa.decimal128(38, 3))


def _rounded(texts: pa.Array) -> pa.Array:
    """Numbers of at most eighteen decimals, rounded to three; ArrowInvalid if one has more."""
    fine = pc.round(texts.cast(pa.string()).cast(pa.decimal128(38, 18)), ndigits=3, round_mode="half_to_even")
    return fine.cast(pa.decimal128(38, 3))


def _unscaled(decimals: pa.Array) -> Ints:
    """Thousands of the numbers: the integers that Arrow keeps them as, from 128 bits to 64."""
    words: npt.NDArray[np.int64] = np.frombuffer(decimals.buffers()[1], np.int64, 2 * len(decimals)).reshape(-1, 2)
    low, high = words[:, 0], words[:, 1]
    fits = high == low >> 63
    held: Ints = np.where(fits, low, np.where(high < 0, _ENDS.min, _ENDS.max))
    return held


def _nanoseconds(text: bytes, index: int) -> int:
    if text in (b"", b"null"):
        return 0
    try:
        value = Decimal(text.decode())
    except (InvalidOperation, UnicodeDecodeError):
        raise NotATimeError(index) from None
    if not value.is_finite():
        raise NotATimeError(index)
    if not value or value.adjusted() < -_DIGITS:  # before the exponent is written out as zeros
        return 0
    if value.adjusted() > _DIGITS:
        return _ENDS.min if value < 0 else _ENDS.max
    thousandths = int(value.quantize(_NANOSECOND, ROUND_HALF_EVEN, _EXACT).scaleb(3, _EXACT))
    return min(max(thousandths, _ENDS.min), _ENDS.max)
