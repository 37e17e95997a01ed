"""A collector's trace made a profile's: with the machine, the workload and the untraced walls in it. Room: capture."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from kerntrace.capture.machine import Machine, cpu_name
from kerntrace.capture.wallclock import CellTimes, walls_table
from kerntrace.engines.protocol import EngineSpec
from kerntrace.trace.manifest import WorkloadInfo
from kerntrace.trace.model import Trace

_FACTS = ("torch", "vllm", "cuda", "python", "cupti")


def dressed(trace: Trace, spec: EngineSpec, cells: tuple[CellTimes, ...], facts: Mapping[str, str], machine: Machine) -> Trace:
    """The trace with what is known of its making. What the collector says of the GPU stays.

    Args:
        facts: versions, by the manifest's names; others are left out.
    """
    known = {name: facts[name] for name in _FACTS if name in facts}
    found = with_machine(trace, machine)
    environment = msgspec.structs.replace(found.manifest.environment, **known)
    manifest = msgspec.structs.replace(found.manifest, environment=environment, workload=workload_of(spec))
    walls = walls_table(spec.mode, cells) if any(cell.untraced for cell in cells) else trace.walls
    return replace(trace, manifest=manifest, walls=walls)


def with_machine(trace: Trace, machine: Machine) -> Trace:
    """The trace with the machine's driver, CPU and, where the collector did not say, GPU."""
    said = trace.manifest.environment
    environment = msgspec.structs.replace(
        said,
        driver=said.driver or machine.driver,
        gpu=said.gpu or (machine.gpus[0].name if machine.gpus else None),
        gpu_count=said.gpu_count or len(machine.gpus) or None,
        cpu=said.cpu or cpu_name(),
        python=said.python or platform.python_version(),
    )
    return replace(trace, manifest=msgspec.structs.replace(trace.manifest, environment=environment))


def workload_of(spec: EngineSpec) -> WorkloadInfo:
    """The manifest's words for what ran; of a path only its last name."""
    return WorkloadInfo(
        engine=spec.engine + ("" if spec.engine != "vllm" else "-multiprocess" if spec.multiprocess else "-in-process"),
        model=spec.model.rstrip("/").rsplit("/", 1)[-1],
        mode=spec.mode,
        dtype=spec.dtype,
        batches=spec.batches,
        context=spec.context,
        tokens=spec.tokens,
    )
