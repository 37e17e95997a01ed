"""A decoder of Llama's shape in plain torch, with a cache of fixed size, so that its step can be captured. Room: engines.

It is a workload, not a model: weights are random, and only the shapes of the kernels matter.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerntrace.errors import UsageError

_NEEDED = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
_ROTATION_BASE = 10000.0


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a decoder."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int


def read_shape(model: str) -> Shape:
    """The sizes in a directory's config.json.

    Raises:
        UsageError: if there is none, or it is not of a decoder.
    """
    file = Path(model) / "config.json"
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UsageError(f"{model} has no readable config.json", "--engine torch takes a preset or a directory.") from None
    missing = [key for key in _NEEDED if not isinstance(config.get(key), int)]
    if missing:
        raise UsageError(f"{file} has no {missing[0]}", "--engine torch takes the config.json of a decoder of Llama's kind.")
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    return Shape(
        hidden=hidden,
        intermediate=config["intermediate_size"],
        layers=config["num_hidden_layers"],
        heads=heads,
        kv_heads=config.get("num_key_value_heads") or heads,
        head_dim=config.get("head_dim") or hidden // heads,
        vocabulary=config["vocab_size"],
    )


class Decoder:
    """Weights, and the steps over them. Every step launches the same kernels for the same batch."""

    def __init__(self, shape: Shape, device: str, dtype: Any, seed: int) -> None:
        import torch

        self.shape, self.device, self.dtype = shape, device, dtype
        made = torch.Generator(device=device).manual_seed(seed)

        def weight(*size: int) -> Any:
            return torch.empty(*size, device=device, dtype=dtype).normal_(0, 0.02, generator=made)

        queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        self.embedding = weight(shape.vocabulary, shape.hidden)
        self.output = weight(shape.vocabulary, shape.hidden)
        self.layers = [
            {
                "norm": torch.ones(shape.hidden, device=device, dtype=dtype),
                "qkv": weight(queries + 2 * keys, shape.hidden),
                "o": weight(shape.hidden, queries),
                "mlp_norm": torch.ones(shape.hidden, device=device, dtype=dtype),
                "up": weight(2 * shape.intermediate, shape.hidden),
                "down": weight(shape.hidden, shape.intermediate),
            }
            for _ in range(shape.layers)
        ]
        self.norm = torch.ones(shape.hidden, device=device, dtype=dtype)

    def cache(self, batch: int, length: int) -> Any:
        """Keys and values for `length` tokens of each sequence: layer, key or value, batch, head, token, element."""
        import torch

        s = self.shape
        return torch.zeros(s.layers, 2, batch, s.kv_heads, length, s.head_dim, device=self.device, dtype=self.dtype)

    def rotation(self, length: int) -> tuple[Any, Any]:
        """Cosines and sines of the rotary embedding for each position."""
        import torch

        half = torch.arange(0, self.shape.head_dim, 2, device=self.device, dtype=torch.float32) / self.shape.head_dim
        angle = torch.outer(torch.arange(length, device=self.device, dtype=torch.float32), _ROTATION_BASE**-half)
        whole = torch.cat((angle, angle), dim=-1)
        return whole.cos().to(self.dtype), whole.sin().to(self.dtype)

    def step(self, ids: Any, positions: Any, cache: Any, rotation: tuple[Any, Any]) -> Any:
        """The next token of each sequence.

        Args:
            ids: tokens, one row a sequence.
            positions: their places in the sequence, the same for every sequence.
        """
        import torch
        import torch.nn.functional as F  # noqa: N812

        cos, sin = rotation[0][positions], rotation[1][positions]
        seen = torch.arange(cache.shape[4], device=self.device)[None, :] <= positions[:, None]
        x, width = F.embedding(ids, self.embedding), (self.shape.hidden,)
        for index, layer in enumerate(self.layers):
            normed = F.rms_norm(x, width, layer["norm"])
            x = x + self._attention(normed, layer, cache[index], positions, cos, sin, seen)
            gate, up = F.linear(F.rms_norm(x, width, layer["mlp_norm"]), layer["up"]).chunk(2, dim=-1)
            x = x + F.linear(F.silu(gate) * up, layer["down"])
        last = F.rms_norm(x[:, -1:], width, self.norm)
        return F.linear(last, self.output).argmax(dim=-1)

    def _attention(self, x: Any, layer: Any, cache: Any, positions: Any, cos: Any, sin: Any, seen: Any) -> Any:
        import torch.nn.functional as F  # noqa: N812

        s, (batch, length) = self.shape, x.shape[:2]
        heads = F.linear(x, layer["qkv"]).view(batch, length, s.heads + 2 * s.kv_heads, s.head_dim).transpose(1, 2)
        q, k, v = heads.split((s.heads, s.kv_heads, s.kv_heads), dim=1)
        cache[0].index_copy_(2, positions, _rotated(k, cos, sin))
        cache[1].index_copy_(2, positions, v)
        keys, values = (_shared_by_queries(part, s.heads // s.kv_heads) for part in (cache[0], cache[1]))
        mixed = F.scaled_dot_product_attention(_rotated(q, cos, sin), keys, values, attn_mask=seen)
        return F.linear(mixed.transpose(1, 2).reshape(batch, length, s.heads * s.head_dim), layer["o"])


def _shared_by_queries(part: Any, times: int) -> Any:
    """Each key or value head `times` times: a copy, which any attention kernel takes."""
    batch, heads, length, dim = part.shape
    return part[:, :, None].expand(batch, heads, times, length, dim).reshape(batch, heads * times, length, dim)


def _rotated(x: Any, cos: Any, sin: Any) -> Any:
    import torch

    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin
