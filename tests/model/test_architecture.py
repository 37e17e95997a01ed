from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kerntrace.errors import UsageError
from kerntrace.model.architecture import Experts, known_models, load_model, parse_config

SMALL: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "vocab_size": 100,
}


# Name, layers, hidden, heads, kv heads, head size, vocabulary, tied; bytes of keys and values a token, by hand: 4 L Hkv d.
SHAPES = [
    ("llama-3.1-8b", 32, 4096, 32, 8, 128, 128_256, False, 131_072),
    ("llama-3.2-1b", 16, 2048, 32, 8, 64, 128_256, True, 32_768),
    ("llama-3.2-3b", 28, 3072, 24, 8, 128, 128_256, True, 114_688),
    ("qwen2.5-7b", 28, 3584, 28, 4, 128, 152_064, False, 57_344),
    ("qwen3-8b", 36, 4096, 32, 8, 128, 151_936, False, 147_456),
    ("mistral-7b", 32, 4096, 32, 8, 128, 32_768, False, 131_072),
    ("gemma-2-9b", 42, 3584, 16, 8, 256, 256_000, True, 344_064),
    ("gemma-3-4b", 34, 2560, 8, 4, 256, 262_208, True, 139_264),
    ("phi-3-mini", 32, 3072, 32, 32, 96, 32_064, False, 393_216),
    ("mixtral-8x7b", 32, 4096, 32, 8, 128, 32_000, False, 131_072),
]


def test_the_presets_are_these_ten() -> None:
    assert set(known_models()) == {shape[0] for shape in SHAPES}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape[0])
def test_a_presets_shape(shape: tuple[Any, ...]) -> None:
    name, layers, hidden, heads, kv_heads, head_dim, vocabulary, tied, kv_bytes = shape
    model = load_model(name)
    assert (model.layers, model.hidden, model.heads, model.kv_heads, model.head_dim) == (
        layers,
        hidden,
        heads,
        kv_heads,
        head_dim,
    )
    assert (model.vocabulary, model.tied_embeddings) == (vocabulary, tied)
    assert model.kv_bytes_per_token(2) == kv_bytes


def test_what_a_model_type_implies() -> None:
    assert load_model("qwen2.5-7b").qkv_bias
    assert load_model("qwen3-8b").qk_norm
    assert not load_model("qwen3-8b").qkv_bias
    gemma = load_model("gemma-2-9b")
    assert gemma.norms_per_layer == 4
    assert gemma.logit_softcap
    assert gemma.windows[:4] == (4096, None, 4096, None)
    third = load_model("gemma-3-4b")
    assert third.windows[:7] == (1024, 1024, 1024, 1024, 1024, None, 1024)
    assert load_model("mixtral-8x7b").experts == Experts(8, 2, 14_336)
    assert load_model("phi-3-mini").windows == (None,) * 32  # its window is longer than its longest context


def test_hub_names_are_known_without_their_owner_too() -> None:
    for name in ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b-instruct", "LLAMA-3.1-8B"):
        assert load_model(name).name == "llama-3.1-8b"


def test_a_config_of_the_users_own_is_named_by_its_directory(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(SMALL))
    for path in (folder, folder / "config.json"):
        model = load_model(str(path))
        assert (model.name, model.layers, model.kv_heads, model.head_dim) == ("my-model", 4, 4, 16)


def test_heads_x_head_size_need_not_be_the_hidden_size() -> None:
    model = parse_config("x", {**SMALL, "head_dim": 32, "num_key_value_heads": 2})
    assert model.qkv_width == (4 + 2 * 2) * 32


def test_a_decoder_inside_a_multimodal_config_is_found() -> None:
    model = parse_config("x", {"model_type": "gemma3", "text_config": {**SMALL, "model_type": "gemma3_text"}})
    assert (model.hidden, model.norms_per_layer) == (64, 4)


def test_layer_types_decide_over_a_pattern() -> None:
    types = ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]
    model = parse_config("x", {**SMALL, "sliding_window": 8, "layer_types": types, "sliding_window_pattern": 2})
    assert model.windows == (None, 8, 8, None)


def test_an_unknown_type_is_read_as_llama_and_says_so() -> None:
    assert "novel" in parse_config("x", {**SMALL, "model_type": "novel"}).notes[0]
    assert not parse_config("x", SMALL).notes


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size"])
@pytest.mark.parametrize("value", [None, 0, -1, "many", 1.5, True])
def test_a_missing_or_senseless_size_is_named(key: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"x: {key} is"):
        parse_config("x", {**SMALL, key: value})


def test_heads_that_do_not_share_out_are_refused() -> None:
    with pytest.raises(UsageError, match="num_attention_heads 4 is not divided by num_key_value_heads 3"):
        parse_config("x", {**SMALL, "num_attention_heads": 4, "num_key_value_heads": 3})
    odd = {**SMALL, "hidden_size": 66, "num_attention_heads": 4, "num_key_value_heads": 2}
    with pytest.raises(UsageError, match="hidden_size 66 is not divided by num_attention_heads 4"):
        parse_config("x", odd)
    assert parse_config("x", {**odd, "head_dim": 16}).head_dim == 16


def test_more_active_experts_than_there_are_is_refused() -> None:
    with pytest.raises(UsageError, match="3 experts a token of 2"):
        parse_config("x", {**SMALL, "num_local_experts": 2, "num_experts_per_tok": 3})


@pytest.mark.parametrize(("text", "said"), [("{", "not JSON"), ("[1]", "no JSON object"), ("[" * 100_000, "not JSON")])
def test_a_broken_config_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        load_model(str(path))
    with pytest.raises(UsageError, match="cannot be read"):
        load_model(str(tmp_path / "none.json"))


def test_an_unknown_name_offers_close_ones() -> None:
    with pytest.raises(UsageError, match=r"did you mean llama-3\.1-8b"):
        load_model("llama3.1-8b")
    with pytest.raises(UsageError, match=r"known are gemma-2-9b, "):
        load_model("zzz")
