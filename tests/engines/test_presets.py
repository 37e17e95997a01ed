from __future__ import annotations

import json
from pathlib import Path

import pytest

from kerntrace.engines.presets import model_directory, preset_config, preset_names
from kerntrace.engines.protocol import EngineSpec
from kerntrace.engines.torch_decode import TorchEngine
from kerntrace.engines.torch_model import read_shape
from kerntrace.errors import UsageError

WANTED = {"llama-3.1-8b", "llama-3.2-1b", "llama-3.2-3b", "qwen2.5-7b", "qwen3-8b", "mistral-7b", "gemma-2-9b", "phi-3-mini"}


def test_every_preset_becomes_a_directory_that_engines_load(tmp_path: Path) -> None:
    assert set(preset_names()) > WANTED
    for name in preset_names():
        config = json.loads((Path(model_directory(name, tmp_path)) / "config.json").read_text())
        assert config["architectures"][0].endswith("ForCausalLM")
        assert not {"hub_names", "source", "date"} & set(config)
        assert read_shape(model_directory(name, tmp_path)).layers == config["num_hidden_layers"]


def test_a_hub_name_that_a_preset_stands_for_is_that_preset() -> None:
    assert preset_config("meta-llama/Llama-3.1-8B") == preset_config("LLAMA-3.1-8b")


def test_other_hub_names_are_left_to_the_engine(tmp_path: Path) -> None:
    assert model_directory("someone/some-model", tmp_path) == "someone/some-model"


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no model 'lama'"):
        model_directory("lama", tmp_path)
    with pytest.raises(UsageError, match=r"holds no config\.json"):
        model_directory(str(tmp_path), tmp_path)


def test_the_torch_engine_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no mode compile"):
        TorchEngine(EngineSpec("torch", "x", "compile", (1,), 8, 4))
    (tmp_path / "config.json").write_text('{"hidden_size": 8}')
    with pytest.raises(UsageError, match="has no intermediate_size"):
        read_shape(str(tmp_path))
    with pytest.raises(UsageError, match=r"no readable config\.json"):
        read_shape(str(tmp_path / "none"))
