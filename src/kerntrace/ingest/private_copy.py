"""Gzip files, and copies of an input on the disk for temporary files, always bounded and always removed. Room: ingest."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kerntrace.errors import UnreadableError
from kerntrace.units import size

MOST_BYTES = 64 << 30
SPARE_BYTES = 1 << 30
_BLOCK = 1 << 20
_ELSEWHERE = "Set TMPDIR to a folder on a disk with more room."
_COPY_AGAIN = "Copy it again from where it was made."


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder that nobody else can read and that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="kerntrace-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def unpacked_head(path: Path, count: int) -> bytes:
    """The first `count` bytes of what a gzip file holds, fewer if it holds fewer.

    Raises:
        UnreadableError: if the gzip data are damaged or cut off before that.
    """
    with _gunzip_errors_told(path), gzip.open(path) as stream:
        return stream.read(count)


@contextmanager
def unpacked(path: Path, *, most_bytes: int = MOST_BYTES, spare_bytes: int = SPARE_BYTES) -> Iterator[Path]:
    """The contents of a gzip file, as a file.

    Args:
        most_bytes: stop when it unpacks to more than this.
        spare_bytes: and when the disk would be left with less than this.

    Raises:
        UnreadableError: if the gzip data are damaged or cut off, or unpack to more than there is room for.
    """
    with private_folder() as folder:
        target = folder / "unpacked"
        with _gunzip_errors_told(path), target.open("wb") as sink:
            _unpack(path, sink, folder, most_bytes, spare_bytes)
        yield target


@contextmanager
def copied(path: Path, companion: Path) -> Iterator[Path]:
    """A copy of a file and of the one that belongs beside it, under the same names.

    Raises:
        UnreadableError: if there is no room, or if something writes to one of them meanwhile.
    """
    files = (path, companion)
    with private_folder() as folder:
        before = [_state(file) for file in files]
        if sum(length for length, _ in before) > shutil.disk_usage(folder).free - SPARE_BYTES:
            raise UnreadableError(f"{path} does not fit on the disk for temporary files", _ELSEWHERE)
        for file in files:
            shutil.copyfile(file, folder / file.name)
        if before != [_state(file) for file in files]:
            raise UnreadableError(f"{path} is being written to", "Wait until the export is complete.")
        yield folder / path.name


def _state(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns


def _unpack(path: Path, sink: BinaryIO, folder: Path, most_bytes: int, spare_bytes: int) -> None:
    written = 0
    with gzip.open(path) as source:
        while block := source.read(_BLOCK):
            written += len(block)
            if written > most_bytes:
                raise UnreadableError(
                    f"{path} unpacks to more than {size(most_bytes)}", "If that is right, gunzip it yourself."
                )
            if shutil.disk_usage(folder).free - len(block) < spare_bytes:
                raise UnreadableError(f"{path} unpacks to more than the disk for temporary files has room for", _ELSEWHERE)
            sink.write(block)


@contextmanager
def _gunzip_errors_told(path: Path) -> Iterator[None]:
    try:
        yield
    except EOFError:
        raise UnreadableError(f"{path} is cut off: its gzip data end early", _COPY_AGAIN) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UnreadableError(f"{path} is damaged: {error}", _COPY_AGAIN) from None
