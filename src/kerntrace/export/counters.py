"""How many operations were waiting on a device, and how many were running, at every time that changes it. Room: export."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kerntrace.export.shift import sane
from kerntrace.trace.launches import join_launches
from kerntrace.trace.model import Trace
from kerntrace.trace.operations import operations_of
from kerntrace.trace.table import Ints


class Counter(NamedTuple):
    """A number that holds from each time to the next. Arrays of one length."""

    time: Ints
    value: Ints


class DeviceCounters(NamedTuple):
    """Operations of one device (-1 where it is not recorded): launched but not started, and running."""

    device: int
    waiting: Counter
    running: Counter


def count_operations(trace: Trace) -> list[DeviceCounters]:
    """The counters of each device. An operation waits from the beginning of its launch call to its own start."""
    ops = operations_of(trace, join_launches(trace))
    device = np.empty(len(ops), np.int64)
    for table, mine in ((trace.kernels, ops.is_kernel), (trace.memops, ~ops.is_kernel)):
        device[mine] = table.ints("device_id", null=-1)[ops.row[mine]]
    calls = trace.api_calls.ints("start_ns") if len(trace.api_calls) else np.zeros(1, np.int64)
    began, ended = sane(ops.start), sane(ops.end)
    launched = np.where(ops.launch >= 0, sane(calls[ops.launch]), began)
    found = []
    for number in np.unique(device).tolist():
        mine = device == number
        start = began[mine]
        waiting = _count(np.minimum(launched[mine], start), start)
        found.append(DeviceCounters(number, waiting, _count(start, np.maximum(ended[mine], start))))
    return found


def _count(up: Ints, down: Ints) -> Counter:
    """How many intervals [up, down) hold each time."""
    time = np.concatenate([up, down])
    order = np.argsort(time, kind="stable")
    time = time[order]
    value = np.cumsum(np.repeat(np.array([1, -1]), len(up))[order])
    last = np.append(time[1:] != time[:-1], True)  # of several changes at one time the sum counts
    time, value = time[last], value[last]
    changed = np.diff(value, prepend=0) != 0
    return Counter(time[changed], value[changed])
