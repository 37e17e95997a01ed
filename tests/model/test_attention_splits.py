from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.model.attention_splits import MAX_SPLITS, split_heuristic, splits_fa2, splits_fa3

BATCHES = (1, 2, 4, 8, 16, 32)


@pytest.mark.parametrize(
    ("context", "expected"),
    [(512, (1, 1, 1, 1, 1, 1)), (2048, (14, 7, 4, 2, 1, 1)), (8192, (15, 8, 4, 2, 1, 1))],
)
def test_the_published_heuristic_on_132_multiprocessors_with_8_kv_heads(context: int, expected: tuple[int, ...]) -> None:
    assert tuple(split_heuristic(8 * batch, 132, ceil(context / 128)) for batch in BATCHES) == expected


def slowly(tiles: int, sms: int, blocks: int, most: int) -> int:
    if 10 * tiles >= 8 * sms or blocks <= 4:
        return 1
    counts = range(1, min(most, sms, blocks) + 1)

    def slots(parts: int) -> int:
        return sms * -(-tiles * parts // sms)

    # parts / slots is the share of the last wave that is filled; compared by cross-multiplication.
    return min(n for n in counts if all(100 * n * slots(other) >= 85 * other * slots(n) for other in counts))


@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 300), st.integers(1, 128))
def test_the_heuristic_agrees_with_trying_every_count(tiles: int, sms: int, blocks: int, most: int) -> None:
    assert split_heuristic(tiles, sms, blocks, most) == slowly(tiles, sms, blocks, most)


shapes = st.fixed_dictionaries(
    {
        "batch": st.integers(1, 1500),
        "kv_heads": st.integers(1, 64),
        "head_dim": st.sampled_from([64, 96, 128, 192, 256]),
        "kv_length": st.integers(1, 20_000),
        "window": st.none() | st.integers(1, 5000),
        "sms": st.integers(1, 200),
    }
)


@given(shapes, st.sampled_from([0, 1, 32]))
def test_a_step_never_uses_more_parts_than_the_launch_allows(shape: dict[str, int], max_splits: int) -> None:
    found = splits_fa3(**shape, max_length=40_000, max_splits=max_splits)
    assert 1 <= found.used <= found.bound <= MAX_SPLITS
    assert found.combines == (found.bound > 1)


@given(shapes)
def test_longer_sequences_never_lower_the_static_bound_below_one_block_each(shape: dict[str, int]) -> None:
    found = splits_fa2(**shape)
    assert 1 <= found.used == found.bound <= max(1, ceil(shape["kv_length"] / 64))


def llama(batch: int, kv_length: int, max_length: int = 131_072, max_splits: int = 0) -> tuple[int, int]:
    found = splits_fa3(
        batch=batch,
        kv_heads=8,
        head_dim=128,
        kv_length=kv_length,
        max_length=max_length,
        window=None,
        sms=132,
        max_splits=max_splits,
    )
    return found.bound, found.used


def test_the_bound_goes_by_the_longest_sequence_and_the_use_by_this_steps() -> None:
    # Every traced step of batch 1 and 16 launched a combine kernel, though batch 16 at 512 tokens is one part by any reading.
    assert llama(1, 528)[0] > 1
    assert llama(1, 528)[1] == 5  # 5 blocks of 128 keys, less than one a multiprocessor: one block each
    assert llama(16, 528)[0] > 1
    assert llama(16, 528)[1] == 1  # 16 x 5 x 8 x 1.1 / 132 = 5.3 blocks a multiprocessor


def test_an_engine_started_for_short_sequences_launches_no_combine_unless_captured() -> None:
    assert llama(1, 400, max_length=512) == (1, 1)
    assert llama(1, 400, max_length=512, max_splits=32)[0] == 32


def test_a_window_limits_the_parts() -> None:
    shape = {"batch": 1, "kv_heads": 4, "head_dim": 256, "sms": 132, "max_length": 100_000}
    whole = splits_fa3(**shape, kv_length=50_000, window=None)
    windowed = splits_fa3(**shape, kv_length=50_000, window=1024)
    assert windowed.used < whole.used
