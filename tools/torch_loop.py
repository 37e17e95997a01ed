"""A decode-like loop in plain torch, timed: the workload on which the recorder's own cost is measured.

One step is the GEMMs, norms and elementwise kernels of a Llama-3.1-8B decode step at batch 1, launched one by one or replayed
as a CUDA graph. Prints one line of JSON with the median wall-clock time of a step.

    python tools/torch_loop.py eager|graph [--steps 200] [--profiler none|cuda|cpu+cuda] [--small]

The GPU is the slower side of it, which hides what recording costs the host.
With --small the weights are a 256th, and the host is.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import time
from typing import Any

LAYERS = 32
LARGE = (4096, 14336, 1024)  # hidden, inner and key-value widths
SMALL = tuple(width // 16 for width in LARGE)


def build(torch: Any, widths: tuple[int, ...]) -> Any:
    hidden, inner, kv = widths

    def weight(rows: int, columns: int) -> Any:
        return torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16) * 0.01

    shared = [weight(hidden, hidden + 2 * kv), weight(hidden, hidden), weight(hidden, 2 * inner), weight(inner, hidden)]
    layers = [[w.clone() for w in shared] for _ in range(LAYERS)]
    x = torch.randn(1, hidden, device="cuda", dtype=torch.bfloat16)

    def step() -> Any:
        h = x
        for qkv, out, up, down in layers:
            n = torch.nn.functional.rms_norm(h, (hidden,))
            q = n @ qkv
            h = h + torch.tanh(q[:, :hidden]) @ out
            n = torch.nn.functional.rms_norm(h, (hidden,))
            gate, value = (n @ up).chunk(2, dim=-1)
            h = h + (torch.nn.functional.silu(gate) * value) @ down
        return h

    return step


def captured(torch: Any, step: Any) -> Any:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def profiler(torch: Any, which: str) -> Any:
    if which == "none":
        return contextlib.nullcontext()
    activities = torch.profiler.ProfilerActivity
    chosen = [activities.CUDA] if which == "cuda" else [activities.CPU, activities.CUDA]
    return torch.profiler.profile(activities=chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=["eager", "graph"])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--profiler", choices=["none", "cuda", "cpu+cuda"], default="none")
    parser.add_argument("--pipe", action="store_true", help="steps back to back, one synchronisation at the end")
    parser.add_argument("--small", action="store_true", help="so little work that the host is the slower side")
    asked = parser.parse_args()
    import torch

    with torch.inference_mode():
        step = build(torch, SMALL if asked.small else LARGE)
        run = captured(torch, step) if asked.mode == "graph" else step
        for _ in range(20):
            run()
        torch.cuda.synchronize()
        walls = []
        with profiler(torch, asked.profiler):
            whole = time.perf_counter_ns()
            for _ in range(asked.steps):
                start = time.perf_counter_ns()
                run()
                if not asked.pipe:
                    torch.cuda.synchronize()
                    walls.append(time.perf_counter_ns() - start)
            torch.cuda.synchronize()
            whole = time.perf_counter_ns() - whole
    median = whole / asked.steps if asked.pipe else statistics.median(walls)
    said = {"mode": asked.mode, "pipe": asked.pipe, "small": asked.small, "profiler": asked.profiler}
    print(json.dumps(said | {"step_us": round(median / 1000, 1)}))


if __name__ == "__main__":
    main()
