"""vLLM, started for one mode and asked for decode steps of known shape. Room: engines.

Only vLLM's public arguments are used: `LLM(...)`, `LLM.generate`, `LLM.collective_rpc` and `worker_extension_cls`. Which of
them an installed version knows is asked of it, and one that is missing is named.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from kerntrace.engines.protocol import EngineSpec
from kerntrace.engines.vllm_phases import SCOPES
from kerntrace.engines.vllm_steps import OLDEST, version_of
from kerntrace.errors import KerntraceError, UsageError

_NEEDED = ("model", "enforce_eager", "load_format", "skip_tokenizer_init", "enable_prefix_caching", "compilation_config")
_NO_COMPILE = 0  # CompilationMode.NONE
_PROMPT_IDS = range(10, 500)  # in every vocabulary
_LARGEST_PREFILL = 32768  # tokens in one step: beyond this a prefill is left to the engine's chunks


def environment(spec: EngineSpec) -> dict[str, str]:
    """Variables that vLLM reads, for the process that it is started in."""
    said = {
        "VLLM_ENABLE_V1_MULTIPROCESSING": "1" if spec.multiprocess else "0",
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # CUPTI cannot be used in a forked child
        "VLLM_USE_FLASHINFER_SAMPLER": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": "WARNING",
    }
    if spec.nvtx_scopes:
        said[SCOPES] = "1"
    if spec.weights == "dummy":
        said["HF_HUB_OFFLINE"] = "1"
    return said


def mode_options(mode: str, batches: Iterable[int], captured: Sequence[int] | None = None) -> dict[str, Any]:
    """vLLM's arguments for a mode of execution.

    Args:
        captured: batch sizes that graphs are captured for; None for the batches, empty for vLLM's own choice.
    """
    sizes = sorted({1, *batches}) if captured is None else sorted(captured)
    graphs = {"cudagraph_capture_sizes": sizes, "max_cudagraph_capture_size": sizes[-1]} if sizes else {}
    if mode == "eager":
        return {"enforce_eager": True}
    if mode == "graph":
        return {"enforce_eager": False, "compilation_config": graphs}
    if mode == "graph-nocompile":
        chosen = {"mode": _NO_COMPILE, "cudagraph_mode": "FULL_DECODE_ONLY"} | graphs
        return {"enforce_eager": False, "compilation_config": chosen}
    return {"enforce_eager": False, "compilation_config": {"cudagraph_mode": "NONE"}}


def options(spec: EngineSpec, known: Iterable[str], version: str) -> dict[str, Any]:
    """Arguments for `vllm.LLM`.

    Args:
        known: arguments that the installed version has.
        version: of vLLM, for the message.

    Raises:
        KerntraceError: if the version lacks an argument that the run needs.
    """
    known = set(known)
    scheduling = _scheduling(spec)
    needed = [*_NEEDED, *(["worker_extension_cls"] if spec.hooks else []), *scheduling]
    missing = [name for name in needed if name not in known]
    if missing:
        raise KerntraceError(
            f"vLLM {version} has no argument {missing[0]}, which kerntrace needs",
            f"kerntrace knows vLLM {OLDEST} to the present; install one of these, or use --engine torch.",
        )
    largest = max(spec.batches)
    wanted: dict[str, Any] = {
        "model": spec.model,
        "dtype": spec.dtype,
        "seed": spec.seed,
        "skip_tokenizer_init": True,
        "load_format": "dummy" if spec.weights == "dummy" else "auto",
        "max_model_len": spec.context + spec.tokens,
        "max_num_batched_tokens": min(max(8192, largest * spec.context), max(_LARGEST_PREFILL, spec.context)),
        "enable_prefix_caching": spec.prefix_caching,
        "attention_backend": "FLASH_ATTN",
        "disable_log_stats": True,
    } | mode_options(spec.mode, spec.batches, spec.capture_sizes)
    wanted |= scheduling
    if spec.sequences is not None:
        wanted["max_num_seqs"] = spec.sequences
    if spec.hooks:
        wanted["worker_extension_cls"] = spec.hooks
    if spec.kv_cache_bytes is not None:
        wanted["kv_cache_memory_bytes"] = spec.kv_cache_bytes
    if spec.memory_share is not None:
        wanted["gpu_memory_utilization"] = spec.memory_share
    return {name: value for name, value in wanted.items() if name in known}


def _scheduling(spec: EngineSpec) -> dict[str, Any]:
    """What was asked of the scheduler, none of which may be dropped in silence."""
    asked = {"enable_chunked_prefill": spec.chunked_prefill, "async_scheduling": spec.async_scheduling}
    return {name: value for name, value in asked.items() if value is not None}


# Where a started vLLM keeps what it settled on; a release that keeps it elsewhere leaves the fact out.
_SETTLED = {
    "chunked_prefill": "scheduler_config.enable_chunked_prefill",
    "async_scheduling": "scheduler_config.async_scheduling",
    "max_num_seqs": "scheduler_config.max_num_seqs",
    "max_num_batched_tokens": "scheduler_config.max_num_batched_tokens",
    "max_model_len": "model_config.max_model_len",
    "prefix_caching": "cache_config.enable_prefix_caching",
    "capture_sizes": "compilation_config.cudagraph_capture_sizes",
    "cudagraph_mode": "compilation_config.cudagraph_mode",
    "compilation_mode": "compilation_config.mode",
}


def settled(config: Any) -> dict[str, str]:
    """What an engine runs with, asked for or not, by the names of `EngineSpec` where it has them.

    Args:
        config: vLLM's VllmConfig, or None where it cannot be reached.
    """
    facts = {}
    for name, path in _SETTLED.items():
        value = config
        for part in path.split("."):
            value = getattr(value, part, None)
        if value is not None:
            facts[name] = str(getattr(value, "name", value))
    return facts


def prompts(batch: int, context: int, seed: int) -> list[dict[str, list[int]]]:
    """Token-id prompts, each request's its own, the same for the same seed."""
    chosen = random.Random(f"{seed} {batch} {context}")
    return [{"prompt_token_ids": chosen.choices(_PROMPT_IDS, k=context)} for _ in range(batch)]


