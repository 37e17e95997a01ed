"""What vLLM is started with, by mode and by the arguments that a release knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kerntrace.engines.protocol import EngineSpec
from kerntrace.engines.vllm_engine import environment, mode_options, options, prompts
from kerntrace.errors import KerntraceError

SPEC = EngineSpec("vllm", "some/model", "graph", (1, 16), 512, 33, hooks="a.B", kv_cache_bytes=2**30, memory_share=0.3)
OLD = {
    "model", "dtype", "seed", "enforce_eager", "load_format", "skip_tokenizer_init", "max_model_len",
    "max_num_batched_tokens", "enable_prefix_caching", "worker_extension_cls", "gpu_memory_utilization",
    "disable_log_stats", "compilation_config",
}  # fmt: skip
NEW = OLD | {"attention_backend", "kv_cache_memory_bytes"}


@pytest.mark.parametrize("known", [OLD, NEW])
def test_only_arguments_that_the_release_has_are_given(known: set[str]) -> None:
    given = options(SPEC, known, "0.20.0")
    assert set(given) <= known
    assert given["enable_prefix_caching"] is False
    assert given["max_model_len"] == 545
    assert given["max_num_batched_tokens"] >= 16 * 512
    assert given["worker_extension_cls"] == "a.B"
    assert ("kv_cache_memory_bytes" in given) == ("kv_cache_memory_bytes" in known)


@pytest.mark.parametrize("lacking", ["load_format", "compilation_config", "worker_extension_cls"])
def test_an_argument_that_cannot_be_done_without_is_named(lacking: str) -> None:
    with pytest.raises(KerntraceError, match=rf"vLLM 0\.40\.0 has no argument {lacking}"):
        options(SPEC, NEW - {lacking}, "0.40.0")


def test_an_untraced_engine_is_not_extended() -> None:
    given = options(replace(SPEC, hooks=None), NEW - {"worker_extension_cls"}, "0.24.0")
    assert "worker_extension_cls" not in given


def test_each_mode_differs_where_its_name_says() -> None:
    modes = {mode: mode_options(mode, (16, 4)) for mode in ("eager", "graph", "graph-nocompile", "compile")}
    assert modes["eager"] == {"enforce_eager": True}
    assert all(not modes[mode]["enforce_eager"] for mode in modes if mode != "eager")
    for mode in ("graph", "graph-nocompile"):
        assert modes[mode]["compilation_config"]["cudagraph_capture_sizes"] == [1, 4, 16]
    assert "mode" not in modes["graph"]["compilation_config"]
    assert modes["graph-nocompile"]["compilation_config"]["mode"] == 0
    assert modes["graph-nocompile"]["compilation_config"]["cudagraph_mode"] == "FULL_DECODE_ONLY"
    assert modes["compile"]["compilation_config"] == {"cudagraph_mode": "NONE"}


def test_weights_choose_the_loader() -> None:
    assert options(SPEC, NEW, "0.24.0")["load_format"] == "dummy"
    assert options(replace(SPEC, weights="auto"), NEW, "0.24.0")["load_format"] == "auto"
    assert "HF_HUB_OFFLINE" not in environment(replace(SPEC, weights="auto"))


def test_the_environment_says_where_the_engine_runs() -> None:
    assert environment(SPEC)["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"
    several = environment(replace(SPEC, multiprocess=True, nvtx_scopes=True))
    assert several["VLLM_ENABLE_V1_MULTIPROCESSING"] == "1"
    assert several["VLLM_WORKER_MULTIPROC_METHOD"] == "spawn"
    assert several["VLLM_NVTX_SCOPES_FOR_PROFILING"] == "1"


def test_prompts_differ_from_each_other_and_are_the_same_every_time() -> None:
    made = prompts(8, 64, 0)
    assert made == prompts(8, 64, 0)
    assert made != prompts(8, 64, 1)
    assert len({tuple(prompt["prompt_token_ids"]) for prompt in made}) == 8
    assert all(len(prompt["prompt_token_ids"]) == 64 for prompt in made)
