"""Hold a recording of tools/known_count.cu against what the program says it launched.

    python tools/check_counts.py SHARDS known.json

Prints one line a program: what was expected and found, how the clocks agree, and how fast the recorder was. Exit 1 on any
difference.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from kerntrace.trace.api_names import is_graph_launch
from kerntrace.trace.launches import join_launches
from kerntrace.trace.model import Trace
from kerntrace.trace.shard_file import read_shard
from kerntrace.trace.shards import read_shards


def found_in(trace: Trace) -> dict[str, int]:
    """Kernels, and the calls that launched at least one of them."""
    joined = join_launches(trace)
    launched = np.unique(joined.of_kernels[joined.of_kernels >= 0])
    graph = trace.api_calls.names("name").where(is_graph_launch)
    return {
        "kernels": len(trace.kernels),
        "launches": len(launched),
        "graph_launches": int(graph[launched].sum()),
        "memops": len(trace.memops),
    }


def sanity(trace: Trace) -> dict[str, float]:
    """How many kernels lack a launch or a timestamp, start before their launch call, and the launch latency in us."""
    joined = join_launches(trace)
    known = (joined.of_kernels >= 0) & trace.kernels.valid("start_ns")
    calls = joined.of_kernels[known]
    first = np.unique(calls, return_index=True)[1]  # of a replay only the first kernel tells of launch latency
    latency = (trace.kernels.ints("start_ns")[known] - trace.api_calls.ints("start_ns")[calls])[first]
    return {
        "without_launch": int((joined.of_kernels < 0).sum()),
        "without_time": int((~trace.kernels.valid("start_ns")).sum()),
        "before_launch": int((latency < 0).sum()),
        "latency_us_min": float(latency.min()) / 1e3 if len(latency) else 0.0,
        "latency_us_median": float(np.median(latency)) / 1e3 if len(latency) else 0.0,
    }


def speed(directory: Path) -> dict[str, float]:
    """What the recorders' workers say of themselves."""
    statuses = [shard.status for shard in map(read_shard, directory.glob("*.ktshard"))]
    known = [status for status in statuses if status is not None]
    rows = sum(int(status["kernels"]) + int(status["api_calls"]) for status in known)
    spent = sum(int(status["decode_ns"]) + int(status["write_ns"]) for status in known)
    return {
        "records": rows,
        "million_records_a_second": round(rows * 1e3 / spent, 2) if spent else 0.0,
        "peak_buffers": max(int(status["peak_buffers"]) for status in known),
        "bytes": sum(int(status["bytes_written"]) for status in known),
    }


def main() -> int:
    directory = Path(sys.argv[1])
    expected = json.loads(Path(sys.argv[2]).read_text())
    trace = read_shards(directory)
    found = found_in(trace)
    wrong = {name: (expected[name], found[name]) for name in found if found[name] != expected[name]}
    capture = trace.manifest.capture
    report = {"mode": expected["mode"], "ok": not wrong and not capture.dropped_records, "expected_found": wrong or "equal"}
    report |= sanity(trace) | speed(directory)
    print(json.dumps(report | {"dropped": capture.dropped_records, "said": capture.truncated}))
    return 0 if report["ok"] and not report["without_time"] else 1


if __name__ == "__main__":
    sys.exit(main())
