"""Older majors of the bundle format, brought up to this one by a chain of pure functions. Room: trace.

Each entry of MIGRATIONS takes the raw manifest and tables of its major and returns those of the next. Format 1 is the first,
so the chain is still empty; the mechanism is exercised by tests with a chain of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from kerntrace.errors import UnreadableError
from kerntrace.trace.schema import FORMAT_MAJOR, FORMAT_NAME


class RawBundle(NamedTuple):
    """A bundle as its files say it, before anything is known about its version."""

    manifest: dict[str, Any]
    tables: dict[str, pa.Table]


Migration = Callable[[RawBundle], RawBundle]
MIGRATIONS: Mapping[int, Migration] = {}


def major_of(manifest: Any, where: str) -> int:
    """The format major of a raw manifest.

    Raises:
        UnreadableError: if this is not a kerntrace manifest, or one of a newer major.
    """
    said = manifest.get("format") if isinstance(manifest, dict) else None
    if not isinstance(said, dict) or said.get("name") != FORMAT_NAME or type(said.get("major")) is not int:
        raise UnreadableError(
            f"{where} is not a kerntrace bundle: its manifest does not say so", "Name a NAME.ktrace directory."
        )
    major: int = said["major"]
    if major > FORMAT_MAJOR:
        raise UnreadableError(
            f"{where} is of format {major}.{said.get('minor', 0)}, this kerntrace reads up to {FORMAT_MAJOR}",
            "Upgrade kerntrace: pip install --upgrade kerntrace.",
        )
    return major


def migrate(bundle: RawBundle, where: str, *, chain: Mapping[int, Migration] = MIGRATIONS, to: int = FORMAT_MAJOR) -> RawBundle:
    """The bundle in format major `to`.

    Raises:
        UnreadableError: if a step of the chain is missing.
    """
    major = int(bundle.manifest["format"]["major"])
    while major < to:
        if major not in chain:
            raise UnreadableError(
                f"{where} is of format {major}, which this kerntrace no longer reads", "Use an older kerntrace."
            )
        bundle = chain[major](bundle)
        major += 1
    return bundle
