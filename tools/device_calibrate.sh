#!/usr/bin/env bash
# Measures the points of `kerntrace calibrate` on a GPU machine that may have no more than Python, PyTorch and NumPy.
#   OUT=DIRECTORY tools/device_calibrate.sh          from the repository's root; vLLM is used where PYTHONPATH finds it
# Writes DIRECTORY/points.json, also when it is cut short, and DIRECTORY/calibrated.toml where kerntrace's own packages are
# installed. Elsewhere: kerntrace calibrate --from points.json -o PROFILE.toml
set -euo pipefail
out=${OUT:?name the directory for the results in OUT}
export PYTHONPATH=src${PYTHONPATH:+:$PYTHONPATH} VLLM_LOGGING_LEVEL=${VLLM_LOGGING_LEVEL:-WARNING} PYTHONUNBUFFERED=1
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu --format=csv || true

limit=${LIMIT:-230} # seconds for everything that is timed; the groups end by themselves some time before
timeout --signal=INT --kill-after=15 "$limit" python3 - "$out/points.json" "$((limit - 30))" <<'PYTHON' ||
import json
import sys
import time
from statistics import median

from kerntrace.engines.microbench.bench import measure

began = time.monotonic()
document = {"points": [], "warnings": []}


def say(part: str) -> None:
    print(f"{time.monotonic() - began:6.1f} s  {part}", flush=True)


def save(so_far: dict) -> None:
    global document
    document = so_far
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(so_far, file, indent=1)


try:
    measure(say, save, budget_s=float(sys.argv[2]))
except KeyboardInterrupt:
    say("interrupted")
say("done")
alone = {}
recovery = [point for point in document["points"] if point["what"] == "recovery"]
for point in recovery[:: max(1, len(recovery) // 60)]:
    print(f"recovery rows={point['rows']} after {point['after_ns'] / 1e6:6.1f} ms {median(point['times_ns']) / 1000:8.3f} us")
for point in document["points"]:
    shape = " ".join(f"{key}={value}" for key, value in point.items() if key not in ("what", "times_ns", "how", "after_ns"))
    alone[point["what"], shape] = median(point["times_ns"])
for (what, shape), ns in alone.items():
    if what.endswith(("_alone", "_loaded")) or what == "recovery":  # stand beside what they are compared with, or above
        continue
    beside = {"back to back": alone.get((f"{what}_alone", shape)), "after large products": alone.get((f"{what}_loaded", shape))}
    said = ", ".join(f"{name} {other / 1000:.3f}" for name, other in beside.items() if other)
    print(f"{what:14} {ns / 1000:10.3f} us  {shape}" + (f"  ({said})" if said else ""))
print("\n".join(["warnings:", *document["warnings"]]))
PYTHON
    echo "cut short or failed: what was measured is in points.json" >&2

if python3 -c "import msgspec, pyarrow, rich, typer" 2>/dev/null; then
    python3 -m kerntrace calibrate --from "$out/points.json" -o "$out/calibrated.toml" --force || true
fi
