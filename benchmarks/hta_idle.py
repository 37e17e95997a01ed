"""Print as JSON the idle and busy time that HolisticTraceAnalysis finds in a file. bench.py runs this, with HTA's Python."""

import contextlib
import json
import sys
import time
from importlib.metadata import PackageNotFoundError, version

began = time.perf_counter()
with contextlib.redirect_stdout(sys.stderr):
    from hta.trace_analysis import TraceAnalysis

    imported = time.perf_counter()
    analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
    loaded = time.perf_counter()
    breakdown = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    causes = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)[0]
    done = time.perf_counter()


def installed() -> str:
    for name in ("traceinsight", "HolisticTraceAnalysis"):
        with contextlib.suppress(PackageNotFoundError):
            return f"{name} {version(name)}"
    return "unknown"


idle, span = float(breakdown["idle_time(us)"]), float(breakdown["kernel_time(us)"])
print(
    json.dumps(
        {
            "version": installed(),
            "import_s": round(imported - began, 2),
            "load_s": round(loaded - imported, 2),
            "break_down_s": round(done - loaded, 2),
            "idle_ns": round(idle * 1000),
            "busy_ns": round((span - idle) * 1000),
            "causes_us": dict(zip(causes["idle_category"], map(float, causes["idle_time"]))),
        }
    )
)
