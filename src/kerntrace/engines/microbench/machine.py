"""The machine that microbenchmarks run on, as it says itself. Room: engines."""

from __future__ import annotations

import datetime
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kerntrace.engines.microbench.bench import Bench

_QUERY = (
    "driver_version,clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem,power.draw,temperature.gpu,clocks_event_reasons.active"
)


def describe_machine() -> dict[str, str]:
    """The GPU and the software, as each says itself."""
    import torch

    device = torch.cuda.get_device_properties(0)
    return {
        "gpu": str(device.name),
        "compute_capability": f"{device.major}.{device.minor}",
        "sms": str(device.multi_processor_count),
        "l2_bytes": str(device.L2_cache_size),
        "memory_bytes": str(device.total_memory),
        "torch": str(torch.__version__),
        "cuda": str(torch.version.cuda),
        "vllm": _vllm_version(),
        "date": datetime.date.today().isoformat(),
    }


def clocks_under_load(bench: Bench) -> dict[str, str]:
    """What nvidia-smi says while the GPU multiplies matrices; empty where it is missing or does not answer."""
    torch = bench.torch
    program = shutil.which("nvidia-smi")
    if program is None:
        return {}
    square = torch.randn(8192, 8192, dtype=torch.bfloat16, device=bench.device)
    for _ in range(600):  # about a second of work
        torch.mm(square, square)
    command = [program, f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits", "--id=0"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    finally:
        torch.cuda.synchronize()
    values = [value.strip() for value in said.splitlines()[0].split(",")] if said else []
    return dict(zip((name.replace(".", "_") for name in _QUERY.split(",")), values))


def _vllm_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("vllm")
    except PackageNotFoundError:
        return ""
