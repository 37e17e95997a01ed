"""Protobuf's wire format, a column at a time: the many packets of one kind that a trace has, written by NumPy. Room: export.

What is rare goes through the `perfetto` package's own classes; these are for slices and counters, of which there are millions.
A message is a sequence of fields, each a tag (number << 3 | wire type) and a value: a varint (type 0), eight bytes, the lowest
first (type 1), or a length and as many bytes (type 2). Specification: https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kerntrace.export.stretches import ragged
from kerntrace.trace.table import Mask

Numbers = npt.NDArray[np.uint64]
Sizes = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_VARINT, _EIGHT_BYTES, _LENGTH = 0, 1, 2  # wire types
_MORE = np.uint8(0x80)  # in a varint's byte: another follows
_STEPS = np.array([1 << bits for bits in range(7, 64, 7)], np.uint64)  # numbers from which a varint is a byte longer


class Field(Protocol):
    """Part of a message, of each of the rows."""

    @property
    def sizes(self) -> Sizes:
        """How many bytes it takes in each row; 0 where a row lacks it."""

    def put(self, out: Bytes, at: Sizes) -> None:
        """Write it, each row's from its place in `out`."""


@dataclass(frozen=True, slots=True)
class Constant:
    """The same bytes in each row, or in those of `rows`."""

    text: bytes
    sizes: Sizes

    def put(self, out: Bytes, at: Sizes) -> None:
        there = at if self.sizes.all() else at[self.sizes > 0]
        for place, byte in enumerate(self.text):
            out[there + place] = byte


@dataclass(frozen=True, slots=True)
class Varint:
    """A tag, if there is one, and a number as a varint."""

    tag: bytes
    values: Numbers
    sizes: Sizes

    def put(self, out: Bytes, at: Sizes) -> None:
        there = None if self.sizes.all() else np.flatnonzero(self.sizes)
        left, digits = self.values, self.sizes - len(self.tag)
        if there is not None:
            at, left, digits = at[there], left[there], digits[there]
        for byte in self.tag:
            out[at] = byte
            at = at + 1
        for place in range(int(digits.max(initial=0))):
            byte_of = left.astype(np.uint8)  # the lowest eight bits, of which seven are told
            last = digits == place + 1
            out[at] = np.where(last, byte_of, byte_of | _MORE)
            if last.any():
                going = np.flatnonzero(~last)
                at, left, digits = at[going], left[going], digits[going]
            at, left = at + 1, left >> np.uint64(7)


@dataclass(frozen=True, slots=True)
class Fixed64s:
    """In each row some numbers of eight bytes, each under the tag."""

    tag: bytes
    values: Numbers
    counts: Sizes
    sizes: Sizes

    def put(self, out: Bytes, at: Sizes) -> None:
        one = len(self.tag) + 8
        row, place = ragged(self.counts)
        begin = at[row] + place * one
        told = self.values.astype("<u8").view(np.uint8).reshape(-1, 8)
        for number, byte in enumerate(self.tag):
            out[begin + number] = byte
        for number in range(8):
            out[begin + len(self.tag) + number] = told[:, number]


@dataclass(frozen=True, slots=True)
class Message:
    """A message inside the message; where none of its fields is there, it is not there either."""

    head: Varint
    fields: tuple[Field, ...]
    sizes: Sizes

    def put(self, out: Bytes, at: Sizes) -> None:
        self.head.put(out, at)
        _put_all(self.fields, out, at + self.head.sizes)


def tag(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def varint(number: int) -> bytes:
    """One number, 0 or above, as a varint."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | int(_MORE))
        number >>= 7
    return bytes([*found, number])


def constant_field(number: int, value: int, rows: int, only: Mask | None = None) -> Constant:
    """A number that is the same in every row, or in those of `only`."""
    text = tag(number, _VARINT) + varint(value)
    return Constant(text, _where(only, np.full(rows, len(text), np.int64)))


def varint_field(number: int, values: npt.NDArray[np.integer], only: Mask | None = None) -> Varint:
    """A number in every row, or in those of `only`; negative ones as protobuf's int64 has them, 2**64 higher."""
    told = values.astype(np.uint64)
    head = tag(number, _VARINT)
    return Varint(head, told, _where(only, len(head) + _digits(told)))


def fixed64_fields(number: int, values: npt.NDArray[np.integer], counts: Sizes) -> Fixed64s:
    """A repeated number of eight bytes.

    Args:
        values: those of the first row, then of the second, and so on.
        counts: how many each row has.
    """
    head = tag(number, _EIGHT_BYTES)
    return Fixed64s(head, values.astype(np.uint64), counts, counts * (len(head) + 8))


def message_field(number: int, *fields: Field) -> Message:
    """A message inside each row's that has any of the fields."""
    body = sum((field.sizes for field in fields), np.zeros(1, np.int64))
    head_tag = tag(number, _LENGTH)
    length = body.astype(np.uint64)
    head = Varint(head_tag, length, _where(body > 0, len(head_tag) + _digits(length)))
    return Message(head, fields, head.sizes + body)


def serialised(field: Field) -> bytes:
    """The bytes of all rows, one after another."""
    sizes = field.sizes
    ends = np.cumsum(sizes)
    out = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    field.put(out, ends - sizes)
    return out.tobytes()


def _put_all(fields: Sequence[Field], out: Bytes, at: Sizes) -> None:
    for field in fields:
        field.put(out, at)
        at = at + field.sizes


def _digits(values: Numbers) -> Sizes:
    """How many bytes each number takes as a varint."""
    return np.searchsorted(_STEPS, values, side="right").astype(np.int64) + 1


def _where(only: Mask | None, sizes: Sizes) -> Sizes:
    return sizes if only is None else np.where(only, sizes, 0)
