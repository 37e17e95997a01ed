"""The groups of microbenchmarks, in the order they run, and how one process runs them. Room: engines.

What a profile cannot do without comes first, at rested clocks. What needs clocks that are held down follows, since they take a
while to recover; then what stands for few kernels of a step. A little time is kept back for the short groups at the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kerntrace.errors import KerntraceError

if TYPE_CHECKING:
    from kerntrace.engines.microbench.bench import Bench, Point

KEPT_BACK_S = 12.0
CLOCKS = "clocks under load"

DONE = 0
AGAIN = 3  # exit status of a process that asks for a fresh one for the groups it has not begun

Emit = Callable[[dict[str, Any]], None]


class Group(NamedTuple):
    """What is measured together.

    Attributes:
        most_s: seconds it may take, several times what it took on an H200.
        at_end: one of those that time is kept back for.
    """

    name: str
    most_s: float
    at_end: bool = False


GROUPS = (
    Group("memory", 20),
    Group("products", 45),
    Group("attention", 60),  # imports vLLM
    Group("small kernels of PyTorch", 25),
    Group("small kernels of vLLM", 25),
    Group("small kernels of Inductor", 45),  # compiles
    Group("graphs", 10),
    Group("launches", 10),
    Group("recovery after large products", 25),
    Group("products, loaded", 50),
    Group("attention, loaded", 50),
    Group("small kernels of vLLM, loaded", 25),
    Group("small kernels of PyTorch, loaded", 30),
    Group("small kernels of Inductor, loaded", 30),
    Group("sampler of vLLM", 25),
    Group("sampler of vLLM, loaded", 15),
    Group("sampler of vLLM, launched one by one", 15),
    Group("kernels launched one by one", 25),
    Group("products under other conditions", 10),
    Group("gap of a stream", 10, at_end=True),
    Group("memory again", 10, at_end=True),
    Group(CLOCKS, 25, at_end=True),
    Group("gap between nodes", 25, at_end=True),  # by PyTorch's profiler: nothing is timed in that process after it
)


def deadline_of(group: Group, began: float, deadline: float) -> float:
    """When a group that began then has to end: its own limit, or what is left of everything."""
    return min(began + group.most_s, deadline if group.at_end else deadline - KEPT_BACK_S)


def run(names: Sequence[str], emit: Emit, deadline: float) -> int:
    """Run these groups in this process and hand over what they measure, one line at a time; the exit status.

    Lines: {"machine"}, {"begin": name}, {"point"}, {"warning"}, {"end": name}, {"refused": [what, hint]}.

    Args:
        deadline: on the clock of `time.monotonic`, which all processes of a machine share.
    """
    from kerntrace.engines.microbench.machine import describe_machine

    try:
        bench = _bench()
    except KerntraceError as error:
        emit({"refused": [error.what, error.hint]})
        return DONE
    emit({"machine": describe_machine()})
    parts = _parts()
    for group in GROUPS:
        if group.name not in names:
            continue
        ends = deadline_of(group, time.monotonic(), deadline)
        if ends <= time.monotonic():
            emit({"warning": f"{group.name}: not measured: no time was left"})
            continue
        emit({"begin": group.name})
        if not _measured(group.name, parts[group.name], bench, emit, ends):
            return AGAIN
        emit({"end": group.name})
    return DONE


def _measured(name: str, part: Callable[[Bench], Iterable[Point]], bench: Bench, emit: Emit, ends: float) -> bool:
    """Run one group; False if what comes after it needs another process."""
    parent = os.getppid()
    try:
        for point in part(bench):  # one by one: what was measured before a failure counts
            emit({"machine" if name == CLOCKS else "point": point})
            if time.monotonic() > ends:
                emit({"warning": f"{name}: cut short: its time was over"})
                break
            if os.getppid() != parent:
                return False  # nobody reads any more
    except ImportError as error:  # nothing ran, so nothing is left behind
        emit({"warning": f"{name}: {first_line(error)}"})
    except Exception as error:  # a capture that broke off or a dead context would disturb the next group
        emit({"warning": f"{name}: {first_line(error)}"})
        return False
    try:
        bench.free()
    except RuntimeError as error:
        emit({"warning": f"{name}: what it launched went wrong: {first_line(error)}"})
        return False
    return True


def first_line(error: BaseException) -> str:
    """An error, for a warning."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"


def _parts() -> dict[str, Callable[[Bench], Iterable[Point]]]:
    from kerntrace.engines.microbench import attention, kernels, launches, load, machine, small, stream

    works = {"vLLM": small.of_vllm, "PyTorch": small.of_torch, "Inductor": small.of_inductor}
    return {
        "memory": kernels.memory,
        "products": kernels.products,
        "attention": attention.attention,
        **{f"small kernels of {who}": partial(small.small, works=these) for who, these in works.items()},
        "graphs": launches.graphs,
        "launches": launches.launches,
        "recovery after large products": load.recovery,
        "products, loaded": kernels.products_loaded,
        "attention, loaded": attention.attention_loaded,
        **{f"small kernels of {who}, loaded": partial(small.small_loaded, works=these) for who, these in works.items()},
        "sampler of vLLM": partial(small.small, works=small.of_sampler),
        "sampler of vLLM, loaded": partial(small.small_loaded, works=small.of_sampler),
        "sampler of vLLM, launched one by one": stream.stream_sampler,
        "kernels launched one by one": stream.stream_torch,
        "products under other conditions": kernels.conditions,
        "gap of a stream": stream.stream_gap,
        "memory again": kernels.memory_again,
        CLOCKS: lambda bench: [machine.clocks_under_load(bench)],
        "gap between nodes": launches.node_gap,
    }


def _bench() -> Bench:
    """Raises: KerntraceError: if PyTorch or a CUDA device is missing."""
    try:
        import torch
    except ImportError as error:
        raise KerntraceError(
            f"calibrate needs PyTorch, which cannot be imported: {error}",
            "Install kerntrace[torch], or give --from POINTS.json.",
        ) from None
    if not torch.cuda.is_available():
        raise KerntraceError(
            "calibrate needs a CUDA GPU, and PyTorch sees none", "Run it on the GPU machine, or give --from POINTS.json."
        )
    from kerntrace.engines.microbench.bench import Bench

    return Bench()
