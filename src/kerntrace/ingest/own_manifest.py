"""The manifest that kerntrace leaves in the files of other programs' forms that it writes. Room: ingest.

It holds what those forms have no place for and the integrity rules need, such as how many records the recorder lost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from kerntrace.errors import UnreadableError
from kerntrace.trace import manifest as manifests
from kerntrace.trace.manifest import Manifest
from kerntrace.trace.model import Trace
from kerntrace.trace.schema import FORMAT_MAJOR


def own_manifest(raw: Any, shown: str) -> Manifest:
    """The manifest from parsed JSON.

    Raises:
        UnreadableError: if it is damaged, or a newer kerntrace's.
    """
    if not isinstance(raw, dict):
        raise UnreadableError(f"{shown}: what kerntrace says in it of the trace is damaged", "Export the trace again.")
    manifest = manifests.decode(raw, shown)
    if manifest.format.major > FORMAT_MAJOR:
        raise UnreadableError(f"{shown} was written by a newer kerntrace", "Upgrade kerntrace.")
    return manifest


def with_own(trace: Trace, manifest: Manifest) -> Trace:
    """The trace with the manifest of the one that was exported; its time 0 and its source are the file's."""
    read = trace.manifest
    capture = msgspec.structs.replace(manifest.capture, source=f"{read.capture.source}, written by kerntrace")
    return replace(trace, manifest=msgspec.structs.replace(manifest, epoch_ns=read.epoch_ns, capture=capture, tables={}))
