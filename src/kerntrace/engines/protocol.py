"""What an engine is asked to run, and what every engine can do. Room: engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """One start of an engine. It travels to the engine's process as JSON.

    Attributes:
        engine: `vllm` or `torch`.
        model: directory with a config.json, or a hub name.
        mode: eager, graph, graph-nocompile or compile.
        weights: `dummy` (random, nothing is downloaded) or `auto`.
        batches: sequences decoded together, one cell each; all in one start of the engine.
        context: tokens of a prompt.
        tokens: tokens generated for each sequence.
        multiprocess: the engine launches kernels in a process of its own (vLLM's default) instead of in its caller's.
        nvtx_scopes: ranges of the engine's own and around the parts of its iteration, which cost host time.
        hooks: `module.Class` of the object that is called where kernels are launched; None for an untouched engine.
        kv_cache_bytes: memory for keys and values; None leaves it to the engine.
        memory_share: share of the GPU's memory that the engine may take; None leaves it to the engine.
        prefix_caching: a prompt that was seen before is not prefilled again.
        chunked_prefill, async_scheduling, sequences: of the scheduler, the last the most it runs together; None leaves them
            to the engine.
        capture_sizes: batch sizes that graphs are captured for; empty leaves them to the engine, None stands for the batches.
    """

    engine: str
    model: str
    mode: str
    batches: tuple[int, ...]
    context: int
    tokens: int
    weights: str = "dummy"
    dtype: str = "bfloat16"
    multiprocess: bool = False
    nvtx_scopes: bool = False
    hooks: str | None = None
    kv_cache_bytes: int | None = None
    memory_share: float | None = None
    seed: int = 0
    prefix_caching: bool = False
    chunked_prefill: bool | None = None
    async_scheduling: bool | None = None
    sequences: int | None = None
    capture_sizes: tuple[int, ...] | None = None


class StepRanges(Protocol):
    """Where an engine marks its steps."""

    def push(self, name: str, payload: int) -> None:
        """Begin a range on this thread."""

    def pop(self) -> None:
        """End the innermost one."""


class Engine(Protocol):
    """A started engine."""

    def generate(self, batch: int, context: int, tokens: int) -> None:
        """Generate `tokens` tokens for each of `batch` prompts of `context` tokens; returns when all of them are there."""

    def call(self, verb: str, argument: dict[str, Any]) -> list[Any]:
        """Call the hooks in every process that launches kernels; a result from each."""

    def facts(self) -> dict[str, str]:
        """Versions of the software, by the names of `kerntrace.trace.manifest.Environment`."""

    def close(self) -> None:
        """End the engine and its processes."""


def step_name(decode: int, prefill: int, prefill_tokens: int, context: int | None = None) -> str:
    """The name of a step's range, as `kerntrace.steps.names` reads it.

    Args:
        decode, prefill: sequences that decode and that prefill in the step.
        prefill_tokens: tokens of the latter.
        context: tokens of the decoding sequences' prompts, where they are of one length.
    """
    name = f"kerntrace.step decode={decode} prefill={prefill} prefill_tokens={prefill_tokens}"
    return name if context is None else f"{name} context={context}"
