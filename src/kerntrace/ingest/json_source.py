"""The text of a JSON file, unpacked where it is gzipped, up to a limit. Room: ingest."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kerntrace.errors import UnreadableError
from kerntrace.units import size

Read = Callable[[int], bytes]


@contextmanager
def open_text(path: Path, limit: int) -> Iterator[Read]:
    """A function that reads the file's next bytes, unpacked if it is a gzip file, and b"" at its end.

    Args:
        path: a plain or gzip file, told apart by content.
        limit: most bytes that may be read.

    Raises:
        UnreadableError: here or from the function, if the file cannot be opened, is cut or damaged, or exceeds the limit.
    """
    hint = "Raise the limit with --json-limit SIZE, for example --json-limit 4G."
    try:
        with path.open("rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            stored = path.stat().st_size
            if not packed and stored > limit:
                raise UnreadableError(f"{path} has {size(stored)} of JSON; the limit is {size(limit)}", hint)
            too_large = UnreadableError(f"{path} ({size(stored)}) has more JSON than the limit of {size(limit)}", hint)
            yield _limited(gzip.GzipFile(fileobj=file).read if packed else file.read, path, limit, too_large)
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror or error}", "") from None


def _limited(source: Read, path: Path, limit: int, too_large: UnreadableError) -> Read:
    left = limit

    def read(count: int) -> bytes:
        nonlocal left
        try:
            text = source(min(count, left + 1))
        except EOFError:
            raise UnreadableError(f"{path} is cut: its gzip stream ends early", "Copy the whole file again.") from None
        except (zlib.error, gzip.BadGzipFile):
            raise UnreadableError(f"{path} is damaged: its gzip stream does not unpack", "Copy the whole file again.") from None
        left -= len(text)
        if left < 0:
            raise too_large
        return text

    return read
