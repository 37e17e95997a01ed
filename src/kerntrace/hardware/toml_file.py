"""Reading a TOML file, ours or the user's, into a checked value. Room: stats | hardware | workload."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kerntrace.errors import UsageError

Shape = TypeVar("Shape")


def read_toml(path: Path, shape: type[Shape]) -> Shape:
    """The file as a value of type `shape`.

    Raises:
        UsageError: if the file cannot be read, is not TOML, or holds a wrong or unknown key; names the key.
    """
    try:
        return msgspec.convert(_parse(path.read_text(encoding="utf-8")), shape)
    except OSError as error:
        raise UsageError(f"{path.name}: cannot be read: {error.strerror}", "give the path of a TOML file") from error
    except msgspec.ValidationError as error:
        raise UsageError(f"{path.name}: {error}", "compare it with the tables that kerntrace ships") from error
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError are both ValueErrors
        raise UsageError(f"{path.name}: not a TOML file: {error}", "check the line that is named") from error


def _parse(text: str) -> dict[str, Any]:
    # tomllib joined the standard library in Python 3.11; tomli is the same parser for 3.10.
    module = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    parsed: dict[str, Any] = module.loads(text)
    return parsed
