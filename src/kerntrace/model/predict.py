"""A decode step predicted term by term. Room: accounting | model.

    published:  T_step = max(T_blocks, N_kern x t_launch) + alpha(N) S(N) + T_samp      t_launch: the driver's launch call
    dispatch:   T_step = max(T_blocks, N_host x t_dispatch) + T_samp                    no scheduler term

Both are computed for every cell; a reading chooses the headline. T_blocks holds all device work of the step, the sampler's
kernels included; T_samp is then only the host's part, and the sampler's GPU part is told apart but not added twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import ceil

from kerntrace.errors import UsageError
from kerntrace.hardware import GpuSpec
from kerntrace.model.architecture import Architecture
from kerntrace.model.dispatch import Host, dispatch_floor_ns, driver_floor_ns
from kerntrace.model.inventory import Inventory, element_bytes, take_inventory
from kerntrace.model.kernels import Phase
from kerntrace.model.profile import Profile
from kerntrace.model.roofline import Timed, time_kernels, total_ns
from kerntrace.model.scheduler import Alpha, SForm, residual_ns, scheduler_ms
from kerntrace.units import NS_PER_MS
from kerntrace.workload import Cell, Mode

_CONTEXT_GROWTH_WORTH_SAYING = 0.05
_MEMORY_SLACK = 1.1


class Reading(str, Enum):
    """Which formula gives the headline."""

    DISPATCH = "dispatch"
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class Options:
    """What a prediction assumes beyond GPU, model and cell.

    Attributes:
        tokens: tokens generated; the step predicted is the mean one, with tokens / 2 more keys than the context.
        max_length: tokens a sequence may grow to, the model's limit if None.
        s_table: milliseconds by batch for S form `table`.
    """

    dtype: str = "bfloat16"
    kv_dtype: str | None = None
    tokens: int = 33
    max_length: int | None = None
    reading: Reading = Reading.DISPATCH
    s_form: SForm = SForm.LINEAR
    s_table: dict[int, float] = field(default_factory=dict)
    alpha: Alpha = Alpha.MODE
    host: Host = field(default_factory=Host)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted decode step; every time is in nanoseconds.

    Attributes:
        t_blocks_ns: all device work; t_sampler_gpu_ns is the part of it after the final norm.
        floor_ns: host time to dispatch the step, with the framework's cost; driver_floor_ns with the driver's only.
        scheduler_ns: S(N); residual_ns: alpha(N) S(N).
        by_reading_ns: the step by each reading.
        gap_residual_ns: what a graph removes if it removes alpha S only.
        gap_total_ns: predicted eager step less predicted graph step by the reading, everything else equal.
        ideal_ns: sum of the rooflines' lower bounds.
    """

    gpu: GpuSpec
    model: Architecture
    cell: Cell
    kv_length: int
    profile: Profile
    options: Options
    inventory: Inventory
    timed: tuple[Timed, ...]
    t_blocks_ns: float
    t_sampler_gpu_ns: float
    ideal_ns: float
    floor_ns: float
    driver_floor_ns: float
    scheduler_ns: float
    residual_ns: float
    by_reading_ns: dict[str, float]
    gap_residual_ns: float
    gap_total_ns: float
    notes: tuple[str, ...]

    @property
    def step_ns(self) -> float:
        return self.by_reading_ns[self.options.reading.value]


def predict_step(model: Architecture, gpu: GpuSpec, cell: Cell, profile: Profile, options: Options | None = None) -> Prediction:
    """The step that decodes one token for each of the cell's sequences.

    Raises:
        UsageError: if the cell is beyond the model's limit, or a constant that is needed is missing.
    """
    options = options or Options()
    if options.tokens < 1:
        raise UsageError(f"{options.tokens} tokens", "give --tokens 1 or more")
    half = _predict(model, gpu, cell, profile, options)
    other = Mode.EAGER if half.inventory.step.graphed else Mode.GRAPH
    twin = _predict(model, gpu, Cell(other, cell.batch, cell.context), profile, options)
    eager, graph = (twin, half) if half.inventory.step.graphed else (half, twin)
    chosen = options.reading.value
    return Prediction(
        gpu=gpu,
        model=model,
        cell=cell,
        kv_length=half.inventory.step.kv_length,
        profile=profile,
        options=options,
        inventory=half.inventory,
        timed=half.timed,
        t_blocks_ns=half.t_blocks_ns,
        t_sampler_gpu_ns=total_ns(entry for entry in half.timed if entry.kernel.phase is Phase.SAMPLE),
        ideal_ns=sum(entry.ideal_ns for entry in half.timed),
        floor_ns=half.floor_ns,
        driver_floor_ns=half.driver_floor_ns,
        scheduler_ns=half.scheduler_ns,
        residual_ns=half.residual_ns,
        by_reading_ns=half.by_reading_ns,
        gap_residual_ns=eager.residual_ns - graph.residual_ns,
        gap_total_ns=eager.by_reading_ns[chosen] - graph.by_reading_ns[chosen],
        notes=(*half.inventory.notes, *_notes(model, gpu, cell, options)),
    )


