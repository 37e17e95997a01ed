"""The words that a page uses, as docs/terms.md defines them. Room: report."""

from __future__ import annotations

WORDS = (
    ("wall", "wall", "the step's time on the device: from its first operation to the first of the next step that runs any"),
    ("busy", "GPU busy", "the length of the union of all operations' intervals in the window, over all streams"),
    (
        "host_exposed",
        "host-exposed time",
        "host wait + in the launch call + launch latency: idle time that the host caused",
    ),
    ("host_wait", "host wait", "the part of a gap before the launch call that ended it began: the host had not launched yet"),
    ("launch_call", "in the launch call", "the part of a gap while that launch call ran"),
    ("launch_latency", "launch latency", "the part of a gap after that launch call had returned"),
    (
        "device_gap",
        "device gap",
        "a gap that ends at work launched before it began, or at a later node of a graph",
    ),
    ("profiler", "profiler", "the part of host wait in which the launching thread did the profiler's own work"),
    ("unattributed", "unattributed", "a gap that ends at an operation whose launch call is not on record"),
    ("steady", "steady", "of a step: complete, and both neighbours are decode steps of the same batch"),
    ("within", "within, between", "a term's part in gaps inside the step, and in the gap that reaches the window's end"),
    ("phase", "phase", "the innermost NVTX range or synchronising API call on the launching thread while the GPU waited"),
    ("family", "family", "what a kernel does, told from its name"),
    ("dilation", "dilation", "traced wall divided by untraced wall: what recording does to a step"),
    ("replay", "graph replay", "one launch of an instantiated CUDA graph, which runs all its nodes"),
    ("dispatch", "dispatch floor", "the least time a step needs for the host to dispatch its kernels one by one"),
    ("intensity", "arithmetic intensity", "operations a byte of DRAM traffic; the roofs meet at the ridge point"),
)
