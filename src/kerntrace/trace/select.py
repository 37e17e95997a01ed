"""One device and one process of a trace. Room: trace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kerntrace.errors import UsageError
from kerntrace.trace.launches import join_launches
from kerntrace.trace.model import Trace, devices, pids
from kerntrace.trace.table import Ints, Mask, Table


def select(trace: Trace, *, device: int | None = None, pid: int | None = None) -> Trace:
    """The trace with the device work of one device and one process.

    Host records stay, as they may explain it, but for calls whose work went elsewhere: they are not launches of this part.

    Raises:
        UsageError: if nothing ran on that device or in that process; the message lists what did.
    """
    if device is not None and device not in devices(trace):
        raise UsageError(f"nothing ran on device {device}", f"Devices in this trace: {_listed(devices(trace))}.")
    if pid is not None and pid not in pids(trace):
        raise UsageError(f"process {pid} ran nothing on a device", f"Processes that did: {_listed(pids(trace))}.")
    if device is None and pid is None:
        return trace
    launches = join_launches(trace)
    here, elsewhere = (np.zeros(len(trace.api_calls), dtype=bool) for _ in range(2))
    parts: dict[str, Table] = {}
    for name, call in (("kernels", launches.of_kernels), ("memops", launches.of_memops)):
        keep = _keep(trace.table(name), device, pid)
        here[call[keep & (call >= 0)]] = True
        elsewhere[call[~keep & (call >= 0)]] = True
        parts[name] = trace.table(name) if keep.all() else trace.table(name).where(keep)
    gone = elsewhere & ~here
    calls = trace.api_calls if not gone.any() else trace.api_calls.where(~gone[launches.outer])
    return replace(trace, api_calls=calls, kernels=parts["kernels"], memops=parts["memops"])


def _keep(table: Table, device: int | None, pid: int | None) -> Mask:
    keep = np.ones(len(table), dtype=bool)
    if device is not None:
        keep &= table.ints("device_id", null=-1) == device
    if pid is not None:
        keep &= table.ints("pid", null=-1) == pid
    return keep


def _listed(values: Ints) -> str:
    return ", ".join(str(v) for v in values[:12]) + (", ..." if len(values) > 12 else "") if len(values) else "none"
