"""GPUs: what each can do at best, where each figure comes from, and how to look one up. Room: stats | hardware | workload."""

from __future__ import annotations

from kerntrace.hardware.spec import Figure, GpuSpec, Quantity
from kerntrace.hardware.table import device_reported, find_gpu, known_gpus

__all__ = ["Figure", "GpuSpec", "Quantity", "device_reported", "find_gpu", "known_gpus"]
