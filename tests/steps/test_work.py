"""Kernels of a cell and the comparison of two cells' work."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.pipeline import Account, account_of
from tests.support.recording import Playing, decode_range

from kerntrace.steps.work import FamilyUse, families_in, kernels_in, owned_kernels, same_work, sequence_of


def played() -> Account:
    """Three steps: `gemm` twice each time with other lengths, `norm` once, `extra` in the second step only; a copy in each."""
    play = Playing()
    for step in range(3):
        with play.within(decode_range(1)):
            play.launch("gemm_kernel", 100, grid_x=1, grid_y=1, grid_z=1, block_x=64, block_y=1, block_z=1)
            play.launch("gemm_kernel", 200 + step, grid_x=2, grid_y=1, grid_z=1, block_x=64, block_y=1, block_z=1)
            if step == 1:
                play.launch("extra_kernel", 30, grid_x=9, grid_y=1, grid_z=1, block_x=1, block_y=1, block_z=1)
            play.replay([("norm_kernel", 10)])
            play.copy(5)
    made = account_of(play.build())
    assert made is not None
    return made


def test_a_kernels_count_time_and_shapes_a_step() -> None:
    made = played()
    uses = {u.name: u for u in kernels_in(made.trace, made.ops, made.steps, np.arange(3))}
    gemm, extra, norm = uses["gemm_kernel"], uses["extra_kernel"], uses["norm_kernel"]
    assert (gemm.count, gemm.count_min, gemm.count_max) == (2, 2, 2)
    assert gemm.total_ns == 100 + 201
    assert gemm.median_ns == 150
    assert (extra.count, extra.count_min, extra.count_max, extra.total_ns) == (0, 0, 1, 10)
    assert (gemm.graph_share, norm.graph_share) == (0, 1)
    assert list(uses) == ["gemm_kernel", "extra_kernel", "norm_kernel"]  # most time first; of equal time by name


def test_shapes_need_every_size_on_record() -> None:
    made = played()
    assert all(u.shapes for u in kernels_in(made.trace, made.ops, made.steps, np.arange(3)) if u.name != "norm_kernel")
    play = Playing()
    with play.within(decode_range(1)):
        play.launch("k", 10, grid_x=5)
    bare = account_of(play.build())
    assert bare is not None
    assert kernels_in(bare.trace, bare.ops, bare.steps, np.arange(1))[0].shapes == ()


def test_the_commonest_shape_comes_first() -> None:
    play = Playing()
    with play.within(decode_range(1)):
        for x in (9, 2, 2):
            play.launch("k", 10, grid_x=x, grid_y=1, grid_z=1, block_x=32, block_y=1, block_z=1)
    made = account_of(play.build())
    assert made is not None
    assert kernels_in(made.trace, made.ops, made.steps, np.arange(1))[0].shapes == (
        "grid 2,1,1 block 32,1,1",
        "grid 9,1,1 block 32,1,1",
    )


def test_only_the_chosen_steps_count() -> None:
    made = played()
    assert [u.name for u in kernels_in(made.trace, made.ops, made.steps, np.array([0, 2]))] == ["gemm_kernel", "norm_kernel"]
    rows, step = owned_kernels(made.ops, made.steps, np.array([2, 0]))
    assert sorted(step.tolist()) == [0, 0, 0, 1, 1, 1]
    assert len(rows) == 6


def test_a_step_that_owns_nothing() -> None:
    made = played()
    assert kernels_in(made.trace, made.ops, made.steps, np.zeros(0, np.intp)) == []
    assert families_in(made.trace, made.ops, made.steps, np.zeros(0, np.intp)) == []


def test_families_add_up_to_their_kernels() -> None:
    made = played()
    chosen = np.arange(3)
    kernels = kernels_in(made.trace, made.ops, made.steps, chosen)
    families = families_in(made.trace, made.ops, made.steps, chosen)
    assert sum(u.total_ns for u in kernels) == pytest.approx(sum(u.total_ns for u in families))
    assert {name for use in families for name in use.names} == {use.name for use in kernels}


def test_kernels_without_a_name_are_one_kind() -> None:
    play = Playing()
    with play.within(decode_range(1)):
        play.launch("k", 10)
        play.launch("k", 20)
    play.rows["kernels"][0]["name"] = None
    made = account_of(play.build())
    assert made is not None
    assert sorted(u.name for u in kernels_in(made.trace, made.ops, made.steps, np.arange(1))) == ["", "k"]
    assert sorted(u.family for u in families_in(made.trace, made.ops, made.steps, np.arange(1))) == ["(no name)", "k"]


def test_the_sequence_is_in_launch_order_whatever_the_streams_did() -> None:
    play = Playing()
    play.free[8] = 10_000
    with play.within(decode_range(1)):
        play.launch("late", 10, stream=8)
        play.launch("early", 10)
        play.replay([("a", 5), ("b", 5)])
    made = account_of(play.build())
    assert made is not None
    names = made.trace.kernels.names("name")
    assert [names.text(int(r)) for r in sequence_of(made.trace, made.ops, made.steps, 0)] == ["late", "early", "a", "b"]


def use(family: str, count: float = 1, total: float = 100_000, names: str = "") -> FamilyUse:
    return FamilyUse(family, count, total, frozenset(names or family))


@pytest.mark.parametrize(
    ("b", "same", "what"),
    [
        (use("f"), True, []),
        (use("f", count=2), False, ["count"]),
        (use("f", count=1.5), False, ["count"]),
        (use("f", total=106_000), True, ["time"]),
        (use("f", total=104_000), True, []),  # less than a twentieth
        (use("f", names="g"), True, ["kernels"]),
    ],
)
def test_counts_decide_and_time_and_names_are_told(b: FamilyUse, same: bool, what: list[str]) -> None:
    found = same_work([use("f")], [b])
    assert found.same is same
    assert [c.what for c in found.changed] == what


def test_a_short_kernels_time_is_not_told() -> None:
    assert same_work([use("f", total=900)], [use("f", total=1800)]).changed == ()
    assert [c.what for c in same_work([use("f", total=900)], [use("f", total=2000)]).changed] == ["time"]


def test_families_of_one_side_only() -> None:
    found = same_work([use("f"), use("a")], [use("b"), use("f")])
    assert not found.same
    assert ([u.family for u in found.only_a], [u.family for u in found.only_b]) == (["a"], ["b"])


def test_no_work_is_the_same_work() -> None:
    assert same_work([], []).same
