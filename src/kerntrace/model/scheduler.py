"""The scheduler residual alpha(N) S(N) of the published latency model. Room: accounting | model.

The publication gives S at two batch sizes only: S(1) = 1.30 ms and S(16) = 4.3 ms. Every form below goes through both; which
was meant is not said, so a prediction names the one it used. At N = 32 they differ from 5.05 to 7.5 ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from math import log, log2, sqrt

from kerntrace.errors import UsageError

S_AT_1_MS = 1.30
S_AT_16_MS = 4.3
_N = 16


class SForm(str, Enum):
    """How S grows between and beyond the two given points."""

    LINEAR = "linear"
    LOG2 = "log2"
    SQRT = "sqrt"
    POWER = "power"
    TABLE = "table"


class Alpha(str, Enum):
    """Which part of S a step pays.

    Attributes:
        MODE: 1 where the host launches kernels, 0 under a graph: the only reading under which graphs remove S itself.
        SHADOW: what of S the GPU's own time does not cover, max(0, S - T_blocks).
        NONE: 0, scheduling is hidden behind the GPU's work (asynchronous scheduling).
    """

    MODE = "mode"
    SHADOW = "shadow"
    NONE = "none"


def scheduler_ms(batch: int, form: SForm, table: Mapping[int, float] | None = None) -> float:
    """S(N) in milliseconds.

    Args:
        table: for form `table`, milliseconds at measured batch sizes; between two of them the line through both.

    Raises:
        UsageError: if a table is needed and none is given, or the batch is outside it.
    """
    rise = S_AT_16_MS - S_AT_1_MS
    if form is SForm.LINEAR:
        return S_AT_1_MS + rise * (batch - 1) / (_N - 1)
    if form is SForm.LOG2:
        return S_AT_1_MS + rise * log2(batch) / log2(_N)
    if form is SForm.SQRT:
        return S_AT_1_MS + rise * (sqrt(batch) - 1) / (sqrt(_N) - 1)
    if form is SForm.POWER:
        return float(S_AT_1_MS * batch ** (log(S_AT_16_MS / S_AT_1_MS) / log(_N)))
    return _from_table(batch, table or {})


def residual_ns(scheduler_ns: float, alpha: Alpha, *, graphed: bool, t_blocks_ns: float) -> float:
    """alpha(N) S(N) in nanoseconds."""
    if alpha is Alpha.NONE or (alpha is Alpha.MODE and graphed):
        return 0.0
    return max(0.0, scheduler_ns - t_blocks_ns) if alpha is Alpha.SHADOW else scheduler_ns


def _from_table(batch: int, table: Mapping[int, float]) -> float:
    if not table:
        raise UsageError("S form 'table' needs a table", "give --s-table, e.g. 1:1.3,16:4.3 (batch:milliseconds)")
    points = sorted(table.items())
    if not points[0][0] <= batch <= points[-1][0]:
        raise UsageError(
            f"batch {batch} is outside the table of S, {points[0][0]} to {points[-1][0]}", "add a point to --s-table"
        )
    low = max(point for point in points if point[0] <= batch)
    high = min(point for point in points if point[0] >= batch)
    return low[1] if low == high else low[1] + (high[1] - low[1]) * (batch - low[0]) / (high[0] - low[0])
