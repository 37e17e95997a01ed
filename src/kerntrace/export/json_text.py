"""JSON written a column at a time: Arrow joins the texts of a row's parts, far faster than one by one. Room: export."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kerntrace.trace.table import Ints, Mask, Names

Part = Any  # one text for all rows, or an Arrow array of a text a row

_THOUSANDTHS = pa.array([f".{n:03d}" for n in range(1000)], pa.large_string())
_EMPTY = pa.scalar("", pa.large_string())


def quoted(text: str) -> str:
    """A text as JSON, in quotes, with everything escaped that could end it or the script around it."""
    escaped = msgspec.json.encode(text).decode()
    return escaped.replace("\x7f", "\\u007f").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def joined(parts: Sequence[Part]) -> pa.Array:
    """Each row's parts, one after another."""
    typed = [part if isinstance(part, pa.Array) else pa.scalar(part, pa.large_string()) for part in parts]
    return pc.binary_join_element_wise(*typed, _EMPTY)


def bytes_of(rows: pa.Array) -> memoryview:
    """All rows, one after another: the bytes that Arrow keeps them in."""
    if not len(rows):
        return memoryview(b"")
    offsets = np.frombuffer(rows.buffers()[1], np.int64)[rows.offset : rows.offset + len(rows) + 1]
    return memoryview(rows.buffers()[2])[offsets[0] : offsets[-1]]


def whole(numbers: Ints) -> pa.Array:
    """Integers as text."""
    return pa.array(numbers).cast(pa.large_string())


def microseconds(ns: Ints) -> pa.Array:
    """Non-negative nanoseconds as decimal microseconds, exact."""
    return joined([whole(ns // 1000), _THOUSANDTHS.take(pa.array(ns % 1000))])


class TextColumn:
    """A text column whose distinct values were made fit for JSON once.

    Args:
        form: makes JSON of a value.
        null: JSON where a row has none.
    """

    def __init__(self, names: Names, null: str, form: Callable[[str], str] = quoted) -> None:
        values = [form(value) for value in names.values]
        self._dictionary = pa.array([*values, null], pa.large_string())
        self._codes = np.where(names.codes < 0, len(values), names.codes)
        self.longest = max(map(len, [*values, null]))

    def rows(self, part: slice) -> pa.Array:
        return self._dictionary.take(pa.array(self._codes[part]))

    def taken(self, rows: npt.NDArray[np.intp]) -> pa.Array:
        return self._dictionary.take(pa.array(self._codes[rows]))


def field(name: str, numbers: Ints, known: Mask) -> pa.Array:
    """`,"name":number`, or nothing where it is not known."""
    rows = joined([f",{quoted(name)}:", whole(numbers)])
    return rows if known.all() else pc.if_else(pa.array(known), rows, _EMPTY)
