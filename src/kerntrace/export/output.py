"""Where an export goes: its name, what it may replace, and the draft that takes the name when it is whole. Room: export."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from kerntrace.errors import UsageError

_ENDINGS = (".gz", ".json", ".sqlite", ".nsys-rep", "_pqtdir", ".ktrace")


def default_name(trace: Path, ending: str) -> Path:
    """What the export of a trace is called, in the current directory: `run.ktrace` becomes `run.sqlite`."""
    stem = trace.resolve().name
    for suffix in _ENDINGS:
        stem = stem.removesuffix(suffix)
    return Path(f"{stem or 'trace'}{ending}")


def refuse_to_overwrite(path: Path, force: bool, *, inside: Collection[str] | None = None) -> None:
    """Stop where writing would destroy something.

    Args:
        inside: for a directory, the names of the files that an export of it has.

    Raises:
        UsageError: if the path is there and `force` is not given, or is something else than such an export.
    """
    if path.name in ("", ".", ".."):
        raise UsageError(f"{str(path) or '(nothing)'} is no name for an export", "Name it with -o.")
    try:
        there = path.exists() or path.is_symlink()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be written: {reason}", "Choose another name with -o.") from None
    if not there:
        return
    if not force:
        raise UsageError(f"{path} exists already", "Choose another name with -o, or add --force to replace it.")
    if inside is None and not path.is_file():
        raise UsageError(f"{path} is no file, so it is not replaced", "Choose another name with -o.")
    if inside is not None and (not path.is_dir() or path.is_symlink() or {file.name for file in path.iterdir()} - set(inside)):
        raise UsageError(f"{path} holds something else than an export, so it is not replaced", "Choose another name with -o.")


def refuse_to_harm(path: Path, source: Path) -> None:
    """Stop where writing would change what the export is made of, which not even --force asks for.

    Raises:
        UsageError: if the path is the source or lies in it.
    """
    try:
        there, whole = path.resolve(), source.resolve()
        same = path.exists() and path.samefile(source)
    except (OSError, ValueError, RuntimeError):  # what is not there, or not reachable, is told where it is opened
        return
    if same or there == whole:
        raise UsageError(f"{path} is what this export reads, so it is not replaced", "Choose another name with -o.")
    if whole in there.parents:
        raise UsageError(f"{path} lies in {source}, which this export reads", "Choose another place with -o.")


@contextmanager
def draft_folder(path: Path) -> Iterator[Path]:
    """A private folder beside `path`, in which the export is made; it is gone afterwards, whatever happens.

    Raises:
        UsageError: if there is no writing there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".kerntrace-export-", dir=path.parent))
    except OSError as error:
        raise UsageError(f"{path.parent} cannot be written to: {error.strerror}", "Choose another place with -o.") from None
    try:
        yield folder
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}", "Choose another place with -o.") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put(draft: Path, path: Path) -> None:
    """Give a finished draft its name; a directory of that name, which may be replaced, goes to the drafts first."""
    if draft.is_dir() and path.is_dir():
        os.replace(path, Path(tempfile.mkdtemp(dir=draft.parent)) / "replaced")
    os.replace(draft, path)
