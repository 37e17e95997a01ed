"""Device work in the order a step launches it, and the kernel families that carry it. Room: accounting | model."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kerntrace.model.operations import Kind, Operation


class Phase(str, Enum):
    """Part of a step, in order."""

    PREPARE = "prepare"
    FORWARD = "forward"
    SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel, or one copy, that a step runs.

    Attributes:
        name: the operation's name, or `a+b` where one kernel carries several, or `a.part` where several carry one.
        family: the kernel family that carries it, for a later join with a trace's names.
        operations: names of the operations it carries.
        part_of: name of the kernel whose published fixed time already covers this one, within the same layer; empty if none.
        is_copy: recorded as a copy or a memset, not as a kernel.
    """

    name: str
    family: str
    kind: Kind
    layer: int | None
    phase: Phase
    operations: tuple[str, ...]
    shape: tuple[int, ...]
    flops: int
    dram_bytes: int
    l2_bytes: int
    part_of: str = ""
    is_copy: bool = False

    @property
    def bytes(self) -> int:
        return self.dram_bytes + self.l2_bytes

    @property
    def intensity(self) -> float:
        """Operations a byte; 0 where nothing moves."""
        return self.flops / self.bytes if self.bytes else 0.0


def carry(
    family: str, *operations: Operation, phase: Phase = Phase.FORWARD, part_of: str = "", is_copy: bool = False
) -> Kernel:
    """One kernel that carries the operations. What one hands the next stays in registers, but is counted: it is small."""
    first = operations[-1]
    return Kernel(
        name="+".join(operation.name for operation in operations),
        family=family,
        kind=first.kind,
        layer=first.layer,
        phase=phase,
        operations=tuple(operation.name for operation in operations),
        shape=first.shape,
        flops=sum(operation.flops for operation in operations),
        dram_bytes=sum(operation.dram_bytes for operation in operations),
        l2_bytes=sum(operation.l2_bytes for operation in operations),
        part_of=part_of,
        is_copy=is_copy,
    )


def share(family: str, operation: Operation, part: str, portion: float) -> Kernel:
    """One of several kernels that carry an operation together, with its portion of the work."""
    return Kernel(
        name=f"{operation.name}.{part}",
        family=family,
        kind=operation.kind,
        layer=operation.layer,
        phase=Phase.FORWARD,
        operations=(operation.name,),
        shape=operation.shape,
        flops=round(operation.flops * portion),
        dram_bytes=round(operation.dram_bytes * portion),
        l2_bytes=round(operation.l2_bytes * portion),
    )
