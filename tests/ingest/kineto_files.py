"""Kineto JSON as a test writes it: events with exact decimal times, in any layout."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kerntrace.errors import UnreadableError
from kerntrace.ingest.kineto import read_kineto
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Table

Json = dict[str, Any]
LIMIT = 1 << 30
BASE_NS = 1_790_857_026_000_000_000
PID, TID = 2232, 2240

_MARK = re.compile(r'"number:(.*?)"')


def number(text: str) -> str:
    """A JSON number of exactly these characters, for `text_of` to write."""
    return f"number:{text}"


@dataclass(frozen=True)
class Layout:
    """How JSON is laid out: indentation, escapes beyond ASCII, blanks after separators."""

    indent: int | None = None
    ascii_only: bool = True
    compact: bool = False


def text_of(document: Any, layout: Layout = Layout()) -> bytes:  # noqa: RUF100, B008
    separators = (",", ":") if layout.compact else None
    written = json.dumps(document, indent=layout.indent, ensure_ascii=layout.ascii_only, separators=separators)
    return _MARK.sub(lambda found: found[1], written).encode()


def kernel(start: str, duration: str, correlation: Any = 5, **changes: Any) -> Json:
    args = {"External id": 3, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": correlation}
    args |= {"registers per thread": 168, "shared memory": 1024, "grid": [132, 2, 1], "block": [384, 1, 1]}
    return event("kernel", "gemm", 0, 7, start, duration, args) | changes


def call(start: str, duration: str, correlation: Any = 5, **changes: Any) -> Json:
    args = {"External id": 3, "cbid": 211, "correlation": correlation}
    return event("cuda_runtime", "cudaLaunchKernel", PID, TID, start, duration, args) | changes


def annotation(start: str, duration: str, **changes: Any) -> Json:
    return event("user_annotation", "forward", PID, TID, start, duration, {"External id": 1}) | changes


def event(category: str, name: str, pid: Any, tid: Any, start: str, duration: str, args: Json) -> Json:
    times = {"ts": number(start), "dur": number(duration)}
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, **times, "args": args}


def document(events: list[Any], **beside: Any) -> Json:
    return {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, "traceEvents": events, "traceName": "trace.json"} | beside


def opened(folder: Path, text: bytes, *, packed: bool = False, limit: int = LIMIT, block: int = 1 << 20) -> Trace:
    file = folder / "trace.json"
    file.write_bytes(gzip.compress(text, 1) if packed else text)
    return read_kineto(file, json_limit=limit, block=block)


def trace_of(folder: Path, *events: Any, **beside: Any) -> Trace:
    return opened(folder, text_of(document(list(events), **beside)))


def rows(table: Table, *columns: str) -> list[tuple[Any, ...]]:
    """The table's rows, times as in the manifest's epoch."""
    return list(zip(*[table.arrow(column).to_pylist() for column in columns]))


def refusal(folder: Path, text: bytes, **how: Any) -> str:
    """What is said when the text cannot be read."""
    with pytest.raises(UnreadableError) as raised:
        opened(folder, text, **how)
    assert raised.value.exit_code == 1
    assert raised.value.what.startswith(str(folder / "trace.json"))
    assert "\n" not in raised.value.what
    return str(raised.value)
