"""The stores of other studies that `--add` puts beside one. Room: cli."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kerntrace.errors import UsageError

if TYPE_CHECKING:
    from kerntrace.study.records import Study

PUBLISHED = "published"


def others(store: Path, add: Sequence[str | Path]) -> list[tuple[str, Study]]:
    """Every added study by its directory's name; `published`, which is no store, is left out.

    Raises:
        UsageError: if a store is added to itself or twice: its machines would count as others.
    """
    from kerntrace.study.store import read_study

    seen = {store.resolve()}
    found = []
    for path in (Path(name) for name in add if str(name) != PUBLISHED):
        if path.resolve() in seen:
            raise UsageError(f"--add {path}: this study is there already", "Name each store once.")
        seen.add(path.resolve())
        found.append((path.name or str(path), read_study(path)))
    return found
