"""A trace as torch.profiler (Kineto) writes it: Chrome trace events in JSON, for Perfetto, HTA and TraceLens. Room: export.

Events: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU (Trace Event Format). Times are decimal
microseconds from an origin of the file, exact to the nanosecond; baseTimeNanoseconds says when that was.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pyarrow as pa

from kerntrace.export.chrome_events import EventWriter
from kerntrace.export.chrome_findings import finding_events
from kerntrace.export.chrome_header import header_text, track_names
from kerntrace.export.findings import Findings
from kerntrace.export.json_text import bytes_of
from kerntrace.trace.model import Trace

_LEVEL = 1  # of gzip: the text repeats itself so much that a higher one only costs time


def write_chrome(trace: Trace, findings: Findings, path: Path) -> None:
    """Write the trace, gzipped if the path ends in .gz."""
    with path.open("wb") as raw:
        if path.suffix != ".gz":
            _write(trace, findings, raw)
            return
        with gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as packed:
            _write(trace, findings, packed)  # type: ignore[arg-type]


def _write(trace: Trace, findings: Findings, file: IO[bytes]) -> None:
    """The whole document. Compressing leaves the interpreter free, so that the next events can be made meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        writing: Future[int] | None = None
        for text in _pieces(trace, findings):
            if writing is not None:
                writing.result()
            writing = pool.submit(file.write, text)
        if writing is not None:
            writing.result()


def _pieces(trace: Trace, findings: Findings) -> Iterator[bytes | memoryview]:
    writer = EventWriter(trace)
    yield header_text(trace, writer.shift)
    yield track_names(trace, findings).encode()  # the first of the events, so that every other may begin with a comma
    for rows in _events(writer, findings):
        yield bytes_of(rows)
    yield b"\n]}\n"


def _events(writer: EventWriter, findings: Findings) -> Iterator[pa.Array]:
    yield from writer.ranges()
    yield from writer.calls()
    yield from writer.kernels()
    yield from writer.memops()
    yield from writer.arrows()
    yield from writer.overheads()
    yield from writer.counters()
    yield from finding_events(findings, writer.shift)
