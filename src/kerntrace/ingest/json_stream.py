"""The elements of one large array in a JSON document of any size, a run at a time. Room: ingest.

A document is an array, or an object that has the array under a given key. Decoding a whole document costs many times its
size in memory, so the array is cut into runs of whole elements and each run is decoded alone. Where to cut is guessed from
the text and proved by the decoder: a run that starts at an element and decodes is a run of whole elements. Only where the
guess fails is every quote and bracket looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from kerntrace.ingest.json_source import Read
from kerntrace.units import size

Element = TypeVar("Element")

BLOCK = 4 << 20  # bytes read at a time: large enough for NumPy, small enough to stay near the cache
LONGEST = 16 << 20  # bytes that one element, or all that stands beside the array, may have

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BETWEEN_OBJECTS = re.compile(rb"\}\s*,\s*\{")
_NEAR = 1 << 16  # how far from the end of the text the last such place is looked for first
_STRUCTURAL = bytes(c in b'"{}[],' for c in range(256))


class BrokenJsonError(ValueError):
    """The text is not JSON, or not the document expected; the message says where, without the file's name."""


class Decoder(Protocol[Element]):
    """Turns text into elements."""

    def run(self, text: bytes) -> list[Element]:
        """The elements of a JSON array. Any ValueError or RecursionError sends each element to `one`."""

    def one(self, text: bytes, index: int) -> Element:
        """The element that is `index` in the whole array. Raises BrokenJsonError if it cannot be had."""


class ArrayStream(Generic[Element]):
    """Iterates over lists of elements; every element comes once, in order.

    Args:
        read: the document's next bytes.
        key: the array's key where the document is an object.
        decoder: turns text into elements.
        block: bytes read at a time.
        longest: most bytes of one element, and of all that is beside the array.

    Attributes:
        index: elements handed out before the latest list; after the last one, all.
        found: whether the document has the array.
        rest: after the last list, the document with null in place of the array; all of it where there is no array.

    Raises:
        BrokenJsonError: while iterating.
    """

    def __init__(self, read: Read, key: str, decoder: Decoder[Element], *, block: int = BLOCK, longest: int = LONGEST) -> None:
        self.index = 0
        self.found = False
        self.rest = b""
        self._read = read
        self._key = key
        self._decoder = decoder
        self._block = block
        self._longest = longest

    def __iter__(self) -> Iterator[list[Element]]:
        before, text = self._head()
        more = self.found
        while more:
            comma = _likely_comma(text)
            elements = self._decoded(text, comma) if comma > 0 else None
            if elements is None:
                exact = split(text)
                if exact.end >= 0:
                    elements = self._exactly(text[: exact.end], exact.commas)
                    yield elements
                    self.index += len(elements)
                    self._finish(before, text[exact.end :])
                    return
                comma = int(exact.commas[-1]) if len(exact.commas) else -1
                elements = self._exactly(text[:comma], exact.commas[:-1]) if comma >= 0 else None
            if elements is not None:
                yield elements
                self.index += len(elements)
                text = text[comma + 1 :]
            elif len(text) > self._longest:
                raise BrokenJsonError(f"{self._key}[{self.index}] is longer than {size(self._longest)}")
            del elements  # before the next run is decoded beside it
            read = self._read(max(self._block, len(text)))
            more = bool(read) or comma >= 0
            text += read
        if self.found:
            raise BrokenJsonError(f"it is cut: the text ends within {self._key}[{self.index}]")

    def _head(self) -> tuple[bytes, bytes]:
        """The text before the array and the first of what follows its bracket."""
        text = self._read(max(self._block, len(_BYTE_ORDER_MARK))).removeprefix(_BYTE_ORDER_MARK)
        while True:
            start = _array_start(text, self._key)
            if start >= 0:
                self.found = True
                return text[: start - 1], text[start:]
            if len(text) > self._longest:
                raise BrokenJsonError(f"there is no {self._key} in its first {size(self._longest)}")
            more = self._read(max(self._block, len(text)))
            if not more and not text.strip():
                raise BrokenJsonError("it is empty")
            if not more:
                self.rest = text
                return text, b""
            text += more

    def _finish(self, before: bytes, after: bytes) -> None:
        if after[:1] != b"]":
            raise BrokenJsonError(f"{self._key} is closed by a brace")
        rest = [before, b"null", after[1:]]
        while more := self._read(self._block):
            rest.append(more)
            if sum(map(len, rest)) > self._longest:
                raise BrokenJsonError(f"there are more than {size(self._longest)} beside {self._key}")
        self.rest = b"".join(rest)

    def _decoded(self, text: bytes, end: int) -> list[Element] | None:
        """The elements before `end`, or None if they are not whole elements, or one of them puzzles the decoder."""
        try:
            return self._decoder.run(b"".join((b"[", memoryview(text)[:end], b"]"))) or None
        except (ValueError, RecursionError):
            return None

    def _exactly(self, text: bytes, commas: npt.NDArray[np.intp]) -> list[Element]:
        """The elements of a text that is known to be cut between elements, at `commas`."""
        if not len(commas) and not self.index and not text.strip():
            return []
        elements = self._decoded(text, len(text))
        if elements is not None and len(elements) == len(commas) + 1:
            return elements
        starts = [0, *(commas + 1).tolist()]
        ends = [*commas.tolist(), len(text)]
        return [self._decoder.one(text[s:e].strip(), self.index + n) for n, (s, e) in enumerate(zip(starts, ends))]


