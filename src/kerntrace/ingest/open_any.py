"""The one door for traces of any kind: what a path holds is told by its content, never by its name. Room: ingest."""

from __future__ import annotations

import os
import stat
from contextlib import nullcontext
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from kerntrace.errors import UnreadableError

if TYPE_CHECKING:
    from kerntrace.trace.model import Trace

_KNOWN = (
    "Known are NAME.ktrace, exports (.sqlite, _pqtdir) and reports (.nsys-rep) of Nsight Systems, and Kineto JSON; .gz too."
)

_SQLITE = b"SQLite format 3\0"
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_HEAD_BYTES = 4096
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive", "Unpack it and name the file inside."),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed", "Unpack it with `zstd -d` and name the result."),
    (b"\xfd7zXZ\0", "xz-compressed", "Unpack it with `xz -d` and name the result."),
    (b"BZh", "bzip2-compressed", "Unpack it with `bzip2 -d` and name the result."),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 export", "Export as SQLite instead: nsys export -t sqlite REPORT.nsys-rep."),
    (b"ARROW1", "an Arrow file", "Export as SQLite instead: nsys export -t sqlite REPORT.nsys-rep."),
    (b"PAR1", "a single Parquet file", "Name the directory it belongs to: NAME_pqtdir or NAME.ktrace."),
)


class _Kind(Enum):
    SQLITE = "sqlite"
    JSON = "json"
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """How to open.

    Attributes:
        json_limit_bytes: largest JSON, unpacked, that is read.
        verify: also check what costs a whole reading of the file: checksums of a bundle, pages of an SQLite file.
    """

    json_limit_bytes: int = 1 << 30
    verify: bool = False


def open_any(path: Path, options: OpenOptions = OpenOptions()) -> Trace:
    """The trace at a path: a .ktrace, an Nsight Systems export or report, or a Kineto JSON; gzip around a file or not.

    Raises:
        UnreadableError: if there is nothing there, it cannot be read, or it is none of these.
    """
    try:
        return _open_directory(path, options) if _is_directory(path) else _open_file(path, options)
    except FileNotFoundError:
        raise UnreadableError(f"{path} does not exist", "Check the name.") from None
    except PermissionError:
        raise UnreadableError(f"{path} may not be read: permission denied", "Ask its owner, or copy it as them.") from None
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror or error}", "Check the name and the disk.") from None


def _is_directory(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except ValueError:  # a NUL in the name
        raise UnreadableError(f"{str(path)!r} is not a name that a file can have", "Check the name.") from None
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise UnreadableError(f"{path} is neither a file nor a directory", "Write it to a file first.")
    return stat.S_ISDIR(mode)


_OF_A_STUDY = ("records.jsonl", "records.jsonl.gz", "plan.json")


def _open_directory(path: Path, options: OpenOptions) -> Trace:
    from kerntrace.ingest.nsys_parquet import is_nsys_parquet, read_nsys_parquet
    from kerntrace.trace.bundle import SUFFIX, is_bundle, read_bundle
    from kerntrace.trace.shards import is_shards, read_shards

    os.listdir(path)  # a directory that may not be listed would pass for an empty one
    if is_bundle(path) or path.suffix == SUFFIX:
        return read_bundle(path, verify=options.verify)
    if is_shards(path):
        return read_shards(path)
    if is_nsys_parquet(path):
        return read_nsys_parquet(path)
    if any((path / name).is_file() for name in _OF_A_STUDY):
        raise UnreadableError(f"{path} is a study, not a trace", f"kerntrace study report {path} says what it found.")
    raise UnreadableError(f"{path} is a directory that holds no trace", f"Perhaps a file in it does. {_KNOWN}")


def _open_file(path: Path, options: OpenOptions) -> Trace:
    from kerntrace.ingest.private_copy import unpacked, unpacked_head

    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    is_packed = head.startswith(_GZIP)
    kind = _kind(path, unpacked_head(path, _HEAD_BYTES) if is_packed else head)
    if kind is _Kind.JSON:
        from kerntrace.ingest.kineto import read_kineto

        return read_kineto(path, json_limit=options.json_limit_bytes)
    with unpacked(path) if is_packed else nullcontext(path) as content:
        if kind is _Kind.SQLITE:
            from kerntrace.ingest.nsys_sqlite import read_nsys_sqlite

            return read_nsys_sqlite(content, shown=str(path), verify=options.verify)
        from kerntrace.ingest.nsys_report import read_nsys_report

        return read_nsys_report(content, shown=str(path))


def _kind(path: Path, head: bytes) -> _Kind:
    """What a file whose content begins with `head` is.

    Raises:
        UnreadableError: if it is nothing that can be opened.
    """
    from kerntrace.ingest.nsys_report import is_report, is_stream

    if head.startswith(_SQLITE):
        return _Kind.SQLITE
    if head.removeprefix(_BOM).lstrip()[:1] in (b"{", b"["):
        return _Kind.JSON
    if is_report(head):
        return _Kind.REPORT
    if is_stream(head):
        raise UnreadableError(
            f"{path} is a raw recording that nsys has not made a report of",
            "Run `QdstrmImporter -i FILE.qdstrm` of the Nsight Systems that recorded it, then name the .nsys-rep.",
        )
    if not head:
        raise UnreadableError(f"{path} is empty", "Record or export it again.")
    for magic, what, hint in _FOREIGN:
        if head.startswith(magic):
            raise UnreadableError(f"{path} is {what}, which is not read", hint)
    raise UnreadableError(f"{path} is not a trace of a known kind", _KNOWN)
