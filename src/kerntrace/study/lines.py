"""A record as a line: JSON that names its kind and carries a checksum of the record's own bytes. Room: study."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import msgspec

from kerntrace.errors import UnreadableError
from kerntrace.study.records import Host, LeftOut, Record, TracedCell, Wall

KINDS: dict[str, type[Record]] = {"host": Host, "wall": Wall, "traced": TracedCell, "left_out": LeftOut}
_NAMES = {kind: name for name, kind in KINDS.items()}


class _Line(msgspec.Struct, frozen=True):
    kind: str
    crc: int
    record: msgspec.Raw


def encode(record: Record) -> bytes:
    """The record's line, newline included."""
    body = msgspec.json.encode(record)
    kind = _NAMES[type(record)]
    return msgspec.json.encode(_Line(kind, _checksum(kind, body), msgspec.Raw(body))) + b"\n"


def decode(line: bytes) -> Record:
    """The record of a line.

    Raises:
        ValueError: if the line is damaged or of a kind that is not known; the message says which.
    """
    try:
        read = msgspec.json.decode(line, type=_Line)
        body = bytes(read.record)
        if _checksum(read.kind, body) != read.crc:
            raise ValueError("its checksum does not match")
        if read.kind not in KINDS:
            raise ValueError(f"its kind {read.kind!r} is not known")
        return msgspec.json.decode(body, type=KINDS[read.kind])
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


def decode_all(data: bytes, where: str) -> tuple[list[Record], int]:
    """The records of a file, and how many of its bytes they take: less than all where the last line is torn.

    Raises:
        UnreadableError: if a line before the last is damaged; the message names it.
    """
    lines = data.split(b"\n")
    records: list[Record] = []
    good = last = 0
    for number, line in enumerate(lines):
        if number == len(lines) - 1:  # what follows the last newline: nothing, or a line that was being written
            break
        try:
            records.append(decode(line))
        except ValueError as error:
            if number == len(lines) - 2 and not lines[-1]:
                break
            hint = "Take the store from a copy, or cut the file before that line."
            raise UnreadableError(f"{where}: line {number + 1} is damaged: {error}", hint) from None
        good += len(line) + 1
        last = len(line) + 1
    whole = whole_pairs(records)
    return whole, good if len(whole) == len(records) else good - last


def whole_pairs(records: Sequence[Record]) -> list[Record]:
    """The records without a last wall whose partner was not written: the two of a repetition ran next to each other."""
    if not records or not isinstance(last := records[-1], Wall):
        return list(records)
    before = records[-2] if len(records) > 1 else None
    partner = isinstance(before, Wall) and repetition_of(before) == repetition_of(last)
    return list(records) if partner else list(records[:-1])


def repetition_of(wall: Wall) -> tuple[str, str, int, int, int, int]:
    """What the two walls of a repetition have in common: host, mode, session, batch, context, repetition."""
    return wall.host, wall.mode, wall.session, wall.batch, wall.context, wall.repetition


def _checksum(kind: str, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(kind.encode()))
