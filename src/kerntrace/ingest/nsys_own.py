"""What kerntrace itself adds to the exports in Nsight Systems' form that it writes, so that nothing is lost on the way back.

Room: ingest. The tables are KERNTRACE_EXPORT (facts by name), KERNTRACE_API_CALLS (calls that nsys's own reports must not see:
those inside another call of the same correlation id, and those that had not returned) and KERNTRACE_WALLS.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from kerntrace.errors import UnreadableError
from kerntrace.ingest.nsys_names import dictionary
from kerntrace.ingest.nsys_schema import OWN_FACTS, WALLS
from kerntrace.ingest.nsys_source import AGAIN, NsysSource, facts, read_rows
from kerntrace.ingest.own_manifest import own_manifest, with_own
from kerntrace.trace.builder import TraceBuilder
from kerntrace.trace.manifest import Manifest
from kerntrace.trace.model import Trace

_NAMES = ("findings_domain", "manifest")
_NO_DOMAIN = -1


@dataclass(frozen=True, slots=True)
class Own:
    """What an export says of itself.

    Attributes:
        findings_domain: number of the NVTX domain whose ranges are findings of kerntrace, no events; -1 where there is none.
        manifest: of the trace that was exported; None where the export is not kerntrace's.
    """

    findings_domain: int = _NO_DOMAIN
    manifest: Manifest | None = None

    def on(self, trace: Trace) -> Trace:
        """The trace with the manifest of the one that was exported, if kerntrace exported it."""
        return trace if self.manifest is None else with_own(trace, self.manifest)


def read_own(source: NsysSource) -> Own:
    """What the export says, if kerntrace wrote it.

    Raises:
        UnreadableError: if it says something that kerntrace does not write.
    """
    said = facts(source, OWN_FACTS, _NAMES)
    if "manifest" not in said:
        return Own()
    try:
        raw = msgspec.json.decode(said["manifest"])
        domain = int(said.get("findings_domain", _NO_DOMAIN))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise UnreadableError(f"{source.shown}: what kerntrace wrote in KERNTRACE_EXPORT is damaged", AGAIN) from None
    return Own(domain, own_manifest(raw, source.shown))


def add_walls(builder: TraceBuilder, source: NsysSource) -> None:
    """Add the untraced repetitions, if kerntrace wrote any."""
    for rows in read_rows(source, WALLS):
        columns = {name: rows.get(name) for name in ("batch", "context", "tokens", "repetition", "wall_ns")}
        mode = rows.get("mode").dictionary_encode()
        codes = mode.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        builder.add("walls", {"mode": dictionary(codes, mode.dictionary), **columns})
