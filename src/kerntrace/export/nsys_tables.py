"""The tables of an Nsight Systems export that are written, and the codes explained in them. Room: export.

NVIDIA changes the schema with every release and its readers go by columns, so the columns of all known releases are there:
those of 3.7 (2023.4) and what came until 3.28 (2026.4), with the tables under their old and new names. Columns that a trace
knows nothing of are null. Sources: the columns that `nsys export` of 2023.4 writes and NVIDIA's published change notes.
"""

from __future__ import annotations

SCHEMA_VERSION = "3.28.1"

_KERNEL = (
    "start end deviceId contextId greenContextId streamId correlationId globalPid demangledName shortName mangledName"
    " launchType cacheConfig registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory"
    " localMemoryPerThread localMemoryTotal gridId sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone"
    " qmdPreexitDone qmdLastCtaDone graphId clusterX clusterY clusterZ clusterSchedulingPolicy maxPotentialClusterSize"
    " maxActiveClusters sharedMemoryRequestedPercentage tensorSizeMinusOneElements:"
)
_COPY = (
    "start end deviceId contextId greenContextId streamId correlationId globalPid bytes copyKind deprecatedSrcId srcKind"
    " dstKind srcDeviceId srcContextId dstDeviceId dstContextId migrationCause graphNodeId virtualAddress copyCount graphId"
)
_SET = "start end deviceId contextId greenContextId streamId correlationId globalPid value bytes graphNodeId memKind graphId"
_RANGE = (
    "eventId! start end eventType rangeId category color text: globalTid endGlobalTid textId domainId uint64Value int64Value"
    " doubleValue~ uint32Value int32Value floatValue~ jsonTextId jsonText: binaryData"
)
_GPU = (
    "vmId id name: busLocation: isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount pwGpuId uuid: luid "
    " chipName: cuDevice computeMajor computeMinor smMajor smMinor"
)

# A column is an INTEGER, TEXT (`name:`), REAL (`name~`) or the primary key (`name!`).
TABLES = {
    "StringIds": "id! value:",
    "CUPTI_ACTIVITY_KIND_KERNEL": _KERNEL,
    "CUPTI_ACTIVITY_KIND_MEMCPY": _COPY,
    "CUPTI_ACTIVITY_KIND_MEMSET": _SET,
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId returnValue callchainId",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "start end globalTid nameId",
    "NVTX_EVENTS": _RANGE,
    "ThreadNames": "nameId priority globalTid",
    "PROCESSES": "globalPid pid name:",
    "CUDA_GRAPH_NODE_EVENTS": "start end eventClass globalTid nameId graphNodeId originalGraphNodeId",
    "CUDA_GRAPH_EVENTS": "start end eventClass globalTid nameId graphId originalGraphId",
    "TARGET_INFO_GPU": _GPU,
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid uuid: numMultiprocessors",
    "TARGET_INFO_CUDA_CONTEXT_INFO": "nullStreamId hwId vmId processId deviceId contextId parentContextId isGreenContext",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime: localTime:",
    "ANALYSIS_DETAILS": "globalVid duration startTime stopTime",
    "META_DATA_EXPORT": "name: value:",
    "META_DATA_CAPTURE": "name: value:",
}

# What an Nsight Systems has no table for. Its programs leave these alone; kerntrace reads back the first two.
OWN_TABLES = {
    "KERNTRACE_EXPORT": "name: value:",
    "KERNTRACE_API_CALLS": "start end eventClass globalTid correlationId nameId",
    "KERNTRACE_WALLS": "mode: batch context tokens repetition wall_ns",
}

_MEMORY = ("Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown")
DEVICE_MEMORY, ARRAY_MEMORY = _MEMORY.index("Device"), _MEMORY.index("Array")
_COPIES = {
    0: ("UNKNOWN", "Unknown"),
    1: ("HTOD", "Host-to-Device"),
    2: ("DTOH", "Device-to-Host"),
    3: ("HTOA", "Host-to-Array"),
    4: ("ATOH", "Array-to-Host"),
    5: ("ATOA", "Array-to-Array"),
    6: ("ATOD", "Array-to-Device"),
    7: ("DTOA", "Device-to-Array"),
    8: ("DTOD", "Device-to-Device"),
    9: ("HTOH", "Host-to-Host"),
    10: ("PTOP", "Peer-to-Peer"),
    11: ("UVM_HTOD", "Unified Host-to-Device"),
    12: ("UVM_DTOH", "Unified Device-to-Host"),
    13: ("UVM_DTOD", "Unified Device-to-Device"),
}
PUSH_POP_RANGE, DOMAIN_CREATE = 59, 75

# id, name, label: the codes that occur in what is written.
ENUMS: dict[str, list[tuple[int, str, str]]] = {
    "ENUM_CUDA_MEMCPY_OPER": [(n, f"CUDA_MEMCPY_KIND_{name}", label) for n, (name, label) in _COPIES.items()],
    "ENUM_CUDA_MEM_KIND": [
        (n, f"CUDA_MEMOPR_MEMORY_KIND_{label.upper().replace(' ', '_')}", label) for n, label in enumerate(_MEMORY)
    ],
    "ENUM_CUDA_KERNEL_LAUNCH_TYPE": [
        (0, "CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN", "Unknown"),
        (1, "CUDA_KERNEL_LAUNCH_TYPE_REGULAR", "Regular"),
    ],
    "ENUM_NSYS_EVENT_CLASS": [
        (0, "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"),
        (1, "TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"),
    ],
    "ENUM_NSYS_EVENT_TYPE": [
        (PUSH_POP_RANGE, "NvtxPushPopRange", "NvtxPushPopRange"),
        (DOMAIN_CREATE, "NvtxDomainCreate", "NvtxDomainCreate"),
    ],
}


def create_statements() -> list[str]:
    """The statements that create every table."""
    made = [f"CREATE TABLE {name} ({', '.join(map(_column, spec.split()))})" for name, spec in (TABLES | OWN_TABLES).items()]
    return made + [f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, name TEXT, label TEXT)" for name in ENUMS]


def _column(word: str) -> str:
    kinds = {":": "TEXT", "~": "REAL", "!": "INTEGER PRIMARY KEY"}
    return f'"{word.rstrip(":~!")}" {kinds.get(word[-1], "INTEGER")}'
