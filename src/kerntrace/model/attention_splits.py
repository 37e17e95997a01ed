"""Into how many parts FlashAttention cuts a decode step's keys and values. Room: accounting | model.

Two decisions add up. A static bound is chosen from shapes when the kernel is launched; it decides whether a combine kernel
is launched at all. Where sequence lengths are on the device (vLLM's case) a metadata kernel then lowers the parts each step,
by the lengths of that step; parts = 1 leaves the combine kernel with nothing to do, but it was launched.
Sources: Dao-AILab/flash-attention at 13d0fd9 (hopper/heuristics.h, tile_size.h), vllm-project/flash-attention at 35756f5
(hopper/flash_prepare_scheduler.cu), flash-attention 2's csrc/flash_attn/flash_api.cpp (from memory). The rules are restated
here, not copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

MAX_SPLITS = 128
# vLLM bounds the parts under a full graph, because the grid is fixed at capture.
MAX_SPLITS_IN_GRAPH = 32
_ENOUGH_TO_FILL = Fraction(8, 10)
_GOOD_ENOUGH = Fraction(85, 100)
_FEW_BLOCKS = 4
_MARGIN = 1.1
_BATCH_LIMIT_FOR_LENGTHS_ON_DEVICE = 992


@dataclass(frozen=True, slots=True)
class Splits:
    """Parts of a decode step's keys and values.

    Attributes:
        bound: most parts the launch allows for; above 1 a combine kernel follows.
        used: parts the step's lengths lead to.
    """

    bound: int
    used: int

    @property
    def combines(self) -> bool:
        return self.bound > 1


@lru_cache(maxsize=256)
def split_heuristic(tiles: int, sms: int, kv_blocks: int, max_splits: int = MAX_SPLITS) -> int:
    """The published choice: the fewest parts whose last wave is at least 85 % as full as the best choice's.

    Args:
        tiles: independent tiles without splitting, batch x kv heads x query blocks.
        sms: multiprocessors that take one tile each.
        kv_blocks: blocks along the keys.
        max_splits: most parts.
    """
    if tiles >= _ENOUGH_TO_FILL * sms or kv_blocks <= _FEW_BLOCKS:
        return 1
    return _fewest_good_enough(range(1, min(max_splits, sms, kv_blocks) + 1), tiles, sms)


def key_block_fa3(head_dim: int, window: int | None) -> int:
    """Keys a FlashAttention 3 tile covers, 16 bit, paged cache whose pages are smaller than a tile, one query a sequence."""
    if head_dim <= 64:
        return 160
    if head_dim <= 128:
        return 128
    return 96 if head_dim <= 192 else (80 if window is None else 64)


def splits_fa3(
    *,
    batch: int,
    kv_heads: int,
    head_dim: int,
    kv_length: int,
    max_length: int,
    window: int | None,
    sms: int,
    max_splits: int = 0,
) -> Splits:
    """Parts under FlashAttention 3 as vLLM calls it.

    Args:
        kv_length: tokens a sequence's keys cover in this step.
        max_length: tokens a sequence's block table can hold; the static bound goes by it, not by the step's lengths.
        max_splits: a bound fixed at capture, or 0 for the heuristic.
    """
    block = key_block_fa3(head_dim, window)
    seen = kv_length if window is None else min(kv_length, window)
    blocks = ceil(seen / block)
    longest = max_length if window is None else min(max_length, window + block)
    on_device = batch <= _BATCH_LIMIT_FOR_LENGTHS_ON_DEVICE
    # With lengths on the device only a bound is needed, so the batch counts as one long sequence among short ones.
    bound = max_splits or split_heuristic((1 if on_device else batch) * kv_heads, sms, ceil(longest / block))
    if not on_device:
        return Splits(bound, bound)
    blocks_per_sm = max(1, ceil(batch * blocks * _MARGIN * kv_heads / sms))
    return Splits(bound, max(1, min(ceil(blocks / blocks_per_sm), bound)))


def splits_fa2(*, batch: int, kv_heads: int, head_dim: int, kv_length: int, window: int | None, sms: int) -> Splits:
    """Parts under FlashAttention 2, whose split kernel has two tiles a multiprocessor and goes by the step's lengths alone."""
    block = 256 if head_dim <= 64 else (128 if head_dim <= 128 else 64)
    seen = kv_length if window is None else min(kv_length, window)
    parts = _fewest_useful(batch * kv_heads, 2 * sms, ceil(seen / block))
    return Splits(parts, parts)


@lru_cache(maxsize=256)
def _fewest_useful(tiles: int, slots: int, kv_blocks: int) -> int:
    # FlashAttention 2 skips part counts that leave the longest part as long as one part fewer does.
    if tiles >= _ENOUGH_TO_FILL * slots:
        return 1
    most = min(MAX_SPLITS, slots, kv_blocks)
    useful = [n for n in range(1, most + 1) if n == 1 or ceil(kv_blocks / n) != ceil(kv_blocks / (n - 1))]
    return _fewest_good_enough(useful, tiles, slots)


def _fewest_good_enough(counts: Sequence[int], tiles: int, slots: int) -> int:
    # Exact fractions: a share of exactly 85 % of the best counts as good enough.
    filled = {parts: Fraction(tiles * parts, slots * -(-tiles * parts // slots)) for parts in counts}
    enough = _GOOD_ENOUGH * max(filled.values())
    return next(parts for parts in counts if filled[parts] >= enough)
