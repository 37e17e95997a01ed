"""A trace as NVTXT, the text from which NVIDIA's ImportNvtxt makes a report for the Nsight Systems GUI. Room: export.

NVTXT knows ranges only: kernels, API calls and findings are all ranges, on pseudo-threads of their own. Format: the NVTXT
section of the Nsight Systems User Guide.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kerntrace.export.clean import one_line
from kerntrace.export.findings import Findings
from kerntrace.export.json_text import TextColumn, bytes_of, joined, whole
from kerntrace.export.lanes import told
from kerntrace.export.shift import shift_of
from kerntrace.export.timeline import Row, finding_rows, processes_of, rows_of
from kerntrace.trace.model import Trace

_LONGEST = 400  # characters of a name that a person reads
_AT_A_TIME = 1 << 16
_UNNAMED = '"(unnamed)"'


def write_nvtxt(trace: Trace, findings: Findings, path: Path) -> None:
    """Write the whole trace, for a report of its own. Times are rebased: ImportNvtxt loses nanoseconds of large ones."""
    rows = list(rows_of(trace, findings))
    processes = [(process.number, process.title) for process in processes_of(trace, findings)]
    _write(path, "Manual", processes, rows, shift_of(trace).ns)


def write_findings_nvtxt(findings: Findings, path: Path, offset: int) -> None:
    """Write the findings alone, for merging into a real report.

    Args:
        offset: the report's time (ns) at time 0 of the trace.
    """
    rows = [row._replace(thread=number) for number, row in enumerate(finding_rows(findings), 1000)]
    numbers = sorted({row.process for row in rows})
    _write(path, "Relative", [(number, "kerntrace") for number in numbers], rows, offset)


def _write(path: Path, base: str, processes: list[tuple[int, str]], rows: list[Row], offset: int) -> None:
    with path.open("wb") as file:
        head = ["SetFileDisplayName, kerntrace"]
        for event, fields in (
            ("RangePush", "Time, ProcessId, ThreadId, Color, Payload, Message"),
            ("RangePop", "Time, ProcessId, ThreadId"),
        ):
            head += [f"@{event}, {fields}", f"TimeBase = {base}"]
        head += [f"NameProcess, {number}, {quoted(title)}" for number, title in processes]
        head += [f"NameOsThread, {row.process}, {row.thread}, {quoted(row.title)}" for row in rows]
        file.write(("\n".join(head) + "\n").encode())
        for row in rows:
            for lines in _lines(row, offset):
                file.write(bytes_of(lines))


def quoted(text: str) -> str:
    """A text as a field: on one line, in double quotes, without what could end it."""
    return '"' + one_line(text, _LONGEST).replace('"', "'").replace("\\", "/") + '"'


def _lines(row: Row, offset: int) -> Iterator[pa.Array]:
    interval, begins = told(row.start, row.end)
    time = np.where(begins, row.start[interval], row.end[interval]) + offset
    names, colours = TextColumn(row.name, _UNNAMED, quoted), TextColumn(row.colour, "Gray", str)
    place = f", {row.process}, {row.thread}"
    for low in range(0, len(interval), _AT_A_TIME):
        part = slice(low, low + _AT_A_TIME)
        of, opening = interval[part], begins[part]
        push = joined(
            [f"{place}, ", colours.taken(of), ", ", whole(np.maximum(row.payload[of], 0)), ", ", names.taken(of), "\n"]
        )
        rest = pa.array(opening)
        tail = pc.if_else(rest, push, f"{place}\n")
        word = pc.if_else(rest, "RangePush, ", "RangePop, ")
        yield joined([word.cast(pa.large_string()), whole(time[part]), tail])
