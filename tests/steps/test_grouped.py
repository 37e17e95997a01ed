"""The kernels of chosen steps against counting them one by one, however many blocks the rows are cut into."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import median
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.pipeline import Account, account_of
from tests.support.recording import Playing, decode_range

from kerntrace.steps.families import family_of
from kerntrace.steps.shapes import shapes_of
from kerntrace.steps.work import families_in, kernels_in
from kerntrace.trace import blocks

SIZES = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
Kernel = tuple[str, int, int]  # name, length, grid_x; a length of 0 is a copy in its place

KERNELS = st.tuples(st.sampled_from(["gemm_a", "gemm_b", "norm", "softmax"]), st.integers(0, 9), st.integers(1, 3))
STEPS = st.lists(st.lists(KERNELS, max_size=8), min_size=1, max_size=6)


def played(steps: list[list[Kernel]], replayed: bool) -> Account:
    play = Playing()
    for kernels in steps:
        with play.within(decode_range(1)):
            for name, length, grid in kernels:
                if length:
                    play.launch(name, length, **dict.fromkeys(SIZES, 1) | {"grid_x": grid})
                else:
                    play.copy(5)
            if replayed:
                play.replay([("softmax", 3), ("norm", 4)])
    made = account_of(play.build())
    assert made is not None
    return made


def counted(made: Account, chosen: list[int]) -> dict[str, Any]:
    """By name: executions of each chosen step, all lengths, all shapes, and how many were nodes of a graph."""
    kernels = made.trace.kernels
    found: dict[str, Any] = defaultdict(lambda: (Counter(), [], Counter(), []))
    for place in range(len(made.ops)):
        step, row = int(made.steps.owner[place]), int(made.ops.row[place])
        if step not in chosen or not made.ops.is_kernel[place]:
            continue
        by_step, lengths, shapes, nodes = found[kernels.names("name").text(row) or ""]
        by_step[step] += 1
        lengths.append(int(made.ops.end[place] - made.ops.start[place]))
        shapes[tuple(int(kernels.ints(size)[row]) for size in SIZES)] += 1
        nodes.append(bool(kernels.valid("graph_node_id")[row]))
    return found


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, replayed=st.booleans(), rows=st.integers(1, 9), data=st.data())
def test_uses_are_what_counting_gives(
    steps: list[list[Kernel]], replayed: bool, rows: int, data: st.DataObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_ROWS", rows)
    made = played(steps, replayed)
    chosen = sorted(data.draw(st.sets(st.integers(0, len(steps) - 1), min_size=1)))
    expected = counted(made, chosen)
    uses = {use.name: use for use in kernels_in(made.trace, made.ops, made.steps, np.array(chosen))}
    assert set(uses) == set(expected)
    for name, (by_step, lengths, shapes, nodes) in expected.items():
        counts = [by_step[step] for step in chosen]
        use = uses[name]
        assert (use.count, use.count_min, use.count_max) == (median(counts), min(counts), max(counts))
        assert (use.total_ns, use.median_ns) == (sum(lengths) / len(chosen), median(lengths))
        assert use.graph_share == pytest.approx(sum(nodes) / len(nodes))
        if use.shapes:
            ranked = sorted(shapes, key=lambda shape: (-shapes[shape], shape))
            assert list(use.shapes) == ["grid {},{},{} block {},{},{}".format(*shape) for shape in ranked]
    families = {use.family: use for use in families_in(made.trace, made.ops, made.steps, np.array(chosen))}
    assert set(families) == {family_of(name) for name in expected}
    for family, found in families.items():
        mine = [name for name in expected if family_of(name) == family]
        assert found.names == set(mine)
        assert found.count == median([sum(expected[name][0][step] for name in mine) for step in chosen])
        assert found.total_ns == sum(sum(expected[name][1]) for name in mine) / len(chosen)


def shaped(*shapes: tuple[int, ...]) -> Account:
    play = Playing()
    with play.within(decode_range(1)):
        for shape in shapes:
            play.launch("k", 10, **dict(zip(SIZES, shape)))
    made = account_of(play.build())
    assert made is not None
    return made


WIDE = (2**31 - 1, 65535, 65535, 1024, 1024, 64)


@pytest.mark.parametrize("shapes", [((1, 2, 3, 4, 5, 6), (9, 2, 3, 4, 5, 7), (9, 2, 3, 4, 5, 7)), ((1,) * 6, WIDE, WIDE)])
def test_a_shape_s_number_gives_the_shape_back(shapes: tuple[tuple[int, ...], ...]) -> None:
    """The second case has more possible shapes than 62 bits can number."""
    found = shapes_of(shaped(*shapes).trace)
    assert found is not None
    assert (found.known is not None) == (WIDE in shapes)
    numbers = found.numbers(np.arange(3))
    assert numbers[1] == numbers[2] != numbers[0]
    assert found.ranked(numbers) == tuple("grid {},{},{} block {},{},{}".format(*shape) for shape in (shapes[1], shapes[0]))
