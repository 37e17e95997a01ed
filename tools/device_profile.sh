#!/bin/bash
# Profiles on a GPU machine without a network: builds the recorder, then runs the cases of device_profile.py.
#
#   OUT=DIR tools/device_profile.sh CASE...       cases: see device_profile.py --list; SECONDS_LEFT=500 bounds the whole call
#
# Needs there: Python 3.12 with torch and pyarrow, cmake and g++, and vLLM under /tmp/site (or wherever VLLM_SITE says).
# Packages that may be missing there are carried in .carry/py, made on a machine with a network, in the repository's root, by
#   tags="--only-binary=:all: --no-deps --python-version 3.12 --implementation cp"
#   for v in 2_39 2_28 2_27 2_24 2_17; do tags="$tags --platform manylinux_${v}_x86_64"; done
#   python3 -m pip install -q $tags --platform manylinux2014_x86_64 --target .carry/py \
#       msgspec adbc-driver-manager adbc-driver-sqlite nvtx==0.2.17 cupti-python==13.0.1
# (and typer rich shellingham markdown-it-py mdurl pygments annotated-doc, where they are missing too)
# and, for nsys inside Nsight Compute, whose importer wants libdw: .carry/lib with libdw.so.1 and libelf.so.1
set -u
cd "$(dirname "$0")/.."
out=${OUT:?names the directory for results}
site=${VLLM_SITE:-/tmp/site}
build=${KERNTRACE_BUILD:-/tmp/kerntrace-build}
mkdir -p "$out"
if [ ! -f src/kerntrace/_native/libkerntrace.so ] || [ native -nt src/kerntrace/_native/libkerntrace.so ]; then
  { cmake -S native -B "$build" -DCMAKE_BUILD_TYPE=Release && cmake --build "$build" -j 8 && cmake --install "$build" --prefix src; } \
    > "$out/build.log" 2>&1 || { tail -20 "$out/build.log"; echo "the recorder does not build"; }
fi
export PYTHONPATH="$PWD/src:$site:$PWD/.carry/py${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1 VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1
[ -d .carry/lib ] && export LD_LIBRARY_PATH="$PWD/.carry/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
if ! command -v nsys > /dev/null; then
  for nsys in /opt/nvidia/nsight-systems/*/bin/nsys /opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys; do
    [ -x "$nsys" ] && export PATH="$PATH:$(dirname "$nsys")" && break
  done
fi
exec python3 tools/device_profile.py --out "$out" --seconds "${SECONDS_LEFT:-540}" "$@"
