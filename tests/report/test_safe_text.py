"""Names and data that a page holds: printable, bounded, and nothing that markup could break out of."""

from __future__ import annotations

import json
from base64 import b64decode
from hashlib import sha256

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.bundles import HOSTILE

from kerntrace.report.html.names import LONGEST, shown_name
from kerntrace.report.html.pack import packed, script_json

TEXTS = st.text(max_size=600) | st.sampled_from([text for text in HOSTILE if len(text) < 1000])


@given(TEXTS)
def test_a_shown_name_is_one_printable_bounded_line(name: str) -> None:
    shown = shown_name(name)
    assert shown.isprintable()
    assert 0 < len(shown) <= LONGEST + 110
    if len(name) <= LONGEST and name.isprintable() and name.strip():
        assert shown == name.strip()
    if len(name) > LONGEST:
        assert sha256(name.encode("utf-8", "surrogatepass")).hexdigest() in shown


def test_long_names_with_equal_ends_stay_apart() -> None:
    a, b = ("x" * 1000 + middle + "x" * 1000 for middle in "ab")
    assert shown_name(a) != shown_name(b)


def test_a_lone_surrogate_is_no_defect() -> None:
    assert shown_name("\ud800" * 1000).isprintable()


@given(
    st.recursive(
        TEXTS | st.integers(-(2**53), 2**53), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=9
    )
)
def test_json_in_a_script_has_no_character_of_markup(value: object) -> None:
    text = str(script_json(value))
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


@given(st.lists(st.integers(-(2**53), 2**53) | st.integers(-300, 300) | st.integers(0, 255), max_size=40))
def test_columns_come_back_exactly(values: list[int]) -> None:
    found = packed(np.array(values, np.int64))
    read = np.frombuffer(b64decode(found["data"]), np.dtype(found["type"]).newbyteorder("<"))
    assert read.astype(np.int64).tolist() == values
    if values and min(values) >= 0 and max(values) < 256:
        assert found["type"] == "u1"
