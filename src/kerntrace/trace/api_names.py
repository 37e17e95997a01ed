"""Which API functions launch kernels, launch graphs or wait for the device, by name. Room: trace.

CUDA's runtime and driver names (cuda_runtime_api.h, cuda.h) and HIP's (hip_runtime_api.h). The one definition of each list.
"""

from __future__ import annotations

import re

GRAPH_LAUNCHES = frozenset({"cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch"})

LAUNCHES = GRAPH_LAUNCHES | {
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cudaLaunchCooperativeKernel",
    "cudaLaunchCooperativeKernelMultiDevice",
    "cudaLaunch",
    "__cudaLaunchKernel",
    "cuLaunch",
    "cuLaunchGrid",
    "cuLaunchGridAsync",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuLaunchCooperativeKernel",
    "cuLaunchCooperativeKernelMultiDevice",
    "hipLaunchKernel",
    "hipLaunchByPtr",
    "hipLaunchKernelExC",
    "hipLaunchCooperativeKernel",
    "hipLaunchCooperativeKernelMultiDevice",
    "hipExtLaunchKernel",
    "hipExtLaunchMultiKernelMultiDevice",
    "hipExtModuleLaunchKernel",
    "hipModuleLaunchKernel",
    "hipModuleLaunchKernelExt",
    "hipModuleLaunchCooperativeKernel",
    "hipModuleLaunchCooperativeKernelMultiDevice",
    "hipDrvLaunchKernelEx",
    "hipHccModuleLaunchKernel",
}

_SYNCHRONISING = re.compile(
    r"(cuda|hip)(DeviceSynchronize|ThreadSynchronize|StreamSynchronize|EventSynchronize)"
    r"|(cu|hip)(CtxSynchronize|StreamSynchronize|EventSynchronize)"
    r"|(cuda|hip)(Memcpy|Memset)(2D|3D|To\w+|From\w+|Peer)?"
    r"|cuMemcpy(HtoD|DtoH|DtoD|2D|3D|Peer)?|hipMemcpy(HtoD|DtoH|DtoD)"
)

_SUFFIX = re.compile(r"(_v\d+|_ptsz|_ptds)+$")


def function_name(recorded: str) -> str:
    """The function a recorder's API name stands for: `cudaLaunchKernel_v7000` and `cudaLaunchKernel_ptsz` lose the suffix."""
    return _SUFFIX.sub("", recorded)


def is_launch(function: str) -> bool:
    """Whether the function launches a kernel or a graph."""
    return function in LAUNCHES


def is_graph_launch(function: str) -> bool:
    """Whether the function launches a whole graph."""
    return function in GRAPH_LAUNCHES


def is_synchronising(function: str) -> bool:
    """Whether the function may block the calling thread until the device has finished work."""
    return _SYNCHRONISING.fullmatch(function) is not None


def is_driver(function: str) -> bool:
    """Whether this is a CUDA driver function (`cuLaunchKernel`) rather than a runtime one (`cudaLaunchKernel`)."""
    return re.match(r"cu[A-Z]", function) is not None
