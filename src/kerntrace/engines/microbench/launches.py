"""What launching costs: a null kernel, the nodes of a graph, a graph itself. Room: engines.

The kernels come as PTX, which the driver compiles for the GPU at hand, and are launched by the driver's own call, so that what
is timed is neither PyTorch's dispatch nor a kernel that does anything.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from kerntrace.errors import KerntraceError

if TYPE_CHECKING:
    from kerntrace.engines.microbench.bench import Bench, Point

PTX = """.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry stamp(.param .u64 where, .param .u32 what)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [where];
    ld.param.u32 %r1, [what];
    cvta.to.global.u64 %rd2, %rd1;
    st.volatile.global.u32 [%rd2], %r1;
    ret;
}
"""
_LAUNCHES = 1000
_STAMPS = 300
_TOO_LONG_NS = 1_000_000_000
NODE_COUNTS = (50, 100, 200, 400, 800)
_GRAPH_LAUNCHES = 60


class Driver:
    """The driver's launch call for the two kernels above, on PyTorch's context and current stream."""

    def __init__(self, bench: Bench) -> None:
        self.torch = bench.torch
        self.torch.cuda.synchronize()  # makes the context that the module is loaded into
        self.cuda = ctypes.CDLL("libcuda.so.1")
        module = ctypes.c_void_p()
        self._check(self.cuda.cuModuleLoadData(ctypes.byref(module), PTX.encode()))
        self.nothing, self.stamp = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(self.cuda.cuModuleGetFunction(ctypes.byref(self.nothing), module, b"nothing"))
        self._check(self.cuda.cuModuleGetFunction(ctypes.byref(self.stamp), module, b"stamp"))

    def launcher(self, function: ctypes.c_void_p, arguments: Any = None) -> Callable[[], int]:
        """One launch of one thread; everything that can be prepared is."""
        call, stream = self.cuda.cuLaunchKernel, ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)
        one, zero = ctypes.c_uint(1), ctypes.c_uint(0)
        return lambda: call(function, one, one, one, one, one, one, zero, stream, arguments, None)

    def check_launch(self, launch: Callable[[], int]) -> None:
        self._check(launch())

    @staticmethod
    def _check(status: int) -> None:
        if status:
            raise KerntraceError(f"the CUDA driver answers with error {status}", "The driver may be too old for this PTX.")


def launches(bench: Bench) -> list[Point]:
    """CPU time of the driver's launch call, and the time from its beginning until the host sees the kernel's write."""
    driver = Driver(bench)
    launch = driver.launcher(driver.nothing)
    driver.check_launch(launch)
    version = ctypes.c_int()
    empty = _call_ns(lambda: driver.cuda.cuDriverGetVersion(ctypes.byref(version)), bench)
    idle = median(empty)  # what calling into the driver through ctypes costs when it does nothing
    calls = [max(0.0, ns - idle) for ns in _call_ns(launch, bench)]
    return [
        {"what": "null_launch", "times_ns": calls},
        {"what": "launch_to_start", "times_ns": _seen_ns(driver)},
    ]


def graphs(bench: Bench) -> Iterator[Point]:
    """Null kernels in a graph: GPU time and CPU time of a replay by the number of nodes."""
    driver = Driver(bench)
    for nodes in NODE_COUNTS:
        graph = bench.capture(partial(_launch_many, driver, nodes))
        times = [bench.replay_ns(graph, 20) for _ in range(9)]
        yield {"what": "graph_nodes", "nodes": nodes, "times_ns": times}
        yield {"what": "graph_launch", "nodes": nodes, "times_ns": _graph_call_ns(graph, bench)}


def _launch_many(driver: Driver, nodes: int) -> None:
    launch = driver.launcher(driver.nothing)  # on the stream that is current here: the capturing one
    for _ in range(nodes):
        driver.check_launch(launch)


def node_gap(bench: Bench) -> list[Point]:
    """Untraced time of a node and its kernel's own duration, by PyTorch's profiler: what is between them is the gap."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    torch, nodes = bench.torch, 128
    x = torch.randn(16, 4096, dtype=torch.bfloat16, device=bench.device)
    y = torch.empty_like(x)
    graph = bench.capture(lambda: [torch.add(x, 1.0, out=y) for _ in range(nodes)])
    slots = [bench.replay_ns(graph, 40) / nodes for _ in range(9)]
    with profile(activities=[ProfilerActivity.CUDA]) as traced:
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
    durations = [1000.0 * event.time_range.elapsed_us() for event in traced.events() if event.device_type == DeviceType.CUDA]
    own = [duration for duration in durations if 0 < duration < max(slots)]
    if not own:
        raise KerntraceError("PyTorch's profiler recorded no kernel of the replay")
    return [{"what": "node_slot", "times_ns": slots}, {"what": "node_kernel", "times_ns": own}]


def _call_ns(call: Callable[[], object], bench: Bench) -> list[float]:
    """CPU time of each of many calls; the device is waited for every 200, so that its queue never fills."""
    times = []
    for number in range(_LAUNCHES):
        if number % 200 == 0:
            bench.torch.cuda.synchronize()
        begin = time.perf_counter_ns()
        call()
        times.append(float(time.perf_counter_ns() - begin))
    bench.torch.cuda.synchronize()
    return times


def _seen_ns(driver: Driver) -> list[float]:
    """From the launch call's beginning until the host sees what the kernel wrote to its memory, on an idle stream."""
    page = driver.torch.zeros(1, dtype=driver.torch.int32, pin_memory=True)
    seen = page.numpy()
    where, what = ctypes.c_uint64(page.data_ptr()), ctypes.c_uint32(0)
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(where), ctypes.addressof(what))
    launch = driver.launcher(driver.stamp, arguments)
    times = []
    for number in range(1, _STAMPS + 1):
        driver.torch.cuda.synchronize()
        what.value = number
        begin = time.perf_counter_ns()
        launch()
        while seen[0] != number:
            if time.perf_counter_ns() - begin > _TOO_LONG_NS:
                raise KerntraceError("the host does not see what a kernel writes to its memory")
        times.append(float(time.perf_counter_ns() - begin))
    return times[_STAMPS // 10 :]


def _graph_call_ns(graph: Any, bench: Bench) -> list[float]:
    times = []
    for _ in range(_GRAPH_LAUNCHES):
        bench.torch.cuda.synchronize()
        begin = time.perf_counter_ns()
        graph.replay()
        times.append(float(time.perf_counter_ns() - begin))
    bench.torch.cuda.synchronize()
    return times[_GRAPH_LAUNCHES // 10 :]