@dataclass(frozen=True, slots=True)
class _Terms:
    inventory: Inventory
    timed: tuple[Timed, ...]
    t_blocks_ns: float
    floor_ns: float
    driver_floor_ns: float
    scheduler_ns: float
    residual_ns: float
    by_reading_ns: dict[str, float]


def _predict(model: Architecture, gpu: GpuSpec, cell: Cell, profile: Profile, options: Options) -> _Terms:
    inventory = take_inventory(
        model,
        gpu,
        cell,
        kv_length=cell.context + ceil(options.tokens / 2),
        max_length=options.max_length,
        dtype=options.dtype,
        kv_dtype=options.kv_dtype,
    )
    timed = time_kernels(inventory, profile, options.dtype)
    blocks = total_ns(timed)
    scheduler = NS_PER_MS * scheduler_ms(cell.batch, options.s_form, options.s_table)
    residual = residual_ns(scheduler, options.alpha, graphed=inventory.step.graphed, t_blocks_ns=blocks)
    floor, driver = dispatch_floor_ns(inventory, options.host), driver_floor_ns(inventory, options.host)
    sampler = 1000 * options.host.t_sampler_host_us.value
    return _Terms(
        inventory=inventory,
        timed=timed,
        t_blocks_ns=blocks,
        floor_ns=floor,
        driver_floor_ns=driver,
        scheduler_ns=scheduler,
        residual_ns=residual,
        by_reading_ns={
            Reading.DISPATCH.value: max(blocks, floor) + sampler,
            Reading.PUBLISHED.value: max(blocks, driver) + residual + sampler,
        },
    )


def weights_bytes(model: Architecture, element: int) -> int:
    """Bytes of the parameters that matter for memory: projections, MLP or all experts, embeddings."""
    experts = model.experts.count if model.experts else 1
    attention = model.hidden * model.qkv_width + model.heads * model.head_dim * model.hidden
    mlp = 3 * model.hidden * model.intermediate * experts + (model.hidden * experts if model.experts else 0)
    tables = (1 if model.tied_embeddings else 2) * model.vocabulary * model.hidden
    return element * (model.layers * (attention + mlp) + tables)


def _notes(model: Architecture, gpu: GpuSpec, cell: Cell, options: Options) -> list[str]:
    notes = []
    if not gpu.in_table:
        notes.append(f"{gpu.name} is out of table: predicted from given values, not checked against a measurement")
    growth = options.tokens / 2 / cell.context
    if growth > _CONTEXT_GROWTH_WORTH_SAYING:
        notes.append(
            f"{options.tokens} tokens lengthen a context of {cell.context} by {100 * growth:.0f} % on average: steps differ"
        )
    needed = memory_bytes(model, cell, options)
    capacity = 1e9 * (gpu.memory_gb.nominal or 0)
    if capacity and needed * _MEMORY_SLACK > capacity:
        notes.append(
            f"{gpu.name} does not fit it: {needed / 1e9:.0f} GB of weights, keys and values on {capacity / 1e9:.0f} GB"
        )
    return notes


def memory_bytes(model: Architecture, cell: Cell, options: Options) -> int:
    """Bytes of weights and of all keys and values at the end of the generation."""
    cache = model.kv_bytes_per_token(element_bytes(options.kv_dtype or options.dtype))
    return weights_bytes(model, element_bytes(options.dtype)) + cell.batch * (cell.context + options.tokens) * cache
