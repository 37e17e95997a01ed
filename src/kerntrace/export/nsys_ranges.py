"""NVTX_EVENTS: the trace's own ranges, and the findings as ranges of a domain of their own. Room: export."""

from __future__ import annotations

from typing import Any

import numpy as np

from kerntrace.export.clean import without_nul
from kerntrace.export.findings import Findings
from kerntrace.export.nsys_file import NsysFile
from kerntrace.export.nsys_numbers import Ids, global_tids
from kerntrace.export.nsys_tables import DOMAIN_CREATE, PUSH_POP_RANGE
from kerntrace.export.nsys_texts import Texts
from kerntrace.export.shift import Shift
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Names

FINDINGS_DOMAIN = "kerntrace"
_ROWS = (  # of the findings: attribute, what a name is preceded by, thread name
    ("steps", "", "kerntrace: steps (device time)"),
    ("gaps", "gap ", "kerntrace: GPU idle, by cause"),
    ("phases", "waiting for ", "kerntrace: GPU idle for the host, by phase"),
)


class Domains:
    """Numbers of NVTX domains: 0 is the default one, then those of the trace, then that of the findings."""

    def __init__(self, trace: Trace) -> None:
        self._names = trace.ranges.names("domain")
        self.findings = len(self._names.values) + 1

    def of_ranges(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return self._names.codes.astype(np.int64) + 1

    def name(self, number: int) -> str:
        return self._names.values[number - 1]


def write_ranges(file: NsysFile, trace: Trace, ids: Ids, shift: Shift, domains: Domains, texts: Texts) -> None:
    """The trace's ranges, each domain of each process with the row of its creation."""
    table = trace.ranges
    threads, numbers = global_tids(ids, table), domains.of_ranges()
    columns = {
        "start": shift(table, "start_ns"),
        "end": shift(table, "end_ns"),
        "eventType": PUSH_POP_RANGE,
        "globalTid": threads,
        "textId": texts.ids(table.names("name")),
        "domainId": numbers,
        "int64Value": np.ma.array(table.ints("payload"), mask=~table.valid("payload")),
    }
    created = sorted(set(zip(table.ints("pid", null=-1).tolist(), numbers.tolist(), strict=True)))
    for pid, number in created:
        if number:
            _create(file, None if pid < 0 else ids.own_thread(pid, 0), number, domains.name(number))
    file.add("NVTX_EVENTS", columns, len(table))


def write_findings(file: NsysFile, findings: Findings, ids: Ids, shift: Shift, domains: Domains, texts: Texts) -> int:
    """The findings, a thread each for steps, gaps and phases. Returns the number of their domain."""
    process = max(findings.pid, 0)
    if len(findings.steps):
        _create(file, ids.own_thread(process, 0), domains.findings, FINDINGS_DOMAIN)
    for number, (attribute, before, thread) in enumerate(_ROWS, 1):
        found = getattr(findings, attribute)
        if not len(found):
            continue
        names = Names(found.name.codes, tuple(before + value for value in found.name.values))
        columns = {
            "start": found.start + shift.ns,
            "end": found.end + shift.ns,
            "eventType": PUSH_POP_RANGE,
            "globalTid": ids.own_thread(process, number),
            "textId": texts.ids(names),
            "domainId": domains.findings,
            "int64Value": found.step,
        }
        file.add("NVTX_EVENTS", columns, len(found))
        thread_id = ids.own_thread(process, number)
        file.rows("ThreadNames", {"nameId": [texts.id(thread)], "priority": [0], "globalTid": [thread_id]})
    return domains.findings


def _create(file: NsysFile, thread: int | None, number: int, name: str) -> None:
    columns: dict[str, list[Any]] = {
        "start": [1],
        "eventType": [DOMAIN_CREATE],
        "globalTid": [thread],
        "domainId": [number],
        "text": [without_nul(name)],
    }
    file.rows("NVTX_EVENTS", columns)
