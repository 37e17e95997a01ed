#!/usr/bin/env bash
# Build the recorder with sanitizers and run tests/native against it.
#   native/tests/run.sh            AddressSanitizer (with leaks) and UndefinedBehaviorSanitizer
#   native/tests/run.sh thread     ThreadSanitizer
# Needs cmake, a C++ compiler with the sanitizers' libraries, and python with the project's test dependencies.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
which=${1:-address,undefined}
build=${KERNTRACE_SANITIZER_BUILD:-$(mktemp -d)}

cmake -S "$root/native" -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKERNTRACE_STRICT=ON -DKERNTRACE_TESTS=ON \
  -DKERNTRACE_SANITIZE="$which" >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" -j2 >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }

export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=die_after_fork=0:report_thread_leaks=0
export PYTHONPATH="$root/src${PYTHONPATH:+:$PYTHONPATH}"
KERNTRACE_SANITIZED=$which KERNTRACE_NATIVE_BUILD=$build python3 -m pytest -q -p no:cacheprovider "$root/tests/native"
