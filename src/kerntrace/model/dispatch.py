"""The dispatch floor: how fast the host can hand kernels to the GPU. Room: accounting | model.

Two costs are kept apart. A driver's launch call takes a few microseconds; a framework's whole way to it (Python, dispatcher,
checks) takes tens. With the first the floor never binds and the published model's max() is inert; with the second it is the
eager step. Both are properties of a host and its load: measure them, the defaults here are only to start from.
"""

from __future__ import annotations

from dataclasses import dataclass

from kerntrace.model.inventory import Inventory
from kerntrace.model.profile import Constant

T_DISPATCH_US = Constant(
    30.0,
    "assumed",
    "PyTorch operations on an A100 host cost 12 to 45 us each, end to end (LLMCompass overhead table); hosts differ",
    "2026-11-30",
)
T_LAUNCH_DRIVER_US = Constant(
    4.0, "assumed", "2 to 6 us for a launch call on an idle stream, several public measurements", "2026-11-30"
)
T_GRAPH_LAUNCH_US = Constant(
    8.0, "assumed", "about 2.5 us plus 1 ns a node for a straight-line graph, and several times that while traced", "2026-11-30"
)
T_SAMPLER_HOST_US = Constant(
    0.0, "assumed", "hidden by asynchronous scheduling, on by default in vLLM 0.24; 50 to 1000 us without it", "2026-11-30"
)


@dataclass(frozen=True, slots=True)
class Host:
    """What the host costs a step, each with its kind and source."""

    t_dispatch_us: Constant = T_DISPATCH_US
    t_launch_driver_us: Constant = T_LAUNCH_DRIVER_US
    t_graph_launch_us: Constant = T_GRAPH_LAUNCH_US
    t_sampler_host_us: Constant = T_SAMPLER_HOST_US


def dispatch_floor_ns(inventory: Inventory, host: Host) -> float:
    """Time the host needs to dispatch a step: every kernel it launches itself, and the graph's launch where there is one."""
    return _floor(inventory, host, host.t_dispatch_us.value)


def driver_floor_ns(inventory: Inventory, host: Host) -> float:
    """The same with the driver's launch cost only, the narrowest reading of the published t_launch."""
    return _floor(inventory, host, host.t_launch_driver_us.value)


def _floor(inventory: Inventory, host: Host, each_us: float) -> float:
    graph_us = host.t_graph_launch_us.value if inventory.step.graphed else 0.0
    return 1000 * (inventory.host_launches * each_us + graph_us)
