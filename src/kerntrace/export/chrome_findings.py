"""The findings as Chrome trace events, on tracks of their own. Room: export. Readers of Kineto leave their categories alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kerntrace.export.findings import Findings
from kerntrace.export.json_text import TextColumn, field, joined, microseconds, quoted, whole

PROCESS = quoted("kerntrace")  # a name, as Kineto's own extra tracks have, so that it can be no real process
_ROWS = 1 << 16
_NO_NAME = quoted("(unnamed)")


class Track(NamedTuple):
    """A track: attribute of Findings, category of its events, title."""

    attribute: str
    category: str
    about: str


TRACKS = (
    Track("steps", "kerntrace_step", "steps (device time)"),
    Track("gaps", "kerntrace_gap", "GPU idle, by cause"),
    Track("phases", "kerntrace_phase", "GPU idle for the host, by phase"),
)


def finding_events(findings: Findings, shift: int) -> Iterator[pa.Array]:
    """An event a stretch; a step's has its account in its arguments."""
    for number, track in enumerate(TRACKS, 1):
        found = getattr(findings, track.attribute)
        names = TextColumn(found.name, _NO_NAME)
        head = f',\n{{"ph":"X","cat":"{track.category}","pid":{PROCESS},"tid":{number},"name":'
        for low in range(0, len(found), _ROWS):
            part = slice(low, min(low + _ROWS, len(found)))
            size = part.stop - part.start
            account = findings.account if track.attribute == "steps" else {}
            terms = [field(f"{name}_ns", value[part], np.ones(size, bool)) for name, value in account.items()]
            ts, dur = microseconds(found.start[part] + shift), microseconds(found.end[part] - found.start[part])
            arguments = [',"args":{"step":', whole(found.step[part]), *terms]
            yield joined([head, names.rows(part), ',"ts":', ts, ',"dur":', dur, *arguments, "}}"])
