"""Made `frozen-1.0.ktrace`, once, with the first version of the format. It is kept as it is, so that format stays readable.

A later format gets a frozen bundle of its own beside it; this one is never made again. What it holds is written out below, so
that the numbers that the tests expect of it can be worked out by hand.

    python -m tests.trace.make_frozen NEW.ktrace
"""

from __future__ import annotations

import sys
from pathlib import Path

from kerntrace.trace.builder import TraceBuilder
from kerntrace.trace.bundle import write_bundle
from kerntrace.trace.manifest import Capture, Environment, WorkloadInfo
from kerntrace.trace.model import Trace

STEPS = 5
STEP_NS = 1_000
BASE_NS = 50_000


def frozen() -> Trace:
    """Five decode steps of batch 2, alike: two eager kernels, a replay of two nodes, and a copy back.

    Of each step, counted from its beginning:
        range 0-900; launch 100-110, kernel `a` 120-220; launch 150-160, kernel `b` 220-300 on another stream;
        the profiler flushes 310-330; graph launch 400-420, nodes 450-500 and 503-600; copy called 430-440, runs 610-620;
        a range `sample` 340-380.
    """
    builder = TraceBuilder(
        producer="frozen 1",
        epoch_ns=1_790_000_000_000_000_000,
        clock="CLOCK_REALTIME",
        environment=Environment(gpu="NVIDIA H200", cuda="13.0"),
        capture=Capture("synthetic", "written by hand", ("kernel", "memcpy"), "node", dropped_records=0),
        workload=WorkloadInfo(mode="graph", batches=(2,)),
    )
    for step in range(STEPS):
        _add_step(builder, BASE_NS + step * STEP_NS, 10 * step)
    walls = {
        "mode": "graph",
        "batch": [2, 2],
        "context": [8, 8],
        "tokens": [5, 5],
        "repetition": [0, 1],
        "wall_ns": [5100, 5200],
    }
    builder.add("walls", walls)
    return builder.build()


def _add_step(builder: TraceBuilder, at: int, id: int) -> None:
    who = {"pid": 40, "tid": 41}
    where = {"pid": 40, "device_id": 0}
    builder.add(
        "ranges",
        {"start_ns": [at, at + 340], "end_ns": [at + 900, at + 380]}
        | {**who, "domain": [None, "engine"], "name": ["execute_context_0(0)_generation_2(2)", "sample"], "payload": [None, 7]},
    )
    builder.add(
        "api_calls",
        {"start_ns": [at + 100, at + 150, at + 400, at + 430], "end_ns": [at + 110, at + 160, at + 420, at + 440]}
        | {**who, "correlation_id": [id + 1, id + 2, id + 3, id + 4], "domain": "runtime"}
        | {"name": ["cudaLaunchKernel", "cudaLaunchKernel", "cudaGraphLaunch", "cudaMemcpyAsync"]},
    )
    builder.add(
        "kernels",
        {"start_ns": [at + 120, at + 220, at + 450, at + 503], "end_ns": [at + 220, at + 300, at + 500, at + 600]}
        | {**where, "stream_id": [7, 8, 7, 7], "correlation_id": [id + 1, id + 2, id + 3, id + 3]}
        | {"graph_id": [None, None, 9, 9], "graph_node_id": [None, None, (9 << 32) + 1, (9 << 32) + 2]}
        | {
            "name": ["void a<float>(int)", "b_kernel", "gemm \N{GREEK SMALL LETTER ALPHA}", "norm_kernel"],
            "grid_x": [1, 2, 3, 4],
        },
    )
    builder.add(
        "memops",
        {"start_ns": [at + 610], "end_ns": [at + 620], **where, "stream_id": [7], "correlation_id": [id + 4]}
        | {"kind": "DtoH", "bytes": [8]},
    )
    builder.add("overheads", {"start_ns": [at + 310], "end_ns": [at + 330], **who, "kind": "buffer flush"})


if __name__ == "__main__":
    write_bundle(frozen(), Path(sys.argv[1]))
