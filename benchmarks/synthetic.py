"""Make a trace of decode steps of any size: a .ktrace bundle, an Nsight Systems SQLite or a Kineto JSON.

python benchmarks/synthetic.py --steps 22832 --kernels 438 --mode eager -o big.ktrace      10 M kernels, 10 M launches
python benchmarks/synthetic.py --steps 2284 -o big.sqlite                                  the ending chooses the format
python benchmarks/synthetic.py --steps 457 -o big.json

Standard output is one line of JSON: the trace's size and what the GPU did in it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from generate import Recipe, Synthetic, make
from writers import write_kineto, write_ktrace, write_nsys_sqlite

WRITERS = {".ktrace": write_ktrace, ".sqlite": write_nsys_sqlite, ".json": write_kineto}


def facts(trace: Synthetic) -> dict[str, object]:
    """How large the trace is, and what the GPU did: over the whole of it, and over the steps that a later one closes."""
    return {
        "kernels": int(trace.is_kernel.sum()),
        "calls": len(trace.call_start),
        "rows": len(trace.op_start) + len(trace.call_start) + len(trace.range_start),
        "whole": trace.truth(),
        "closed_steps": trace.truth_of_closed_steps(),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--kernels", type=int, default=438, help="kernels a step")
    parser.add_argument("--mode", choices=("eager", "graph"), default="eager")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--memops", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--ranges", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, required=True, help="NAME.ktrace, NAME.sqlite or NAME.json")
    said = vars(parser.parse_args(arguments))
    output = said.pop("output")
    if output.suffix not in WRITERS:
        parser.error(f"{output}: end it with {', '.join(WRITERS)}")
    began = time.perf_counter()
    trace = make(Recipe(**said))
    WRITERS[output.suffix](trace, output)
    print(json.dumps(facts(trace)))
    made = f"{int(trace.is_kernel.sum()):,} kernels and {len(trace.call_start):,} calls in {trace.recipe.steps:,} steps"
    print(f"{output}: {made}, made in {time.perf_counter() - began:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
