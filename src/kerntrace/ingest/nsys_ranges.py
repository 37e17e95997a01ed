"""NVTX ranges of an Nsight Systems export. Room: ingest.

A range's name is its own text or a registered string; a domain's name stands in the row of its creation, which may come after
ranges of it. Marks, categories and thread names are not ranges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kerntrace.ingest.nsys_ids import pid_of, tid_of
from kerntrace.ingest.nsys_names import Strings, coalesced
from kerntrace.ingest.nsys_schema import DOMAIN_CREATE, NVTX, PUSH_POP_RANGE, START_END_RANGE
from kerntrace.ingest.nsys_source import NsysSource, Rows, read_rows
from kerntrace.trace.builder import TraceBuilder
from kerntrace.trace.table import Ints

_PAYLOADS = ("int64Value", "uint64Value", "int32Value", "uint32Value")
_NO_PID = -1
_NO_DOMAIN = -1

Domains = dict[tuple[int, int], str | None]


def add_ranges(builder: TraceBuilder, source: NsysSource, strings: Strings, findings_domain: int = _NO_DOMAIN) -> bool:
    """Add the NVTX ranges. Returns whether there were any.

    Args:
        findings_domain: number of a domain whose ranges are left out: what kerntrace found in a trace is no event of it.

    Raises:
        UnreadableError: if the table lacks a required column or a value is not what its column holds.
    """
    kept = []
    domains: Domains = {}
    for rows in read_rows(source, NVTX):
        kind = rows.ints("eventType", null=0)
        created = kind == DOMAIN_CREATE
        if created.any():
            _note_domains(_only(rows, created), strings, domains)
        ranges = (kind == PUSH_POP_RANGE) | (kind == START_END_RANGE)
        if findings_domain != _NO_DOMAIN:
            ranges &= rows.ints("domainId", null=0) != findings_domain
        if ranges.any():
            kept.append(rows if ranges.all() else _only(rows, ranges))
    for rows in kept:
        builder.add(
            "ranges",
            {
                "start_ns": rows.get("start"),
                "end_ns": rows.get("end"),
                "pid": pid_of(rows.get("globalTid")),
                "tid": tid_of(rows.get("globalTid")),
                "domain": _domain(rows, domains),
                "name": _name(rows, strings),
                "payload": _payload(rows),
            },
        )
    return bool(kept)


def _only(rows: Rows, keep: Any) -> Rows:
    return Rows(rows.batch.filter(pa.array(keep)))


def _name(rows: Rows, strings: Strings) -> pa.DictionaryArray:
    return coalesced(rows.get("text"), strings, strings.codes(rows, "textId"))


def _note_domains(rows: Rows, strings: Strings, domains: Domains) -> None:
    keys = zip(_pids(rows).tolist(), rows.ints("domainId", null=0).tolist())
    for key, name in zip(keys, _name(rows, strings).to_pylist()):
        domains.setdefault(key, name)


def _domain(rows: Rows, domains: Domains) -> pa.DictionaryArray | None:
    """The name of each range's domain; null for domain 0, the default one."""
    ids = rows.ints("domainId", null=0)
    if not ids.any():
        return None
    pairs, place = np.unique(np.stack([_pids(rows), ids]), axis=1, return_inverse=True)
    names = [
        None if domain == 0 else domains.get((pid, domain)) or f"domain {domain}" for pid, domain in pairs.T.tolist()
    ]  # one without a row of its creation still is not the default one
    told = pa.array(names, pa.string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(told.indices.take(pa.array(place.reshape(-1))), told.dictionary)


def _pids(rows: Rows) -> Ints:
    pids = pid_of(rows.get("globalTid"))
    if pids is None:
        return np.full(len(rows), _NO_PID, np.int64)
    return np.asarray(pc.fill_null(pids, _NO_PID).to_numpy(zero_copy_only=False), np.int64)


def _payload(rows: Rows) -> Any:
    there = [rows.get(column) for column in _PAYLOADS if column in rows]
    return pc.coalesce(*there) if there else None
