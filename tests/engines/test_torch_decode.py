"""The plain torch decoder, on the CPU: its steps are marked, and its cache does what a cache must."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kerntrace.engines.protocol import EngineSpec, step_name
from kerntrace.engines.torch_decode import TorchEngine

torch = pytest.importorskip("torch")

CONFIG = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 600}


class Ranges:
    def __init__(self) -> None:
        self.said: list[Any] = []

    def push(self, name: str, payload: int) -> None:
        self.said.append((name, payload))

    def pop(self) -> None:
        self.said.append(None)


@pytest.fixture(params=[4, 2, 1])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> TorchEngine:
    """One whose queries share keys and values in fours, twos or not at all."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | {"num_key_value_heads": request.param}))
    return TorchEngine(EngineSpec("torch", str(tmp_path), "eager", (1, 3), 8, 6, dtype="float32"), device="cpu")


def test_every_step_is_marked_and_numbered(engine: TorchEngine) -> None:
    ranges = Ranges()
    engine.step_ranges = ranges
    engine.generate(3, 8, 4)
    engine.generate(1, 8, 2)
    names = [step_name(0, 3, 24), *[step_name(3, 0, 0, 8)] * 3, step_name(0, 1, 8), step_name(1, 0, 0, 8)]
    assert ranges.said[::2] == list(zip(names, range(6)))
    assert ranges.said[1::2] == [None] * 6


def test_tokens_one_at_a_time_give_what_all_at_once_give(engine: TorchEngine) -> None:
    decoder = engine._decoder
    with torch.inference_mode():
        ids = torch.randint(10, 500, (2, 7))
        at_once, one_by_one = decoder.cache(2, 16), decoder.cache(2, 16)
        expected = decoder.step(ids, torch.arange(7), at_once, decoder.rotation(16))
        last = None
        for place in range(7):
            last = decoder.step(ids[:, place : place + 1], torch.tensor([place]), one_by_one, decoder.rotation(16))
    assert last is not None
    assert torch.equal(last, expected)
    assert torch.allclose(at_once, one_by_one, atol=1e-5)
    assert at_once[:, :, :, :, :7].abs().sum() > 0
    assert at_once[:, :, :, :, 7:].abs().sum() == 0


def test_a_later_token_does_not_change_an_earlier_one(engine: TorchEngine) -> None:
    decoder = engine._decoder
    with torch.inference_mode():
        ids = torch.randint(10, 500, (1, 6))
        other = ids.clone()
        other[0, -1] = 599
        caches = [decoder.cache(1, 8), decoder.cache(1, 8)]
        for tokens, cache in zip((ids, other), caches):
            decoder.step(tokens, torch.arange(6), cache, decoder.rotation(8))
    assert torch.equal(caches[0][:, :, :, :, :5], caches[1][:, :, :, :, :5])
    assert not torch.equal(caches[0], caches[1])
