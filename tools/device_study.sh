#!/bin/bash
# Runs a study on a GPU machine without a network, for as long as a call may last, and brings the store back; the next call goes on.
#
#   OUT=DIR SECONDS_LEFT=560 tools/device_study.sh [STUDY.toml]          default: tools/h200-grid.toml
#
# A store begun earlier is taken from .carry/study. What is needed there is what device_profile.sh needs.
set -u
cd "$(dirname "$0")/.."
out=${OUT:?names the directory for results}
study=${1:-tools/h200-grid.toml}
store=/tmp/kerntrace-study
build=${KERNTRACE_BUILD:-/tmp/kerntrace-build}
if [ ! -f src/kerntrace/_native/libkerntrace.so ] || [ native -nt src/kerntrace/_native/libkerntrace.so ]; then
  { cmake -S native -B "$build" -DCMAKE_BUILD_TYPE=Release && cmake --build "$build" -j 8 && cmake --install "$build" --prefix src; } \
    > "$out/build.log" 2>&1 || { tail -20 "$out/build.log"; echo "the recorder does not build"; }
fi
export PYTHONPATH="$PWD/src:${VLLM_SITE:-/tmp/site}:$PWD/.carry/py${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1 VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1
[ -d "$store" ] || { [ -d .carry/study ] && cp -r .carry/study "$store"; }
python3 -m kerntrace study run "$study" -o "$store" --seconds "${SECONDS_LEFT:-560}"
status=$?
python3 -m kerntrace study status "$store"
mkdir -p "$out/study" && cp "$store"/study.toml "$store"/plan.json "$store"/records.jsonl "$out/study"
exit $status
