"""The layer motif of a step: built sequences with a known answer, the H200's own steps, and a slow oracle of the rule."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.steps.motif import Motif, find_motif

BEFORE = ["arange", "fill", "seq_lens", "combine", "block_tables", "slots", "attention plan"]
AFTER = ["index", "gemm", "index", "index", "copy", "bias", "sample", "argmax", "gather", "fill", "rejected", "update"]
ATTENTION = ["cache", "attention", "combine"]
SPLIT = ["gemm split", "reduce"]
EAGER_LAYER = ["gemm", "rope", *ATTENTION, *SPLIT, "add norm", "gemm", "silu", *SPLIT, "add norm"]
COMPILED_LAYER = [
    "gemm",
    "fused 3",
    "fused 4",
    *ATTENTION,
    *SPLIT,
    "fused norm 0",
    "gemm",
    "fused silu",
    *SPLIT,
    "fused norm 2",
]


def codes(kernels: list[str]) -> np.ndarray:
    numbers = {name: number for number, name in enumerate(dict.fromkeys(kernels))}
    return np.array([numbers[name] for name in kernels], np.int64)


def test_eager_step_of_32_layers() -> None:
    step = [*BEFORE, "copy", "embedding", "norm", *EAGER_LAYER * 32, *AFTER]
    motif = find_motif(codes(step))
    assert motif == Motif(period=13, repeats=32, start=10, rest_before=10, rest_after=12)
    assert motif.written() == "438 = 32 x 13 + 22"
    assert_parts(motif, step, EAGER_LAYER)


def test_compiled_step_whose_first_layer_has_two_other_kernels() -> None:
    first = ["gemm", "fused 1", "fused 2", *COMPILED_LAYER[3:]]
    step = [*BEFORE, "fill", "fused embedding norm", *first, *COMPILED_LAYER * 31, *AFTER]
    motif = find_motif(codes(step))
    assert motif == Motif(period=14, repeats=32, start=9, rest_before=9, rest_after=12, first_differs=2)
    assert motif.written() == "469 = 32 x 14 + 21"
    assert_parts(motif, step, COMPILED_LAYER)


def test_last_layer_whose_norm_belongs_to_the_head() -> None:
    layer = ["gemm", "rope", "attention", "gemm out", "add_norm", "silu", "gemm down", "add_norm"]
    step = ["embedding", "norm", *layer * 23, *layer[:-1], "norm", "head", "argmax"]
    motif = find_motif(codes(step))
    assert motif == Motif(period=8, repeats=24, start=2, rest_before=2, rest_after=2, last_differs=1)
    assert_parts(motif, step, layer)


def test_layers_of_two_kinds_in_turn_are_one_motif() -> None:
    local, whole = (
        ["gemm", "rope", "attention local", "gemm out", "mlp"],
        ["gemm", "rope", "attention", "reduce", "gemm out", "mlp"],
    )
    motif = find_motif(codes([*BEFORE, *(local + whole) * 12, *AFTER]))
    assert motif is not None
    assert motif.written() == f"{11 * 12 + len(BEFORE + AFTER)} = 12 x 11 + {len(BEFORE + AFTER)}"


def test_dense_first_layers_are_rest() -> None:
    dense, experts = (
        ["gemm", "attention", "gemm", "mlp", "add_norm"],
        ["gemm", "attention", "gemm", "topk", "experts", "sum", "add_norm"],
    )
    motif = find_motif(codes(["embedding", "norm", *dense * 3, *experts * 58, "head", "argmax"]))
    assert motif is not None
    assert (motif.period, motif.repeats) == (7, 58)


@pytest.mark.parametrize("step", [[], [1], [1, 2], [1, 2, 3, 1, 2, 4], list(range(500)), [1, 1, 2, 3, 4, 5, 6, 7, 8]])
def test_nothing_repeats_enough(step: list[int]) -> None:
    assert find_motif(np.array(step, np.int64)) is None


def test_a_step_of_one_kernel_over_and_over() -> None:
    motif = find_motif(np.full(20_000, 7))
    assert motif == Motif(period=1, repeats=20_000, start=0, rest_before=0, rest_after=0)
    assert motif.written() == "20000 = 20000 x 1"


def test_long_steps_of_many_different_kernels() -> None:
    layer = np.arange(200)
    step = np.concatenate([np.arange(1000, 1100), np.tile(layer, 400), np.arange(2000, 2000 + 70_000)])
    motif = find_motif(step)
    assert motif == Motif(period=200, repeats=400, start=100, rest_before=100, rest_after=70_000)


@given(
    layer=st.integers(1, 12),
    repeats=st.integers(4, 12),
    before=st.integers(0, 15),
    after=st.integers(0, 15),
    seed=st.integers(0, 2**32 - 1),
)
def test_built_sequences(layer: int, repeats: int, before: int, after: int, seed: int) -> None:
    """A layer of different kernels, none of them outside: only one answer is right, whatever the numbers."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(1000) - 500
    block = number[:layer]
    head = rng.choice(number[20:30], before)
    tail = rng.choice(number[40:50], after)
    step = np.concatenate([head, np.tile(block, repeats), tail])
    found = find_motif(step)
    whole, rest = layer * repeats, max(before, after)
    if whole * 9 > rest * 10 and whole * 4 >= len(step):
        assert found == Motif(layer, repeats, before, before, after)
        assert found.block(step).tolist() == block.tolist()
        assert found.before(step).tolist() == head.tolist()
        assert found.after(step).tolist() == tail.tolist()


