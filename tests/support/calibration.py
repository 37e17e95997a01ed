"""Points that a machine of known constants would give, for fits that have to find those constants again."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Machine:
    """Times in ns, bandwidths in bytes a ns."""

    product_ns: float = 4_500.0
    product_bandwidth: float = 4_300.0
    attention_ns: float = 16_000.0
    attention_bandwidth: float = 4_000.0
    cache_bandwidth: float = 9_000.0
    torch_ns: float = 2_000.0
    gap_ns: float = 600.0
    slower: float = 1.0  # right after large products
    settles_ns: float = 40e6
    stream_ns: float = 1_000.0  # more on a stream than in a graph


def points_of(machine: Machine, gpu: str = "NVIDIA H200") -> Json:
    """Every kind of point, without noise."""
    products = [
        {
            "what": "gemm",
            "rows": rows,
            "outputs": n,
            "inputs": k,
            "times_ns": [machine.product_ns + 2 * n * k / machine.product_bandwidth] * 3,
        }
        for n, k in ((2048, 2048), (4096, 4096), (6144, 4096), (4096, 14336), (28672, 4096), (128256, 4096))
        for rows in (1, 16)
    ]
    attention = [
        {
            "what": "attention",
            "how": "vLLM, FlashAttention 3",
            "rows": batch,
            "length": length,
            "heads": 32,
            "kv_heads": 8,
            "head_dim": 128,
            "times_ns": [machine.attention_ns + 4096 * batch * length / machine.attention_bandwidth] * 3,
        }
        for batch in (1, 4, 16, 32)
        for length in (528, 2064, 8208)
    ]
    small = [
        _small(machine, "metadata", "torch.fill", 4, 1_300.0),
        _small(machine, "embedding", "torch.index_select", 16_384, machine.torch_ns),
        _small(machine, "sampler", "torch.gather", 24, machine.torch_ns),
        _small(machine, "sampler", "torch.argmax", 504, 4_000.0),
        _small(machine, "norm", "vllm.fused_add_rms_norm", 32_768, 3_000.0),
        _small(machine, "norm", "triton.rms_norm", 32_768, 2_500.0),
        _small(machine, "activation", "triton.act_and_mul", 86_016, 1_900.0),
        _small(machine, "kv_write", "vllm.reshape_and_cache", 8_192, 2_700.0),
    ]
    passes = [
        {"what": "l2", "bytes": size << 20, "times_ns": [2_000.0 + (size << 20) / machine.cache_bandwidth] * 3}
        for size in (2, 4, 8, 16)
    ]
    memory = [
        {"what": "dram_read", "bytes": 4 << 30, "times_ns": [(4 << 30) / 4_400.0] * 3},
        {"what": "dram_read_again", "bytes": 4 << 30, "times_ns": [(4 << 30) / 4_390.0] * 3},
        {"what": "dram_copy", "bytes": 8 << 30, "times_ns": [(8 << 30) / 4_320.0] * 3},
        {"what": "gemm_peak", "flops": 2 * 8192**3, "times_ns": [2 * 8192**3 / 791_520.0] * 3},
    ]
    loaded = [
        point | {"what": f"{point['what']}_loaded", "times_ns": [machine.slower * time for time in point["times_ns"]]}
        for point in (*products, *attention, *small)
    ]
    recovery = [
        {
            "what": "recovery",
            "rows": rows,
            "after_ns": after,
            "times_ns": [50_000.0 * (1 + (machine.slower - 1) * exp(-after / machine.settles_ns))] * 3,
        }
        for rows in (1, 16)
        for after in (1e6 * number for number in range(400))
    ]
    streamed = [
        point | {"what": "stream_small", "times_ns": [time + machine.stream_ns for time in point["times_ns"]]}
        for point in (*small[:4], _small(machine, "sampler", "vllm.gumbel_sample", 4, 6_000.0))
    ]
    launches: list[Json] = [
        {"what": "stream_slot", "times_ns": [2_000.0 + machine.stream_ns] * 3},
        {"what": "null_launch", "times_ns": [2_100.0, 2_200.0, 9_000.0]},
        {"what": "launch_to_start", "times_ns": [7_700.0] * 3},
        {"what": "node_slot", "times_ns": [2_000.0] * 3},
        {"what": "node_kernel", "times_ns": [2_000.0 - machine.gap_ns] * 3},
    ]
    for nodes in (50, 100, 400):
        launches.append({"what": "graph_nodes", "nodes": nodes, "times_ns": [3_000.0 + 1_100.0 * nodes] * 3})
        launches.append({"what": "graph_launch", "nodes": nodes, "times_ns": [5_000.0 + 4.0 * nodes] * 3})
    return {
        "schema": "kerntrace.calibration-points/1",
        "machine": {"gpu": gpu, "date": "2026-11-30", "clocks_sm": "1980", "clocks_max_sm": "1980"},
        "points": [*products, *attention, *small, *loaded, *recovery, *streamed, *passes, *memory, *launches],
        "warnings": [],
    }


def _small(machine: Machine, kind: str, family: str, size: int, fixed: float) -> Json:
    time = fixed + size / machine.cache_bandwidth
    return {"what": "small", "kind": kind, "family": family, "rows": 1, "bytes": size, "times_ns": [time] * 3}
