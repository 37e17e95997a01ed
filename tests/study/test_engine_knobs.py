"""What a study makes explicit of its engine reaches vLLM, and what vLLM settled on comes back."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from types import SimpleNamespace

import pytest

from kerntrace.engines.protocol import EngineSpec
from kerntrace.engines.vllm_engine import mode_options, options, settled
from kerntrace.errors import KerntraceError

SPEC = EngineSpec("vllm", "some/model", "graph", (1, 16), 512, 33)
KNOWN = {
    "model", "enforce_eager", "load_format", "skip_tokenizer_init", "enable_prefix_caching", "compilation_config",
    "enable_chunked_prefill", "async_scheduling", "max_num_seqs",
}  # fmt: skip


def test_what_is_not_asked_for_is_left_to_the_engine() -> None:
    given = options(SPEC, KNOWN, "0.24.0")
    assert given["enable_prefix_caching"] is False
    assert not {"enable_chunked_prefill", "async_scheduling", "max_num_seqs"} & given.keys()


def test_what_is_asked_for_is_given() -> None:
    spec = replace(SPEC, prefix_caching=True, chunked_prefill=False, async_scheduling=True, sequences=16)
    given = options(spec, KNOWN, "0.24.0")
    names = ("enable_prefix_caching", "enable_chunked_prefill", "async_scheduling", "max_num_seqs")
    assert [given[name] for name in names] == [True, False, True, 16]


@pytest.mark.parametrize("name", ["async_scheduling", "enable_chunked_prefill"])
def test_a_scheduler_that_cannot_be_told_is_not_passed_over(name: str) -> None:
    spec = replace(SPEC, chunked_prefill=True, async_scheduling=False)
    with pytest.raises(KerntraceError, match=f"has no argument {name}"):
        options(spec, KNOWN - {name}, "0.20.0")


def test_capture_sizes_are_the_batches_or_those_given_or_the_engines_own() -> None:
    assert mode_options("graph", (16, 4))["compilation_config"]["cudagraph_capture_sizes"] == [1, 4, 16]
    assert mode_options("graph", (16, 4), (8, 2))["compilation_config"] == {
        "cudagraph_capture_sizes": [2, 8],
        "max_cudagraph_capture_size": 8,
    }
    assert mode_options("graph", (16, 4), ())["compilation_config"] == {}


class Kind(Enum):
    FULL = (2, 0)


def test_what_the_engine_settled_on_is_told_where_it_says() -> None:
    config = SimpleNamespace(
        scheduler_config=SimpleNamespace(async_scheduling=True, max_num_seqs=32),
        compilation_config=SimpleNamespace(cudagraph_mode=Kind.FULL, cudagraph_capture_sizes=[1, 2]),
    )
    assert settled(config) == {
        "async_scheduling": "True",
        "max_num_seqs": "32",
        "capture_sizes": "[1, 2]",
        "cudagraph_mode": "FULL",
    }
    assert settled(None) == {}
