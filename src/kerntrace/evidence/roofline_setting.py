"""What a trace was recorded of, as the inventory has to know it: from the command line, else from the trace. Room: evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from kerntrace.accounting.analysis import Analysis
from kerntrace.accounting.summary import Cell
from kerntrace.errors import UsageError
from kerntrace.hardware import GpuSpec, find_gpu
from kerntrace.model.architecture import Architecture, load_model
from kerntrace.model.carriers import carrier_of
from kerntrace.model.inventory import Inventory, take_inventory
from kerntrace.model.layer import COMPILED, Variant
from kerntrace.steps.steady import DECODE, UNKNOWN_KIND
from kerntrace.trace.manifest import Manifest, WorkloadInfo
from kerntrace.workload import Cell as GridCell
from kerntrace.workload import Mode

_FUSED = ("triton_poi_fused", "triton_red_fused", "triton_per_fused")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user says of a recording; None for what the trace should say.

    Attributes:
        tokens: generated after the context.
        max_length: tokens a sequence may grow to; the model's limit if None.
    """

    model: str | None = None
    gpu: str | None = None
    gpu_spec: GpuSpec | None = None
    mode: Mode | None = None
    context: int | None = None
    tokens: int | None = None
    max_length: int | None = None
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """The same, settled.

    Attributes:
        tokens: None where neither says: then the longest run of decode steps counts.
        notes: where values came from that nobody gave, one line each.
    """

    model: Architecture
    gpu: GpuSpec
    mode: Mode
    context: int
    tokens: int | None
    max_length: int | None
    dtype: str
    notes: tuple[str, ...]


def settle(analysis: Analysis, asked: Asked) -> Setting:
    """Fill in from the trace what was not asked for.

    Raises:
        UsageError: if the trace does not say it; names the option.
    """
    manifest = analysis.trace.manifest
    said = manifest.workload
    notes = []
    mode = asked.mode or (Mode(said.mode) if said.mode in {m.value for m in Mode} else None)
    if mode is None:
        mode, why = guess_mode(analysis)
        notes.append(f"mode {mode.value}: {why}")
    model = asked.model or said.model
    if model is None:
        raise UsageError(
            "the trace does not say which model ran", "give --model, such as --model llama-3.1-8b or a config.json"
        )
    context = asked.context or said.context
    if context is None:
        raise UsageError(
            "the trace does not say the context's length", "give --context, the prompt's tokens, e.g. --context 512"
        )
    notes += _contradicted(asked, said)
    return Setting(
        model=load_model(model),
        gpu=asked.gpu_spec or _gpu(manifest, asked.gpu),
        mode=mode,
        context=context,
        tokens=asked.tokens or said.tokens,
        max_length=asked.max_length,
        dtype=asked.dtype or said.dtype or "bfloat16",
        notes=tuple(notes),
    )


def _contradicted(asked: Asked, said: WorkloadInfo) -> list[str]:
    """What was given although the trace says something else."""
    given = {
        "model": (asked.model, said.model),
        "mode": (asked.mode and asked.mode.value, said.mode),
        "context": (asked.context, said.context),
        "tokens": (asked.tokens, said.tokens),
        "dtype": (asked.dtype, said.dtype),
    }
    return [
        f"{name} {ours}, as given; the trace says {theirs}"
        for name, (ours, theirs) in given.items()
        if ours is not None
        and theirs is not None
        and ours != theirs
        and not (name == "model" and _same(str(ours), str(theirs)))
    ]


def _same(model: str, other: str) -> bool:
    """Whether two names are of one architecture: a preset's and a hub's."""
    try:
        return replace(load_model(model), name="") == replace(load_model(other), name="")
    except UsageError:
        return False


def guess_mode(analysis: Analysis) -> tuple[Mode, str]:
    """The mode that the recorded work shows, and what shows it: graph launches, and kernels that Inductor wrote.

    Raises:
        UsageError: if there are no steps to look at.
    """
    steps = analysis.steps
    if steps is None:
        raise UsageError("no step tells the mode of execution", "give --mode eager, graph, graph-nocompile or compile")
    graphs = bool(np.any(steps.graph_launches[analysis.steady] > 0)) or bool(analysis.trace.kernels.has("graph_node_id"))
    fused = sorted(name for name in analysis.trace.kernels.names("name").values if name.startswith(_FUSED))
    modes = {
        (True, True): Mode.GRAPH,
        (True, False): Mode.GRAPH_NOCOMPILE,
        (False, True): Mode.COMPILE,
        (False, False): Mode.EAGER,
    }
    shown = f"{'graph launches' if graphs else 'no graph launch'}, {len(fused) or 'no'} Inductor kernel names"
    return modes[graphs, bool(fused)], shown


def step_of_cell(
    analysis: Analysis, cell: Cell, batch: int, setting: Setting, families: Sequence[str]
) -> tuple[Inventory, tuple[str, ...]]:
    """The inventory of a cell's mean step.

    Args:
        families: of the kernels that a step of the cell ran: they say what the engine's start decided.

    Raises:
        UsageError: if it is beyond the model's limit.
    """
    notes = list(setting.notes)
    tokens = setting.tokens
    if tokens is None:
        tokens = longest_run(analysis, cell) + 1
        notes.append(f"{tokens} tokens: the longest run of decode steps of this batch, and the prefill's one")
    variant = variant_of(families, setting.model.layers)
    if setting.mode in COMPILED and variant.rotations == 1:
        notes.append("one kernel a layer rotates queries and keys, as recorded; another start of this engine had two")
    if not variant.biases:
        notes.append("no kernel of the logit bias, as recorded: no request asked for it (min_tokens does)")
    inventory = take_inventory(
        setting.model,
        setting.gpu,
        GridCell(setting.mode, batch, setting.context),
        kv_length=setting.context + ceil(tokens / 2),
        max_length=setting.max_length,
        dtype=setting.dtype,
        variant=variant,
    )
    return inventory, tuple(notes)


def variant_of(families: Sequence[str], layers: int) -> Variant:
    """What the engine's start decided, by the kernels of a step: each is counted as the operation it most likely carries."""
    carried = [carrier.carries[:1] for carrier in map(carrier_of, families) if carrier is not None]
    rotations = carried.count(("triton.rope",))
    return Variant(rotations=1 if 0 < 2 * rotations < 3 * layers else 2, biases=int(("vllm.bias",) in carried))


def longest_run(analysis: Analysis, cell: Cell) -> int:
    """Decode steps in a row, of the cell's batch, at most: over them a sequence grows by a token a step."""
    assert analysis.steps is not None  # a cell has steps
    said = analysis.steps.boundaries
    decodes = np.isin(said.kind, (DECODE, UNKNOWN_KIND)) & (said.batch == said.batch[cell.steps[0]])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], decodes, [False]]).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max())


def _gpu(manifest: Manifest, name: str | None) -> GpuSpec:
    wanted = name or manifest.environment.gpu
    if wanted is None:
        raise UsageError("the trace does not say which GPU ran", "give --gpu, such as --gpu H200, or --gpu-file")
    return find_gpu(wanted)
