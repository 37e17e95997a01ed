"""Columns worked out a block at a time: the figures are the same whatever the blocks' size, down to a row a block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.pipeline import Account, account_of
from tests.support.random_traces import recordings
from tests.support.recording import Recording

from kerntrace.trace import blocks

FEWER = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def told(found: Account) -> dict[str, Any]:
    """Every figure of an account."""
    steps, ledger, phases = found.steps, found.ledger, found.phases
    figures: dict[str, Any] = {
        "owner": steps.owner, "kernels": steps.kernels, "operations": steps.operations, "launches": steps.launches,
        "graph launches": steps.graph_launches, "signature": steps.signature, "wall": ledger.wall, "busy": ledger.busy,
        "overlap": ledger.overlap, "waited": phases.host_wait, "called": phases.launch_call, "gap step": ledger.gaps.step,
        "gap start": ledger.gaps.start, "gap end": ledger.gaps.end, "gap call": ledger.gaps.call,
        "between": ledger.gaps.between,
    }  # fmt: skip
    figures |= {f"within {name}": value for name, value in ledger.within.items()}
    figures |= {f"after {name}": value for name, value in ledger.between.items()}
    return {name: value.tolist() for name, value in figures.items()} | {"phases": list(phases.names)}


@given(recordings(), st.integers(1, 5))
@FEWER
def test_the_size_of_blocks_changes_no_figure(monkeypatch: pytest.MonkeyPatch, recording: Recording, rows: int) -> None:
    trace = recording.build()
    whole = account_of(trace)
    with monkeypatch.context() as patched:
        patched.setattr(blocks, "_ROWS", rows)
        pieces = account_of(recording.build())
    assert (whole is None) == (pieces is None)
    if whole is not None and pieces is not None:
        assert told(pieces) == told(whole)


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 4))
def test_blocks_are_runs_of_groups_that_leave_none_out(sizes: list[int], rows: int) -> None:
    before = np.concatenate([[0], np.cumsum(np.array(sizes, np.int64))]).astype(np.int64)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(blocks, "_ROWS", rows)
        found = blocks.blocks(before)
    covered = [group for part in found for group in range(part.start, part.stop)]
    assert covered == [group for group in range(len(sizes)) if before[-1] > 0]
    assert all(part.start < part.stop for part in found)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 9)), max_size=20), st.integers(1, 7))
def test_sums_in_blocks_are_sums(pairs: list[tuple[int, int]], rows: int) -> None:
    group = np.array([g for g, _ in pairs], np.int32)
    value = np.array([v for _, v in pairs], np.int64)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(blocks, "_ROWS", rows)
        sums, counts = blocks.summed_in_blocks(len(pairs), 6, lambda run: [(group[run], value[run]), (group[run], None)])
    assert sums.tolist() == [sum(v for g, v in pairs if g == wanted) for wanted in range(6)]
    assert counts.tolist() == [sum(g == wanted for g, _ in pairs) for wanted in range(6)]


def test_an_error_in_a_block_is_raised() -> None:
    def fail(piece: int) -> int:
        raise ValueError(f"piece {piece}")

    with pytest.raises(ValueError, match="piece"):
        blocks.in_parallel(fail, [1, 2, 3])
