"""An SQLite file before it is queried: is it whole, is it at rest, and by which URI is it opened. Room: ingest.

SQLite opens a file of which half is missing, and one opened as immutable silently shows neither what waits in its write-ahead
log nor that a transaction was left halfway. All of that is told here first. Format: https://sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from kerntrace.errors import UnreadableError
from kerntrace.ingest.private_copy import copied

MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_HOT_JOURNAL = bytes.fromhex("d9d505f920a163d7")


@contextmanager
def at_rest(path: Path, shown: str) -> Iterator[str]:
    """The URI to open the file by, read-only; never writes beside the file.

    Args:
        shown: how messages call the file.

    Raises:
        UnreadableError: if the file is cut off, or its last transaction was not finished.
    """
    journal, log = _beside(path, "-journal"), _beside(path, "-wal")
    if journal.is_file() and _starts_with(journal, _HOT_JOURNAL):
        raise UnreadableError(
            f"{shown} was left in the middle of a write: {journal.name} still lies beside it",
            "Wait until the export is complete; if nothing writes to it any more, export the report again.",
        )
    if log.is_file() and log.stat().st_size:
        with copied(path, log) as copy:
            _take_in_log(copy, shown)
            yield _uri(copy, "mode=ro&immutable=1")
    else:
        _check_length(path, shown)
        yield _uri(path, "mode=ro&immutable=1")


def _take_in_log(copy: Path, shown: str) -> None:
    """Write what waits in a copy's log into it: several connections may then read it at once, and none has to write."""
    try:
        with closing(sqlite3.connect(_uri(copy, "mode=rw"), uri=True)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            connection.execute("PRAGMA journal_mode=DELETE").fetchall()
    except sqlite3.Error as error:
        raise UnreadableError(f"{shown} is damaged: {error}", "Export the report again.") from None


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _starts_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(magic)) == magic


def _uri(path: Path, options: str) -> str:
    return f"file:{quote(os.fsencode(path.absolute()))}?{options}"


def _check_length(path: Path, shown: str) -> None:
    with path.open("rb") as stream:
        header = stream.read(_HEADER_BYTES)
    there = path.stat().st_size
    pages = int.from_bytes(header[28:32], "big")
    page_bytes = int.from_bytes(header[16:18], "big")
    page_bytes = 65536 if page_bytes == 1 else page_bytes
    counts = header[24:28] == header[92:96]  # otherwise an old writer changed the file without noting its length
    if len(header) < _HEADER_BYTES or (counts and there < pages * page_bytes):
        said = f" of {pages * page_bytes}" if len(header) == _HEADER_BYTES else ""
        raise UnreadableError(f"{shown} is cut off after {there}{said} bytes", "Copy it again from where it was made.")
