"""Several recordings of one run as one trace, on one clock. Room: trace."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow.compute as pc

from kerntrace.errors import UsageError
from kerntrace.trace.builder import TraceBuilder
from kerntrace.trace.model import Trace
from kerntrace.trace.schema import TABLES


def merge(traces: Sequence[Trace], names: Sequence[str]) -> Trace:
    """One trace with the rows of all, each process's in its own export, say.

    Args:
        names: what to call each trace in a message.

    Raises:
        UsageError: if one of them does not say when it was recorded, so that their clocks cannot be put together.
    """
    undated = [name for name, trace in zip(names, traces) if trace.manifest.epoch_ns is None]
    if undated:
        raise UsageError(
            f"{undated[0]} does not say when it was recorded, so it cannot be put on one clock with the others",
            "Import the files one at a time.",
        )
    epoch = min(trace.manifest.epoch_ns or 0 for trace in traces)
    first = traces[0].manifest
    lost = [trace.manifest.capture.dropped_records for trace in traces]
    capture = msgspec.structs.replace(
        first.capture,
        whole_graph_replays=sum(trace.manifest.capture.whole_graph_replays for trace in traces),
        dropped_records=None if not any(lost) and None in lost else sum(count or 0 for count in lost),
    )
    builder = TraceBuilder(
        producer=first.producer,
        epoch_ns=epoch,
        clock=first.clock,
        environment=first.environment,
        capture=capture,
        workload=first.workload,
    )
    for trace in traces:
        later = np.int64((trace.manifest.epoch_ns or 0) - epoch)
        for name, schema in TABLES.items():
            table = trace.table(name).arrow_table()
            columns = {c: table[c] for c in schema.names}
            for time in {"start_ns", "end_ns"} & columns.keys():
                columns[time] = pc.add(columns[time], later)
            builder.add(name, columns)
    return builder.build()
