"""Which cells of a grid a GPU can hold: weights, keys and values, and the model's positions. Room: study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kerntrace.capture.machine import Gpu
from kerntrace.study.schedule import Shape
from kerntrace.units import size


class Need(Protocol):
    """GPU memory that an engine needs, bytes."""

    @property
    def weights(self) -> int: ...

    @property
    def kv_cache(self) -> int: ...

    @property
    def total(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a model's cells need.

    Attributes:
        need: of one cell's (batch, context); None for a model whose sizes are not known here, of which every cell is tried.
        positions: longest sequence of the model; None where not known.
        tokens: generated for each sequence.
    """

    need: Callable[[int, int], Need] | None
    positions: int | None
    tokens: int

    @property
    def known(self) -> bool:
        return self.need is not None

    def why_not(self, shape: Shape, gpu: Gpu) -> str:
        """Why a cell cannot run on a GPU; empty if it can."""
        batch, context = shape
        if self.positions is not None and context + self.tokens > self.positions:
            return f"context {context} and {self.tokens} tokens are more than the model's {self.positions} positions"
        if self.need is None:
            return ""
        need = self.need(batch, context)
        if need.total <= gpu.memory_bytes:
            return ""
        parts = f"weights {size(need.weights)}, keys and values {size(need.kv_cache)}"
        return f"needs about {size(need.total)} ({parts}), more than the {size(gpu.memory_bytes)} of the {gpu.name}"

    def total(self, shapes: Sequence[Shape]) -> int:
        """Bytes of an engine that runs each of these cells; 0 where not known."""
        return 0 if self.need is None else max(self.need(*shape).total for shape in shapes)

    def kv_cache(self, shapes: Sequence[Shape]) -> int:
        """Bytes of keys and values of such an engine; 0 where not known."""
        return 0 if self.need is None else max(self.need(*shape).kv_cache for shape in shapes)