class VllmEngine:
    """A started vLLM."""

    def __init__(self, spec: EngineSpec) -> None:
        """Start it, which takes from seconds to minutes.

        Raises:
            KerntraceError: if vLLM is missing, too old, or lacks an argument.
        """
        try:
            import vllm
        except ImportError as error:
            raise KerntraceError(
                f"vLLM cannot be imported: {error}", "Install it with `pip install kerntrace[vllm]`, or use --engine torch."
            ) from None
        import dataclasses

        self._spec = spec
        self._version = version_of(vllm)
        known = [field.name for field in dataclasses.fields(vllm.EngineArgs)]
        self._llm = vllm.LLM(**options(spec, known, self._version))
        self._sampling = vllm.SamplingParams
        self._prompts: tuple[tuple[int, int], list[dict[str, list[int]]]] = (0, 0), []

    def generate(self, batch: int, context: int, tokens: int) -> None:
        sampling = self._sampling(temperature=0, ignore_eos=True, max_tokens=tokens, detokenize=False)
        if self._prompts[0] != (batch, context):  # kept: a long prompt takes longer to make than a step to run
            self._prompts = (batch, context), prompts(batch, context, self._spec.seed)
        made = self._llm.generate(self._prompts[1], sampling, use_tqdm=False)
        lengths = {len(output.outputs[0].token_ids) for output in made}
        if lengths != {tokens} or len(made) != batch:
            raise UsageError(f"vLLM generated {sorted(lengths)} tokens where {tokens} were asked for", "Shorten --tokens.")

    def call(self, verb: str, argument: dict[str, Any]) -> list[Any]:
        return list(self._llm.collective_rpc("kerntrace_call", args=(verb, argument)))

    def facts(self) -> dict[str, str]:
        import torch

        versions = {"vllm": self._version, "torch": torch.__version__, "cuda": str(torch.version.cuda)}
        return versions | settled(getattr(getattr(self._llm, "llm_engine", None), "vllm_config", None))

    def close(self) -> None:
        del self._llm
