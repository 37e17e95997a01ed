"""What a profile can be told before its engine starts: no GPU, nothing installed, too long, too large. Room: cli."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kerntrace.errors import KerntraceError, UsageError
from kerntrace.units import size

if TYPE_CHECKING:
    from kerntrace.capture.machine import Machine
    from kerntrace.engines.protocol import EngineSpec
    from kerntrace.model.architecture import Architecture

_ELEMENT_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
_WORKING_BYTES = 6 * 2**30  # CUDA context, activations of a prefill, graphs
_KV_SLACK = 1.25  # blocks that are not full, and the engine's own spare ones
_LEAST_KV_BYTES = 2**30


@dataclass(frozen=True, slots=True)
class Need:
    """GPU memory that an engine needs, bytes, derived from the model's sizes."""

    weights: int
    kv_cache: int

    @property
    def total(self) -> int:
        return self.weights + self.kv_cache + _WORKING_BYTES


def require_installed(engine: str) -> None:
    """Stop where the engine is not installed.

    Raises:
        KerntraceError: naming what to install.
    """
    if importlib.util.find_spec(engine) is None:
        other = " or choose --engine torch" if engine == "vllm" else ""
        raise KerntraceError(f"{engine} is not installed", f"Install it with `pip install 'kerntrace[{engine}]'`{other}.")


def shape_of(model: str) -> Architecture | None:
    """The sizes of a preset's or a directory's model; None for a hub name, whose config.json is not here."""
    from kerntrace.engines.presets import preset_config
    from kerntrace.model.architecture import load_model, parse_config

    if Path(model).is_dir():
        return load_model(model)
    config = preset_config(model)
    return None if config is None else parse_config(model, config)


def choose_weights(model: str, asked: str | None) -> str:
    """dummy or auto: what was asked for, else dummy for a preset and auto for anything else.

    Raises:
        UsageError: if weights are asked for that a preset does not have.
    """
    from kerntrace.engines.presets import preset_config

    is_preset = not Path(model).is_dir() and preset_config(model) is not None
    if asked == "auto" and is_preset and "/" not in model:
        raise UsageError(
            f"--weights auto: the preset {model} has no weights", "Name the hub's OWNER/NAME or a directory that holds them."
        )
    return asked or ("dummy" if is_preset else "auto")


def require_length(shape: Architecture | None, context: int, tokens: int) -> None:
    """Stop where prompt and output are longer than the model's positions.

    Raises:
        UsageError: with the longest context.
    """
    if shape is not None and context + tokens > shape.max_context:
        raise UsageError(
            f"--context {context} and --tokens {tokens} are more than the {shape.max_context} positions of {shape.name}",
            f"Take --context {max(shape.max_context - tokens, 1)} or less.",
        )


def memory_need(shape: Architecture, spec: EngineSpec) -> Need:
    """What the engine needs for its weights and for the keys and values of its largest batch."""
    element = _ELEMENT_BYTES.get(spec.dtype, 2)
    attention = shape.hidden * shape.qkv_width + shape.heads * shape.head_dim * shape.hidden
    mlp = 3 * shape.hidden * shape.intermediate * (shape.experts.count if shape.experts else 1)
    embeddings = shape.vocabulary * shape.hidden * (1 if shape.tied_embeddings else 2)
    weights = (shape.layers * (attention + mlp) + embeddings) * element
    held = max(spec.batches) * (spec.context + spec.tokens) * shape.kv_bytes_per_token(element)
    return Need(weights, max(int(held * _KV_SLACK), _LEAST_KV_BYTES))


def require_memory(need: Need, machine: Machine, name: str) -> None:
    """Stop where the model cannot fit.

    Raises:
        UsageError: with what is needed and what is there.
    """
    gpu = machine.gpus[0]
    if need.total > gpu.memory_bytes:
        raise UsageError(
            f"{name} needs about {size(need.total)} (weights {size(need.weights)}, keys and values {size(need.kv_cache)}),"
            f" more than the {size(gpu.memory_bytes)} of the {gpu.name}",
            "Take a smaller --model, --batch or --context.",
        )
    if need.total > gpu.free_bytes:
        raise KerntraceError(
            f"{name} needs about {size(need.total)} and {size(gpu.free_bytes)} are free on the {gpu.name}",
            "End what else uses the GPU (nvidia-smi lists it).",
        )
