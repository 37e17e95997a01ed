"""A large array is handed out in runs of whole elements, whatever stands in them and however the reads fall."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ingest.kineto_files import Layout, text_of

from kerntrace.ingest.json_stream import ArrayStream, BrokenJsonError, split

AWKWARD = ["},{", '"', "\\", '\\"', "\\\\", "]", "[{", '"traceEvents":[', "\n", "é", "😀", "\u2028", ""]
texts = st.lists(st.sampled_from(AWKWARD) | st.text(max_size=5), max_size=4).map("".join)
scalars = st.none() | st.booleans() | st.integers(-9, 10**20) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
layouts = st.builds(Layout, indent=st.sampled_from([None, 0, 1, 4]), ascii_only=st.booleans(), compact=st.booleans())


class Plain:
    """Decodes with the standard library, and refuses runs that hold `refused` so that elements come one by one."""

    def __init__(self, *refused: Any) -> None:
        self.refused = refused

    def run(self, text: bytes) -> list[Any]:
        elements: list[Any] = json.loads(text)
        if any(element in self.refused for element in elements):
            raise ValueError
        return elements

    def one(self, text: bytes, index: int) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            raise BrokenJsonError(f"element {index} is broken") from None


def stream_of(text: bytes, block: int = 1 << 16, longest: int = 1 << 20, decoder: Plain | None = None) -> ArrayStream[Any]:
    return ArrayStream(io.BytesIO(text).read, "traceEvents", decoder or Plain(), block=block, longest=longest)


def elements_of(stream: ArrayStream[Any]) -> list[Any]:
    collected: list[Any] = []
    for elements in stream:
        assert stream.index == len(collected)
        collected += elements
    return collected


@given(st.lists(values, max_size=12), st.dictionaries(texts, values, max_size=3), values, layouts, st.integers(1, 90))
def test_every_element_comes_once_and_in_order(
    elements: list[Any], before: dict[str, Any], after: Any, layout: Layout, block: int
) -> None:
    before.pop("traceEvents", None)
    text = text_of({**before, "traceEvents": elements, "after": after}, layout)
    stream = stream_of(text, block)

    assert elements_of(stream) == elements
    assert stream.found
    assert json.loads(stream.rest) == {**before, "traceEvents": None, "after": after}


@given(st.lists(values, min_size=1, max_size=12), layouts, st.integers(1, 90), st.data())
def test_elements_that_the_decoder_refuses_in_a_run_come_one_by_one(
    elements: list[Any], layout: Layout, block: int, data: st.DataObject
) -> None:
    refused = data.draw(st.sampled_from(elements))
    stream = stream_of(text_of({"traceEvents": elements}, layout), block, decoder=Plain(refused))

    assert elements_of(stream) == elements


@given(st.lists(values, max_size=8), layouts, st.integers(1, 90))
def test_a_bare_array_is_read_alike(elements: list[Any], layout: Layout, block: int) -> None:
    stream = stream_of(b" \n" + text_of(elements, layout) + b"\n", block)

    assert elements_of(stream) == elements
    assert json.loads(stream.rest) is None


@given(st.lists(values, max_size=8), layouts, st.integers(1, 90), st.data())
def test_an_array_that_is_cut_anywhere_is_never_taken_for_a_whole_one(
    elements: list[Any], layout: Layout, block: int, data: st.DataObject
) -> None:
    text = text_of({"before": 1, "traceEvents": elements}, layout)
    stream = stream_of(text[: data.draw(st.integers(1, len(text) - 1))], block)

    try:
        elements_of(stream)
    except BrokenJsonError:
        return
    with pytest.raises(ValueError, match=r"\w"):
        json.loads(stream.rest)


@given(st.lists(values, max_size=8), layouts)
def test_elements_are_split_at_the_commas_between_them(elements: list[Any], layout: Layout) -> None:
    text = text_of(elements, layout)[1:]
    ends = split(text)

    assert ends.end == len(text) - 1
    edges = [0, *(ends.commas + 1).tolist(), ends.end + 1]
    parts = [text[a : b - 1] for a, b in pairwise(edges)]
    assert [json.loads(part) for part in parts if part.strip()] == elements


def test_one_element_may_be_longer_than_many_blocks() -> None:
    elements = [{"name": "a"}, {"name": "x},{" * 100_000}, {"name": "b"}]

    assert elements_of(stream_of(text_of(elements), block=1000)) == elements


def test_an_element_without_end_is_given_up_before_it_fills_the_memory() -> None:
    read = 0

    def endless(count: int) -> bytes:
        nonlocal read
        read += count
        assert read < 500_000
        return b'{"traceEvents": [{"name": "'.ljust(count, b"x") if read == count else b"x" * count

    with pytest.raises(BrokenJsonError, match=r"traceEvents\[0\] is longer than 100\.0 kB"):
        elements_of(ArrayStream(endless, "traceEvents", Plain(), block=1000, longest=100_000))


@pytest.mark.parametrize(
    "text",
    [b'{"other": "' + b"x" * 3000, b'{"traceEvents": [], "other": "' + b"x" * 3000 + b'"}'],
    ids=["before", "after"],
)
def test_what_stands_beside_the_array_is_bounded_too(text: bytes) -> None:
    with pytest.raises(BrokenJsonError, match=r"2\.0 kB"):
        elements_of(stream_of(text, block=100, longest=2000))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"Dear Sir", "it is not JSON"),
        (b"\x00\x01", "it is not JSON"),
        (b'{"traceEvents": [1, 2', r"cut: the text ends within traceEvents\[1\]"),
        (b'{"traceEvents": [1}', "closed by a brace"),
        (b'{"traceEvents": [1, ]}', "element 1 is broken"),
        (b'{"traceEvents": [' + b"1, " * 100 + b"]}", "element 100 is broken"),
        (b'{"traceEvents": [, 1]}', "element 0 is broken"),
        (b'{"traceEvents": [1,, 1]}', "element 1 is broken"),
        (b'{"traceEvents": [1, nope, 1]}', "element 1 is broken"),
        (b'{"traceEvents": [{"a": ]}, 1]}', "is broken|closed by a brace|cut"),
    ],
)
@pytest.mark.parametrize("block", [1, 7, 1000])
def test_a_broken_text_is_refused_with_its_reason(text: bytes, reason: str, block: int) -> None:
    with pytest.raises(BrokenJsonError, match=reason):
        elements_of(stream_of(text, block))


@pytest.mark.parametrize(
    "text",
    [
        b'{"a": {"traceEvents": [1]}}',
        b'{"a": "\\"traceEvents\\":[1"}',
        b'{"a\\"traceEvents": [1]}',
        b'{"a": "\\\\", "b": [{"traceEvents": [1]}]}',
        b'{"traceEvents": {}}',
    ],
)
def test_an_array_elsewhere_is_not_taken_for_the_one(text: bytes) -> None:
    stream = stream_of(text, block=5)

    assert elements_of(stream) == []
    assert not stream.found
    assert stream.rest == text


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert elements_of(stream_of(b"\xef\xbb\xbf[1, 2]")) == [1, 2]