@given(st.integers(1, 4).flatmap(lambda letters: st.lists(st.integers(0, letters), max_size=26)))
def test_any_sequence_agrees_with_the_oracle(step: list[int]) -> None:
    assert find_motif(np.array(step, np.int64)) == oracle(step)


@given(
    st.lists(st.integers(0, 3), max_size=4),
    st.lists(st.integers(0, 5), min_size=1, max_size=9),
    st.integers(2, 5),
    st.lists(st.integers(0, 3), max_size=4),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=3),
)
def test_nearly_repeating_sequences_agree_with_the_oracle(
    before: list[int], layer: list[int], repeats: int, after: list[int], damage: list[tuple[int, int]]
) -> None:
    step = [*before, *layer * repeats, *after]
    for place, value in damage:
        step[place % len(step)] = value
    assert find_motif(np.array(step, np.int64)) == oracle(step)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(-(2**62), 2**61))
def test_what_the_numbers_are_does_not_count(step: list[int], shift: int) -> None:
    sequence = np.array(step, np.int64)
    assert find_motif(sequence) == find_motif(shift + sequence * 3)


def assert_parts(motif: Motif, step: list[str], layer: list[str]) -> None:
    numbers = codes(step)
    names = dict(zip(numbers.tolist(), step))
    before, block, after = (
        [names[c] for c in part.tolist()] for part in (motif.before(numbers), motif.block(numbers), motif.after(numbers))
    )
    assert block == layer
    assert before == step[: motif.rest_before]
    assert after == step[len(step) - motif.rest_after :]


def oracle(step: list[int]) -> Motif | None:
    """The rule as it is written, tried on every period, place and number of blocks."""
    best = {period: motif for period in range(1, len(step) // 2 + 1) if (motif := best_of_period(step, period))}
    most = max((covered(m) for m in best.values()), default=0)
    return next((m for _, m in sorted(best.items()) if 10 * covered(m) >= 9 * most), None)


def covered(motif: Motif) -> int:
    return motif.period * motif.repeats - motif.first_differs - motif.last_differs


def best_of_period(step: list[int], period: int) -> Motif | None:
    options = []
    for start in range(len(step)):
        for repeats in range(2, (len(step) - start) // period + 1):
            blocks = [step[start + i * period : start + (i + 1) * period] for i in range(repeats)]
            odd = [sum(x != y for x, y in zip(a, b)) for a, b in pairwise(blocks)]
            first, last = (odd[0], odd[-1]) if repeats > 2 else (odd[0], 0)
            near = max(first, last) <= period // 4
            if near and 0 in odd and not any(odd[1:-1]):
                options.append((-repeats, first + last, first, start))
    if not options:
        return None
    fewer, both, first, start = min(options)
    motif = Motif(period, -fewer, start, start, len(step) - start + fewer * period, first, both - first)
    return motif if covered(motif) * min(-fewer, 4) >= len(step) else None
