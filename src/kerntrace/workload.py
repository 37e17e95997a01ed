"""What was run: the mode of execution and the shape of the decode batch. Room: stats | hardware | workload."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Mode(str, Enum):
    """How the engine dispatches a decode step's kernels to the GPU."""

    EAGER = "eager"
    GRAPH = "graph"
    GRAPH_NOCOMPILE = "graph-nocompile"
    COMPILE = "compile"


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of a study's grid.

    Attributes:
        mode: how kernels are dispatched.
        batch: sequences decoded in a step.
        context: tokens of context a sequence has when decoding begins.
    """

    mode: Mode
    batch: int
    context: int

    def __post_init__(self) -> None:
        if self.batch < 1 or self.context < 1:
            raise ValueError(f"a cell has at least one sequence of one token, not {self.batch} of {self.context}")


@dataclass(frozen=True, slots=True)
class Workload:
    """A model and the cell it is run at.

    Attributes:
        model: preset, hub name or a directory's base name; never a whole path.
        dtype: of the weights, e.g. `bfloat16`.
        cell: mode, batch and context.
        tokens: tokens generated for each sequence.
    """

    model: str
    dtype: str
    cell: Cell
    tokens: int
