#!/usr/bin/env bash
# The recorder against a real GPU: exact counts, clocks, exits, and what recording costs.
# Needs g++, cmake, nvcc (CUDA in CUDA_HOME, default /usr/local/cuda), Python with this package's dependencies, and torch for the
# last part. Builds and writes in WORK (default: a temporary directory). Results go to standard output, a line of JSON each.
#   tools/device_native.sh [counts] [exits] [levels] [cost] [host] [long]     default: counts exits levels cost
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
work=${WORK:-$(mktemp -d)}
cuda=${CUDA_HOME:-/usr/local/cuda}
python=${PYTHON:-python3}
repetitions=${REPETITIONS:-5}
parts=${*:-counts exits levels cost}
failed=0
export PYTHONPATH="$root/src${PYTHONPATH:+:$PYTHONPATH}"

build() {
  mkdir -p "$work/build"
  cmake -S "$root/native" -B "$work/build" -DKERNTRACE_STRICT=ON >"$work/build.log" 2>&1 &&
    cmake --build "$work/build" -j8 >>"$work/build.log" 2>&1 &&
    "$cuda/bin/nvcc" -std=c++17 -O2 -arch=native "$root/tools/known_count.cu" -o "$work/known_count" >>"$work/build.log" 2>&1 ||
    { cat "$work/build.log"; exit 1; }
}

# record NAME [VARIABLE=VALUE...] -- COMMAND...: run a command with the recorder injected; its shards go to $work/NAME.
record() {
  local name=$1
  shift
  local variables=()
  while [ "$1" != -- ]; do variables+=("$1"); shift; done
  shift
  rm -rf "${work:?}/$name"
  mkdir -p "$work/$name"
  env CUDA_INJECTION64_PATH="$work/build/libkerntrace.so" NVTX_INJECTION64_PATH="$work/build/libkerntrace.so" \
    KERNTRACE_DIRECTORY="$work/$name" KERNTRACE_CUPTI="$cuda/lib64/libcupti.so" "${variables[@]}" "$@"
}

# counted NAME MODE SCALE [VARIABLE=VALUE...]: record known_count and compare.
counted() {
  local name=$1 mode=$2 scale=$3
  shift 3
  record "$name" "$@" -- timeout 120 "$work/known_count" "$mode" "$scale" >"$work/$name.json"
  local code=$?
  [ "$code" -eq 0 ] || { echo "{\"mode\": \"$name\", \"ok\": false, \"exit\": $code}"; failed=1; return; }
  "$python" "$root/tools/check_counts.py" "$work/$name" "$work/$name.json" || failed=1
}

part_counts() {
  for mode in eager streams threads processes; do counted "$mode" "$mode" 5000; done
  counted graph graph 500
  counted graphs graphs 500
  counted windows windows 100 KERNTRACE_RANGE=cuda
  counted all_calls eager 5000 KERNTRACE_KINDS=kernels,memops,api
  counted no_flush eager 5000 KERNTRACE_FLUSH_MS=0
  counted quick_flush graph 500 KERNTRACE_FLUSH_MS=50
  counted small_buffers graph 500 KERNTRACE_BUFFER_BYTES=262144
}

part_exits() {
  record kill -- "$work/known_count" kill 2000 >"$work/kill.json"
  echo "{\"killed_with\": $?}"
  "$python" "$root/tools/check_counts.py" "$work/kill" "$work/kill.json" || failed=1
  local plain injected
  plain=$("$work/known_count" eager 5000)
  injected=$(CUDA_INJECTION64_PATH="$work/build/libkerntrace.so" "$work/known_count" eager 5000)
  [ "$plain" = "$injected" ] && echo '{"loaded_but_not_enabled": "same output"}' || { echo '{"loaded_but_not_enabled": "differs"}'; failed=1; }
}

# The whole-graph level has crashed other recorders here: it is a process of its own, and a crash is a result.
part_levels() {
  record level KERNTRACE_KINDS=graphs,launches -- timeout 120 "$work/known_count" graph 500 >"$work/level.json"
  local code=$?
  "$python" - "$work/level" "$code" <<'PY'
import json, sys
from pathlib import Path
from kerntrace.trace.shard_file import read_shard
shards = [read_shard(f) for f in Path(sys.argv[1]).glob("*.ktshard")]
spans = [s.rows("graph_span") for s in shards]
count = sum(len(s) for s in spans)
lengths = sorted(int(r["end_ns"] - r["start_ns"]) for s in spans for r in s)
print(json.dumps({"level": "graph", "exit": int(sys.argv[2]), "spans": count, "expected": 500,
                  "median_us": lengths[count // 2] / 1e3 if count else None}))
PY
}

# torch_loop NAME ARGUMENTS... [-- VARIABLE=VALUE...]
loop() {
  local name=$1 how=$2
  shift 2
  case $how in
    plain) "$python" "$root/tools/torch_loop.py" "$@" ;;
    loaded) CUDA_INJECTION64_PATH="$work/build/libkerntrace.so" "$python" "$root/tools/torch_loop.py" "$@" ;;
    *) record "loop" "KERNTRACE_KINDS=$how" -- "$python" "$root/tools/torch_loop.py" "$@" ;;
  esac | sed "s/^{/{\"case\": \"$name\", /"
}

part_cost() {
  local default=kernels,memops,launches,overheads,ranges
  for _ in $(seq "$repetitions"); do
    loop plain plain eager
    loop loaded loaded eager
    loop kernels kernels eager
    loop default "$default" eager
    loop api kernels,memops,api eager
    loop torch-cuda plain eager --profiler cuda
    loop torch-cpu+cuda plain eager --profiler cpu+cuda
    loop plain plain graph --pipe
    loop default "$default" graph --pipe
    loop plain plain graph
    loop default "$default" graph
  done | tee "$work/cost.jsonl" >/dev/null
  dilations "$work/cost.jsonl"
}

# What recording costs the host, where the host is the slower side: presence, CUPTI's presence, each kind of record, and the others.
part_host() {
  local default=kernels,memops,launches,overheads,ranges
  for _ in $(seq "$repetitions"); do
    loop plain plain eager --small
    loop loaded loaded eager --small
    loop attached overheads eager --small
    loop launches launches,overheads eager --small
    loop kernels kernels eager --small
    loop kernels+memops kernels,memops eager --small
    loop default "$default" eager --small
    loop torch-cuda plain eager --small --profiler cuda
  done | tee "$work/host.jsonl" >/dev/null
  dilations "$work/host.jsonl"
}

# dilations FILE: medians of each case's steps, and over the plain ones of the same loop.
dilations() {
  "$python" - "$1" <<'PY'
import json, statistics, sys
rows = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")]
groups = {}
for row in rows:
    groups.setdefault((row["mode"], row["pipe"], row["small"], row["case"]), []).append(row["step_us"])
for (mode, pipe, small, case), steps in groups.items():
    base = statistics.median(groups[mode, pipe, small, "plain"])
    print(json.dumps({"mode": mode, "pipe": pipe, "small": small, "case": case, "step_us": steps,
                      "median_us": statistics.median(steps), "dilation": round(statistics.median(steps) / base, 4)}))
PY
}

part_long() { counted long long "${REPLAYS:-25000}"; }

build
for part in $parts; do "part_$part"; done
exit "$failed"