class Split(NamedTuple):
    """Where the elements of an array end: at each of `commas`, and at `end`, its bracket, which is -1 if not in the text."""

    commas: npt.NDArray[np.intp]
    end: int


def split(text: bytes) -> Split:
    """Find the ends of elements in the text that follows an array's opening bracket."""
    places, characters = _outside_strings(text)
    depth = np.cumsum(_steps(characters), dtype=np.int32)
    closed = np.flatnonzero(depth < 0)[:1]
    end = int(places[closed[0]]) if len(closed) else -1
    commas = places[(characters == ord(",")) & (depth == 0)]
    return Split(commas[commas < end] if end >= 0 else commas, end)


def _outside_strings(text: bytes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint8]]:
    """Places and characters of the brackets, braces and commas that are not part of a string."""
    mask = np.frombuffer(bytearray(text.translate(_STRUCTURAL)), bool)
    whole = np.frombuffer(text, np.uint8)
    if b"\\" in text:
        mask[_escaped(whole)] = False
    places = np.flatnonzero(mask)
    characters = whole[places]
    quotes = characters == ord('"')
    outside = ~quotes & (np.cumsum(quotes, dtype=np.uint8) & 1 == 0)  # that it wraps does not change odd and even
    return places[outside], characters[outside]


def _escaped(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.intp]:
    """Places of the characters that a backslash before them escapes: those after an odd number of backslashes."""
    slashes = np.flatnonzero(text == ord("\\"))
    first = np.concatenate([[True], np.diff(slashes) > 1])
    begins = slashes[first]
    ends = slashes[np.concatenate([first[1:], [True]])] + 1
    after = ends[(ends - begins) % 2 == 1]
    escaped: npt.NDArray[np.intp] = after[after < len(text)]
    return escaped


def _steps(characters: npt.NDArray[np.uint8]) -> npt.NDArray[np.int8]:
    """+1 for an opening bracket or brace, -1 for a closing one, 0 for a comma."""
    steps = (characters & 2).astype(np.int8) - 1  # of [ ] { } only the opening ones have this bit
    steps[characters == ord(",")] = 0
    return steps


def _likely_comma(text: bytes) -> int:
    """The last comma that stands between two objects, as far as the characters beside it tell; -1 if there is none."""
    for start in (max(len(text) - _NEAR, 0), 0):
        places = [found.start() for found in _BETWEEN_OBJECTS.finditer(text, start)]
        if places:
            return text.index(b",", places[-1])
    return -1


def _array_start(text: bytes, key: str) -> int:
    """Where the array's first element would be, -1 if the text does not reach the array."""
    blank = len(text) - len(text.lstrip())
    opening = text[blank : blank + 1]
    if opening == b"[":
        return blank + 1
    if opening not in (b"{", b""):
        raise BrokenJsonError("it is not JSON")
    starts = np.array([m.end() for m in re.finditer(rb'(?<!\\)"' + key.encode() + rb'"\s*:\s*\[', text)], np.intp)
    if len(starts):  # of these, the first whose bracket opens a member of the document itself
        places, characters = _outside_strings(text)
        members = places[np.cumsum(_steps(characters), dtype=np.int32) == 2]
        starts = starts[np.isin(starts - 1, members)]
    return int(starts[0]) if len(starts) else -1
