"""How many kernels a captured CUDA graph holds, asked of the CUDA runtime: a count no profiler had a part in. Room: engines."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

_KERNEL_NODE = 0  # cudaGraphNodeTypeKernel
_LIBRARY = re.compile(r"(/\S*libcudart[^/\s]*\.so[.\d]*)$", re.MULTILINE)


def count_kernel_nodes(graph: int) -> int | None:
    """Kernel nodes of a graph; None where no CUDA runtime is mapped or it will not say.

    Args:
        graph: a cudaGraph_t.
    """
    runtime = _runtime()
    if runtime is None:
        return None
    count = ctypes.c_size_t(0)
    if runtime.cudaGraphGetNodes(ctypes.c_void_p(graph), None, ctypes.byref(count)):
        return None
    nodes = (ctypes.c_void_p * count.value)()
    if runtime.cudaGraphGetNodes(ctypes.c_void_p(graph), nodes, ctypes.byref(count)):
        return None
    kernels = 0
    for node in nodes:
        kind = ctypes.c_int(-1)
        if runtime.cudaGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(kind)):
            return None
        kernels += kind.value == _KERNEL_NODE
    return kernels


def _runtime() -> Any:
    try:
        found = _LIBRARY.search(Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace"))
        return ctypes.CDLL(found[1]) if found else None
    except OSError:
        return None
