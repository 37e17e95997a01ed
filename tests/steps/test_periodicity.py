"""Steps where no range tells them: built runs whose steps are known, with layers inside, cut heads, prefills and replays."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.pipeline import account_of
from tests.support.recording import Playing

from kerntrace.steps.boundaries import Boundaries
from kerntrace.steps.periodicity import find_period
from kerntrace.trace.launches import join_launches
from kerntrace.trace.model import Trace
from kerntrace.trace.operations import operations_of


@dataclass
class Run:
    """What is played: steps of a few kernels, layers and a few kernels more, each after a pause of the host.

    Attributes:
        begins: host time of each step's first launch.
    """

    steps: int = 6
    layers: int = 4
    layer: tuple[str, ...] = ("norm", "gemm", "attention", "gemm")
    head: tuple[str, ...] = ("embed", "norm")
    tail: tuple[str, ...] = ("norm", "head", "argmax")
    prefill: bool = False
    graph: bool = False
    pause: int = 500
    play: Playing = field(default_factory=Playing)
    begins: list[int] = field(default_factory=list)

    @property
    def kernels(self) -> int:
        return len(self.head) + self.layers * len(self.layer) + len(self.tail)

    def played(self) -> Run:
        if self.prefill:
            self._step(("resize", *self.head, "cast"), tuple(f"prefill_{n}" for n in self.layer), graph=False)
            self.begins.pop()
        for _ in range(self.steps):
            self._step(self.head, self.layer, graph=self.graph)
        return self

    def _step(self, head: tuple[str, ...], layer: tuple[str, ...], *, graph: bool) -> None:
        self.play.wait(self.pause)
        self.begins.append(self.play.host)
        for name in head:
            self._kernel(name)
        if graph:
            self.play.replay([(name, 20) for name in layer * self.layers])
        else:
            for name in layer * self.layers:
                self._kernel(name)
        for name in self.tail:
            self._kernel(name)
        self.play.synchronise()

    def _kernel(self, name: str) -> None:
        self.play.wait(3)
        self.play.launch(name, 20, call=5, latency=9)
        if name == self.head[0] and len(self.begins) and self.play.rows["api_calls"][-1]["start_ns"] - self.begins[-1] < 5:
            self.begins[-1] = self.play.rows["api_calls"][-1]["start_ns"]


def boundaries_of(trace: Trace) -> Boundaries | None:
    launches = join_launches(trace)
    return find_period(trace, operations_of(trace, launches))


def begins(run: Run) -> tuple[list[int], Boundaries]:
    """Where steps were found to begin, in the times of the run."""
    trace = run.play.build()
    found = boundaries_of(trace)
    assert found is not None
    first = min(row["start_ns"] for rows in run.play.rows.values() for row in rows)
    return [int(b) + first for b in found.begins], found


def test_layers_inside_a_step_are_not_steps() -> None:
    run = Run(layers=12).played()
    found, boundaries = begins(run)
    assert found == run.begins
    assert boundaries.method == "periodic"
    assert boundaries.on_host
    assert f"period of {run.kernels} kernels in {run.kernels} launches" in boundaries.detail


def test_a_replay_is_one_element_and_is_never_cut() -> None:
    run = Run(graph=True, layers=8).played()
    found, boundaries = begins(run)
    assert found == run.begins
    assert f"period of {run.kernels} kernels in {len(run.head) + 1 + len(run.tail)} launches" in boundaries.detail


def test_one_replay_and_nothing_else_a_step() -> None:
    run = Run(graph=True, head=(), tail=()).played()
    found, _ = begins(run)
    assert len(found) == run.steps


def test_a_prefill_first_does_not_move_the_cuts() -> None:
    run = Run(prefill=True).played()
    found, _ = begins(run)
    assert [b for b in found if b >= run.begins[0]] == run.begins


def test_an_eager_prefills_layers_are_not_taken_for_steps() -> None:
    """A prefill of 32 layers makes more launch calls than 16 decode steps of one replay each."""
    run = Run(
        steps=16,
        layers=32,
        layer=tuple(f"layer{n}" for n in range(13)),
        head=tuple(f"head{n}" for n in range(10)),
        tail=tuple(f"tail{n}" for n in range(12)),
        prefill=True,
        graph=True,
    ).played()
    found, _ = begins(run)
    assert [b for b in found if b >= run.begins[0]] == run.begins


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("cut", [1, 2, 3, 5])
def test_a_cut_head_leaves_the_whole_steps_whole(graph: bool, cut: int) -> None:
    run = Run(graph=graph).played()
    ids = [c["correlation_id"] for c in run.play.rows["api_calls"][:cut]]
    for table in ("api_calls", "kernels"):
        run.play.rows[table] = [r for r in run.play.rows[table] if r["correlation_id"] not in ids]
    found, _ = begins(run)
    assert [b for b in found if b >= run.begins[1]] == run.begins[1:]


def test_the_account_of_periodic_steps_adds_up() -> None:
    run = Run(steps=8).played()
    trace = run.play.build()
    made = account_of(trace, boundaries_of(trace))
    assert made is not None
    assert made.steps.kernels.tolist() == [run.kernels] * 8
    assert made.steady.tolist() == [False, *[True] * 6, False]
    assert len(set(made.ledger.wall[1:6].tolist())) == 1


def test_without_api_calls_the_devices_own_times_serve() -> None:
    run = Run(steps=8).played()
    run.play.rows["api_calls"].clear()
    _, boundaries = begins(run)
    assert not boundaries.on_host
    trace = run.play.build()
    made = account_of(trace, boundaries_of(trace))
    assert made is not None
    assert made.steps.kernels[made.steady].tolist() == [run.kernels] * int(made.steady.sum())
    assert made.steady.sum() >= 5
    assert made.ledger.term("unattributed")[made.steady].min() > 0


@pytest.mark.parametrize(
    "names", ["", "a", "ab", "abc", "abcdefgh", "aabbccdd"], ids=["nothing", "one", "two", "three", "none again", "pairs"]
)
def test_a_sequence_that_does_not_repeat_has_no_steps(names: str) -> None:
    play = Playing()
    for name in names:
        play.launch(name, 5)
    found = boundaries_of(play.build())
    assert found is None or names == "aabbccdd"


def test_an_accident_that_repeats_is_not_a_step() -> None:
    """Two kernels come again now and then among hundreds that do not."""
    play = Playing()
    for n in range(200):
        play.launch(f"once{n}", 5)
    for _ in range(3):
        play.launch("x", 5)
        play.launch("y", 5)
    assert boundaries_of(play.build()) is None


@given(
    st.builds(
        Run,
        steps=st.integers(4, 9),
        layers=st.integers(1, 7),
        layer=st.lists(st.sampled_from(["norm", "gemm", "attention", "act"]), min_size=1, max_size=5).map(tuple),
        head=st.sampled_from([("embed",), ("embed", "norm"), ("copy", "embed", "norm")]),
        tail=st.sampled_from([("argmax",), ("norm", "argmax"), ("norm", "gemm", "argmax", "gather")]),
        prefill=st.booleans(),
        graph=st.booleans(),
    )
)
def test_every_whole_step_is_found_where_it_begins(run: Run) -> None:
    found, _ = begins(run.played())
    assert [b for b in found if b >= run.begins[0]] == run.begins
