"""A decoder's shape, from a preset or from a `config.json`. Room: accounting | model.

Only what a decode step's kernels depend on is kept. Three traps are handled here and nowhere else: the head size need not be
hidden size / heads; tied embeddings are still read once a step, as the output projection; sliding windows may cover only
some layers.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kerntrace.errors import UsageError

_PRESETS = Path(__file__).parent.parent / "models"
_REQUIRED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")

# What a config.json leaves to the code of its model type.
_QKV_BIAS = {"qwen2", "qwen2_moe"}
_QK_NORM = {"qwen3", "qwen3_moe", "gemma3", "gemma3_text"}
_FOUR_NORMS = {"gemma2", "gemma3", "gemma3_text"}
_SCALED_EMBEDDING = {"gemma", "gemma2", "gemma3", "gemma3_text"}
_LIKE_LLAMA = {"llama", "mistral", "mixtral", "phi3", "gemma"} | _QKV_BIAS | _QK_NORM | _FOUR_NORMS
_EVERY_OTHER_LAYER_SLIDES = 2


@dataclass(frozen=True, slots=True)
class Experts:
    """A mixture-of-experts block: `count` experts of `intermediate` width, `active` of them for a token."""

    count: int
    active: int
    intermediate: int


@dataclass(frozen=True, slots=True)
class Architecture:
    """A decoder.

    Attributes:
        name: preset, hub name or directory's base name.
        heads, kv_heads, head_dim: of attention; heads = kv_heads is multi-head, fewer kv_heads is grouped-query attention.
        windows: for each layer the sliding window in tokens, or None where a layer sees the whole context.
        tied_embeddings: the output projection shares the input embedding's weights; it is read all the same.
        qkv_bias: the attention projection adds a bias.
        qk_norm: queries and keys are normalised before rotation.
        norms_per_layer: 2, or 4 where attention and MLP are normalised on both sides.
        logit_softcap: final logits go through a tanh.
        notes: what was assumed, one line each.
    """

    name: str
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    max_context: int
    tied_embeddings: bool
    windows: tuple[int | None, ...]
    qkv_bias: bool = False
    qk_norm: bool = False
    norms_per_layer: int = 2
    scaled_embedding: bool = False
    logit_softcap: bool = False
    experts: Experts | None = None
    notes: tuple[str, ...] = ()

    @property
    def qkv_width(self) -> int:
        """Outputs of the joint query, key and value projection."""
        return (self.heads + 2 * self.kv_heads) * self.head_dim

    def kv_bytes_per_token(self, element_bytes: int) -> int:
        """Bytes of keys and values that one token adds to the cache over all layers."""
        return 2 * self.layers * self.kv_heads * self.head_dim * element_bytes


def known_models() -> tuple[str, ...]:
    """Names of the presets."""
    return tuple(sorted(path.stem for path in _PRESETS.glob("*.json")))


def load_model(name: str) -> Architecture:
    """The decoder of a preset, of a hub name that a preset knows, or of a config.json or the directory that holds one.

    Raises:
        UsageError: if there is none such, or its config.json lacks what a decoder has; lists close names.
    """
    path = Path(name)
    if path.is_dir() or path.suffix == ".json":
        return _from_path(path / "config.json" if path.is_dir() else path)
    found = _hub_names().get(name.casefold())
    if found is not None:
        return parse_config(found, _read(_PRESETS / f"{found}.json"))
    names = list(known_models())
    near = difflib.get_close_matches(name.casefold().rsplit("/", 1)[-1], names, n=3, cutoff=0.6)
    raise UsageError(
        f"no model {name!r}; {'did you mean ' + ', '.join(near) if near else 'known are ' + ', '.join(names)}",
        "or give the path of a config.json",
    )


def parse_config(name: str, config: dict[str, Any]) -> Architecture:
    """The decoder that a config.json describes.

    Raises:
        UsageError: if a key a decoder needs is missing or is not a positive whole number; names it.
    """
    nested = config.get("text_config")
    # A multimodal config keeps the decoder's own under text_config; the outer keys are defaults for it.
    text: dict[str, Any] = {**config, **nested} if isinstance(nested, dict) else config
    size = {key: _whole(name, text, key) for key in _REQUIRED}
    hidden, layers, heads = size["hidden_size"], size["num_hidden_layers"], size["num_attention_heads"]
    kind = str(text.get("model_type", "unknown"))
    experts = _experts(name, text)
    kv_heads = _whole(name, text, "num_key_value_heads", heads)
    _divides(name, heads, "num_attention_heads", kv_heads, "num_key_value_heads")
    if text.get("head_dim") is None:
        _divides(name, hidden, "hidden_size", heads, "num_attention_heads")
    return Architecture(
        name=name,
        hidden=hidden,
        intermediate=experts.intermediate if experts else _whole(name, text, "intermediate_size"),
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=_whole(name, text, "head_dim", hidden // heads),
        vocabulary=size["vocab_size"],
        max_context=_whole(name, text, "max_position_embeddings", 2**31),
        tied_embeddings=bool(text.get("tie_word_embeddings", kind in _SCALED_EMBEDDING)),
        windows=_windows(name, kind, text, layers),
        qkv_bias=bool(text.get("attention_bias", kind in _QKV_BIAS)),
        qk_norm=kind in _QK_NORM,
        norms_per_layer=4 if kind in _FOUR_NORMS else 2,
        scaled_embedding=kind in _SCALED_EMBEDDING,
        logit_softcap=bool(text.get("final_logit_softcapping")),
        experts=experts,
        notes=()
        if kind in _LIKE_LLAMA
        else (f"model type {kind!r} is not known: read as a decoder with a gated MLP, like Llama",),
    )


def _divides(name: str, whole: int, of: str, part: int, by: str) -> None:
    if whole % part:
        raise UsageError(f"{name}: {of} {whole} is not divided by {by} {part}", "is this a decoder's config.json?")


def _experts(name: str, text: dict[str, Any]) -> Experts | None:
    count = text.get("num_local_experts") or text.get("num_experts")
    if not count:
        return None
    width = "moe_intermediate_size" if "moe_intermediate_size" in text else "intermediate_size"
    experts = Experts(int(count), _whole(name, text, "num_experts_per_tok"), _whole(name, text, width))
    if experts.active > experts.count:
        raise UsageError(f"{name}: {experts.active} experts a token of {experts.count}", "check num_experts_per_tok")
    return experts


def _windows(name: str, kind: str, text: dict[str, Any], layers: int) -> tuple[int | None, ...]:
    window = text.get("sliding_window")
    # A window as wide as the longest context never cuts anything off.
    if not window or text.get("use_sliding_window") is False or int(window) >= text.get("max_position_embeddings", 2**31):
        return (None,) * layers
    types = text.get("layer_types")
    if isinstance(types, list) and len(types) == layers:
        return tuple(int(window) if layer == "sliding_attention" else None for layer in types)
    if kind == "gemma2":
        return tuple(int(window) if layer % _EVERY_OTHER_LAYER_SLIDES == 0 else None for layer in range(layers))
    if "sliding_window_pattern" in text:
        period = _whole(name, text, "sliding_window_pattern")
        return tuple(None if layer % period == period - 1 else int(window) for layer in range(layers))
    return (int(window),) * layers


def _whole(name: str, text: dict[str, Any], key: str, default: int | None = None) -> int:
    value = text.get(key)
    value = default if value is None else value
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name}: {key} is {value!r}, not a positive whole number", "is this a decoder's config.json?")
    return value


def _from_path(path: Path) -> Architecture:
    # The file name says nothing; the directory's does. Never the whole path: it would end up in reports.
    name = path.resolve().parent.name if path.name == "config.json" else path.stem
    return parse_config(name, _read(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path.name}: cannot be read: {error.strerror}", "give the path of a config.json") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path.name}: not JSON: {error}", "give the path of a config.json") from error
    if not isinstance(config, dict):
        raise UsageError(f"{path.name}: holds no JSON object", "give the path of a config.json")
    return config


@lru_cache(maxsize=1)
def _hub_names() -> dict[str, str]:
    names = {}
    for preset in known_models():
        for known in (preset, *_read(_PRESETS / f"{preset}.json").get("hub_names", ())):
            names[known.casefold()] = preset
            names[known.casefold().rsplit("/", 1)[-1]] = preset
    return names
