"""A stand-in for vLLM: the same public arguments and calls, and a worker whose kernels are the mock libcupti's.

FAKE_VLLM_VERSION chooses which release it is like. The two differ where real ones do: in arguments of the engine, and in what
the scheduler hands to a worker.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import Any

__version__ = os.environ.get("FAKE_VLLM_VERSION", "0.24.0")


@dataclass
class EngineArgs:
    model: str = ""
    dtype: str = "auto"
    seed: int = 0
    enforce_eager: bool = False
    load_format: str = "auto"
    skip_tokenizer_init: bool = False
    max_model_len: int = 0
    max_num_batched_tokens: int = 0
    enable_prefix_caching: bool = True
    worker_extension_cls: str = ""
    gpu_memory_utilization: float = 0.9
    disable_log_stats: bool = False
    compilation_config: Any = None
    if __version__ >= "0.24":
        attention_backend: str | None = None
        kv_cache_memory_bytes: int | None = None


@dataclass
class SamplingParams:
    temperature: float = 1.0
    ignore_eos: bool = False
    max_tokens: int = 16
    detokenize: bool = True


@dataclass
class _Completion:
    token_ids: list[int]


@dataclass
class _Output:
    outputs: list[_Completion]


@dataclass
class _Request:
    req_id: str
    prompt_token_ids: list[int]
    num_computed_tokens: int = 0
    output: list[int] = field(default_factory=list)


class LLM:
    """Runs one step after another, as a scheduler without chunks would."""

    def __init__(self, **arguments: Any) -> None:
        EngineArgs(**arguments)
        from vllm.v1.worker import gpu_worker  # like the real one: not before vllm itself is imported

        self._scheduled = gpu_worker.scheduled
        assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] in ("0", "1")
        if os.environ.get("FAKE_VLLM_FAILS") == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if os.environ.get("FAKE_VLLM_FAILS"):
            raise RuntimeError("CUDA out of memory, says the fake")
        self._worker = gpu_worker.made(arguments.get("worker_extension_cls", ""))
        self._count = 0

    def collective_rpc(self, method: str, args: tuple[Any, ...] = ()) -> list[Any]:
        return [getattr(self._worker, method)(*args)]

    def generate(self, prompts: list[dict[str, list[int]]], sampling: SamplingParams, use_tqdm: bool = True) -> list[_Output]:
        assert not use_tqdm
        assert sampling.ignore_eos
        requests = []
        for prompt in prompts:
            requests.append(_Request(f"r{self._count}", prompt["prompt_token_ids"]))
            self._count += 1
        self._worker.execute_model(self._scheduled(new=requests, cached=[], tokens=len(requests[0].prompt_token_ids)))
        for request in requests:
            request.num_computed_tokens = len(request.prompt_token_ids)
            request.output.append(7)
        for _ in range(sampling.max_tokens - 1):
            self._worker.execute_model(self._scheduled(new=[], cached=requests, tokens=1))
            for request in requests:
                request.num_computed_tokens += 1
                request.output.append(7)
        self._worker.finished |= {request.req_id for request in requests}
        return [_Output([_Completion(request.output)]) for request in requests]
