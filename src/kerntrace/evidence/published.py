"""What a published wall-clock study found, as reference rows beside our figures: never an input, never a target.

Room: evidence.

The study: Llama-3.1-8B BF16 under vLLM, batch 1 to 32, context 512 to 8192, a step's wall time by subtraction. It gave the
medians over its grid of the gap between eager and graph and of the gap's share of the eager step; the two steps here follow
from them (gap / share), so they are derived from a reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from kerntrace.model.inventory import element_bytes
from kerntrace.model.predict import Prediction
from kerntrace.units import NS_PER_MS
from kerntrace.workload import Mode

OVER_PREDICTED = 0.332  # by how much the study's model over-predicts graph steps, mean of |p - m| / m
STUDIED_MODEL = "llama-3.1-8b"
_STUDIED_BYTES = 2


@dataclass(frozen=True, slots=True)
class Reference:
    """Medians over the study's grid on one GPU.

    Attributes:
        gap_ms, gap_share: eager less graph, and its share of the eager step.
    """

    gpus: tuple[str, ...]
    gap_ms: float
    gap_share: float

    @property
    def eager_ms(self) -> float:
        return self.gap_ms / self.gap_share

    @property
    def graph_ms(self) -> float:
        return self.eager_ms - self.gap_ms


REFERENCES = (
    Reference(("A100-40GB-SXM", "A100-40GB-PCIe"), 5.07, 0.267),
    Reference(("H100-SXM",), 3.39, 0.342),
    Reference(("H200",), 4.36, 0.460),
)


def reference_for(gpu: str, model: str, *dtypes: str) -> Reference | None:
    """The study's row for this GPU and model, if it has one.

    Args:
        dtypes: of weights, and of keys and values; the study's had 16 bits.
    """
    if model != STUDIED_MODEL or any(element_bytes(dtype) != _STUDIED_BYTES for dtype in dtypes):
        return None
    return next((one for one in REFERENCES if gpu in one.gpus), None)


def efficiency_to_over_predict(ideal_ns: float, measured_ns: float, by: float = OVER_PREDICTED) -> float:
    """The flat share of bandwidth at which a roofline without fixed costs would predict (1 + by) x the measured time."""
    return ideal_ns / ((1 + by) * measured_ns)


@dataclass(frozen=True, slots=True)
class Beside:
    """Predictions for one GPU, mode and profile beside the study's median.

    Attributes:
        predicted_ms: median of the predicted steps over `cells` cells, which need not be the study's grid.
        reference_ms: the study's median.
        efficiency_needed: the flat share of bandwidth at which a roofline's median would be 33.2 % above the study's graph
            step; None for eager, which its GPU does not bind.
    """

    gpu: str
    mode: Mode
    profile: str
    cells: int
    predicted_ms: float
    reference_ms: float
    efficiency_needed: float | None


def beside_published(predictions: Sequence[Prediction]) -> list[Beside]:
    """The study's medians beside the predictions' for the GPUs, the model, the modes and the 16-bit weights that it had."""
    groups: dict[tuple[str, Mode, str], list[Prediction]] = {}
    for one in predictions:
        dtypes = one.options.dtype, one.options.kv_dtype or one.options.dtype
        if one.cell.mode in (Mode.EAGER, Mode.GRAPH) and reference_for(one.gpu.name, one.model.name, *dtypes):
            groups.setdefault((one.gpu.name, one.cell.mode, one.profile.name), []).append(one)
    return [_beside(gpu, mode, profile, group) for (gpu, mode, profile), group in groups.items()]


def _beside(gpu: str, mode: Mode, profile: str, group: list[Prediction]) -> Beside:
    row = reference_for(gpu, STUDIED_MODEL)
    assert row is not None  # the group was made of such
    ideal = median(one.ideal_ns for one in group)
    needed = efficiency_to_over_predict(ideal, row.graph_ms * NS_PER_MS) if mode is Mode.GRAPH else None
    reference = row.graph_ms if mode is Mode.GRAPH else row.eager_ms
    predicted = median(one.step_ns for one in group) / NS_PER_MS
    return Beside(gpu, mode, profile, len(group), predicted, reference, needed)
