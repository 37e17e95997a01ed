"""Cut, damaged, foreign and oversized files are refused in one line that names the place and the next step."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ingest.kineto_files import annotation, call, document, kernel, opened, refusal, text_of, trace_of

from kerntrace.errors import UnreadableError
from kerntrace.ingest.kineto import read_kineto
from kerntrace.trace.model import Trace

FOUR = [call("1", "2"), kernel("4", "1"), annotation("0", "9"), call("7", "1", 6)]
SMALL = text_of(document(FOUR))


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, packed: bool) -> None:
    whole = gzip.compress(SMALL) if packed else SMALL
    for length in range(0, len(whole), 3):
        assert refusal(tmp_path, whole[:length], block=300)


def test_a_cut_file_says_in_which_event_it_ends(tmp_path: Path) -> None:
    assert "cut: the text ends within traceEvents[3]" in refusal(tmp_path, SMALL[: SMALL.index(b'"ts": 7')])
    assert "its gzip stream ends early" in refusal(tmp_path, gzip.compress(SMALL)[:-9])


def test_a_damaged_gzip_stream_is_refused(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(SMALL))
    packed[len(packed) // 2] ^= 0x55

    assert "damaged" in refusal(tmp_path, bytes(packed))
    assert "damaged" in refusal(tmp_path, gzip.compress(SMALL) + b"and more")


def test_several_gzip_members_are_one_file(tmp_path: Path) -> None:
    trace = opened(tmp_path, gzip.compress(SMALL[:500]) + gzip.compress(SMALL[500:]))

    assert len(trace.api_calls) == 2


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"Dear Sir or Madam",
        b"{",
        b"[",
        b"17",
        b"[]",
        b"{}",
        b'{"name": "a"}',
        b"[1, 2, 3]",
        b'[{"name": "a", "value": 3}]',
        b'{"traceEvents": {}}',
        b'{"traceEvents": null}',
        b'{"traceEvents": [1, 2]}',
        b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        SMALL + b"}",
        SMALL + b" trailing",
        SMALL[:-1] + b",}",
        SMALL + SMALL,
        text_of({"traceEvents": FOUR})[:-1] + b', "traceEvents": []}',
        text_of(FOUR) + b"1",
    ],
    ids=lambda text: text[:24].decode() + f"...{len(text)}",
)
@pytest.mark.parametrize("block", [20, 1 << 20])
def test_what_is_no_trace_is_refused(tmp_path: Path, text: bytes, block: int) -> None:
    assert refusal(tmp_path, text, block=block)


@pytest.mark.parametrize("element", [b"{}", b"1", b"[0.5, 1e999]", b'"word"'])
def test_a_large_file_of_other_things_is_not_read_to_its_end(tmp_path: Path, element: bytes) -> None:
    text = b"[" + b", ".join([element] * 500_000) + b", and then no JSON at all"

    assert "no profiler's trace" in refusal(tmp_path, text)


def test_an_empty_trace_is_a_trace(tmp_path: Path) -> None:
    assert sum(map(len, trace_of(tmp_path).tables().values())) == 0


def test_too_large_a_file_names_its_size_the_limit_and_the_flag(tmp_path: Path) -> None:
    text = text_of(document(FOUR * 500))
    plain = refusal(tmp_path, text, limit=100_000)
    packed = refusal(tmp_path, text, limit=100_000, packed=True)

    assert f"has {len(text) / 1000:.1f} kB of JSON" in plain
    for message in (plain, packed):
        assert "100.0 kB" in message
        assert "--json-limit" in message
    assert len(opened(tmp_path, text, limit=len(text), packed=True).kernels) == 500


def test_a_gzip_bomb_is_unpacked_no_further_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked = 0
    real = gzip.GzipFile.read

    def counted(self: gzip.GzipFile, size: int | None = -1) -> bytes:
        nonlocal unpacked
        read = real(self, size)
        unpacked += len(read)
        return read

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    for beginning in (b'{"traceEvents": [{"name": "', b'{"a": "', b'{"traceEvents": [], "a": "'):
        unpacked = 0
        bomb = gzip.compress(beginning + b" " * 50_000_000, 9)

        assert "more JSON than the limit of 2.0 MB" in refusal(tmp_path, bomb, limit=2_000_000)
        assert unpacked == 2_000_001


@given(st.data())
def test_no_damage_leads_to_anything_but_a_trace_or_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = bytearray(SMALL)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place] = data.draw(st.sampled_from(b'{}[],":\\ -0e.\xff\x00') | st.integers(0, 255))
    file = tmp_path_factory.getbasetemp() / "damaged.json"
    file.write_bytes(text)

    block = data.draw(st.sampled_from([50, 1 << 20]))
    trace, reason = None, ""
    try:
        trace = read_kineto(file, json_limit=1 << 20, block=block)
    except UnreadableError as error:
        reason = str(error)
    assert isinstance(trace, Trace) or str(file) in reason


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.json"):
        with pytest.raises(UnreadableError, match="cannot be read"):
            read_kineto(path, json_limit=1 << 20)
