"""What `kerntrace profile` says before an engine starts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.capturing import Built, run

from kerntrace.capture import machine
from kerntrace.cli.options import read_batches
from kerntrace.cli.preflight import choose_weights, memory_need, require_memory, shape_of
from kerntrace.engines.protocol import EngineSpec
from kerntrace.errors import FAILED, KerntraceError, UsageError

SPEC = EngineSpec("vllm", "llama-3.1-8b", "eager", (1, 16), 512, 33)


def refused(tmp_path: Path, *arguments: str) -> str:
    with pytest.raises(KerntraceError) as caught:
        run("profile", "--mode", "eager", "-o", tmp_path / "out", *arguments)
    assert not (tmp_path / "out.ktrace").exists()
    return str(caught.value)


def test_no_gpu_is_one_line_that_names_what_can_be_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_NVML", "libno-such-nvml.so.1")
    with pytest.raises(machine.NoGpuError) as caught:
        run("profile", "--mode", "eager", "-o", tmp_path / "out")
    assert caught.value.exit_code == FAILED
    assert "\n" not in caught.value.what
    assert "kerntrace compare traces/" in caught.value.hint


def test_an_engine_that_is_not_installed_names_its_extra(tmp_path: Path, gpu: machine.Machine) -> None:
    assert "pip install 'kerntrace[vllm]'" in refused(tmp_path)
    assert "pip install 'kerntrace[torch]'" in refused(tmp_path, "--engine", "torch")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "sglang"], "--engine 'sglang'"),
        (["--collector", "perf"], "--collector 'perf'"),
        (["--batch", "0"], "--batch '0'"),
        (["--batch", "1,x"], "--batch '1,x'"),
        (["--weights", "real"], "--weights 'real'"),
        (["--weights", "auto"], "has no weights"),
        (["--kinds", "kernel"], "'kernel' is no kind"),
        (["--context", "131072"], "more than the 131072 positions of llama-3.1-8b"),
        (["--model", "lama-3.1-8b"], "no model 'lama-3.1-8b'"),
        (["--model", "mixtral-8x7b", "--batch", "512", "--context", "16384"], "mixtral-8x7b needs about"),
    ],
)
def test_what_can_be_known_is_said_before_the_engine_starts(
    recorder: Built, fake_engines: Path, gpu: machine.Machine, tmp_path: Path, arguments: list[str], message: str
) -> None:
    assert message in refused(tmp_path, *arguments)


def test_batches_are_read_once_each_and_in_order() -> None:
    assert read_batches(["16, 1,16"]) == [16, 1]


def test_weights_are_dummy_for_presets_and_real_for_anything_else(tmp_path: Path) -> None:
    assert choose_weights("llama-3.1-8b", None) == "dummy"
    assert choose_weights("someone/some-model", None) == "auto"
    assert choose_weights(str(tmp_path), None) == "auto"
    assert choose_weights(str(tmp_path), "dummy") == "dummy"
    assert choose_weights("meta-llama/Llama-3.1-8B", "auto") == "auto"


def test_memory_is_that_of_the_published_model() -> None:
    shape = shape_of("llama-3.1-8b")
    assert shape is not None
    need = memory_need(shape, SPEC)
    assert need.weights == pytest.approx(2 * 8.03e9, rel=0.005)  # 8.03 billion parameters
    grown = memory_need(shape, replace(SPEC, batches=(64,), context=8192))
    assert grown.kv_cache == int(64 * (8192 + 33) * 131072 * 1.25)


def test_a_full_gpu_and_a_small_one_are_told_apart() -> None:
    shape = shape_of("llama-3.1-8b")
    assert shape is not None
    need = memory_need(shape, SPEC)
    small = machine.Machine((machine.Gpu("NVIDIA T4", 16 * 10**9, 16 * 10**9),), None, None)
    with pytest.raises(UsageError, match=r"more than the 16\.0 GB of the NVIDIA T4"):
        require_memory(need, small, shape.name)
    full = machine.Machine((machine.Gpu("NVIDIA H200", 150 * 10**9, 10**9),), None, None)
    with pytest.raises(KerntraceError, match=r"1\.0 GB are free on the NVIDIA H200"):
        require_memory(need, full, shape.name)


def test_a_hub_model_is_not_judged_by_sizes_that_are_not_here() -> None:
    assert shape_of("someone/some-model") is None


def test_a_directory_is_judged_by_its_config(tmp_path: Path) -> None:
    config = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128}
    (tmp_path / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 77}))
    shape = shape_of(str(tmp_path))
    assert shape is not None
    assert shape.max_context == 77
