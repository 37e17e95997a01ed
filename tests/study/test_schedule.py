"""The order of a study, and that what is left is always the whole minus what is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.support.study_stores import asked, hosts, recorded

from kerntrace.study.records import LeftOut, Plan, Record, TracedCell, Wall
from kerntrace.study.schedule import SessionWork, cell_order, modes_of, remaining, token_order

PLAN = asked().plan
HOST = hosts(1)[0]


def unrolled(plan: Plan, records: Sequence[Record]) -> list[tuple[object, ...]]:
    """The work that is left, one call or traced cell an element."""
    found: list[tuple[object, ...]] = []
    for work in remaining(plan, HOST.key, records):
        if isinstance(work, SessionWork):
            for cell in work.cells:
                for repetition in cell.repetitions:
                    found += [
                        (work.mode, work.session, cell.batch, cell.context, repetition, tokens)
                        for tokens in token_order(plan, repetition)
                    ]
        else:
            found += [(work.mode, *shape) for shape in work.cells]
    return found


def key(record: Record) -> tuple[object, ...] | None:
    if isinstance(record, Wall):
        return record.mode, record.session, record.batch, record.context, record.repetition, record.tokens
    return (record.mode, record.batch, record.context) if isinstance(record, TracedCell) else None


def plans() -> st.SearchStrategy[Plan]:
    sizes = st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True).map(tuple)
    modes = st.permutations(["eager", "graph", "graph-nocompile", "compile"]).flatmap(
        lambda all_: st.integers(1, 4).map(lambda n: tuple(all_[:n]))
    )
    return st.builds(
        lambda batches, contexts, modes, sessions, repetitions, seed: replace(
            PLAN, batches=batches, contexts=contexts, modes=modes, sessions=sessions, repetitions=repetitions, seed=seed,
            traced_batches=batches[:1], traced_contexts=contexts[-1:],
        ),
        sizes, sizes, modes, st.integers(1, 4), st.integers(1, 3), st.integers(0, 5),
    )  # fmt: skip


@given(plans())
def test_a_whole_study_measures_every_call_once(plan: Plan) -> None:
    calls = unrolled(plan, [])
    assert len(calls) == len(set(calls))
    whole = {
        (mode, session, batch, context, repetition, tokens)
        for mode in plan.modes
        for session in range(plan.sessions)
        for batch in plan.batches
        for context in plan.contexts
        for repetition in range(plan.repetitions)
        for tokens in (1, plan.tokens)
    }
    traced = {(mode, b, c) for mode in plan.modes for b in plan.traced_batches for c in plan.traced_contexts}
    assert set(calls) == whole | traced
    kinds = [len(call) == 6 for call in calls]
    assert kinds == sorted(kinds, reverse=True)  # traced cells come last


@given(plans())
def test_sessions_of_all_modes_take_turns_there_and_back(plan: Plan) -> None:
    order = [(work.session, work.mode) for work in remaining(plan, HOST.key, []) if isinstance(work, SessionWork)]
    expected = [(s, mode) for s in range(plan.sessions) for mode in (plan.modes if s % 2 == 0 else plan.modes[::-1])]
    assert order == expected
    assert [mode for s in range(plan.sessions) for mode in modes_of(plan, s)] == [mode for _, mode in order]
    for session in range(plan.sessions):
        cells = [
            [(cell.batch, cell.context) for cell in work.cells]
            for work in remaining(plan, HOST.key, [])
            if isinstance(work, SessionWork) and work.session == session
        ]
        assert all(one == cell_order(plan, session) for one in cells)


@given(st.data())
def test_what_is_left_is_the_whole_minus_what_is_there(data: st.DataObject) -> None:
    records = recorded(PLAN, HOST)
    count = data.draw(st.integers(0, len(records)))
    there = records[:count]
    whole = unrolled(PLAN, records[:2])
    half = count > 2 and isinstance(there[-1], Wall) and (count - 2) % 2 == 1
    done = [key(record) for record in (there[:-1] if half else there)]
    assert unrolled(PLAN, there) == [call for call in whole if call not in done] if count >= 2 else True


@given(st.permutations(range(6)), st.integers(0, 6))
def test_the_order_of_the_records_does_not_matter(order: list[int], count: int) -> None:
    walls = [record for record in recorded(PLAN, HOST) if isinstance(record, Wall)][:6]
    some: list[Record] = [walls[i] for i in order[:count]]
    in_order: list[Record] = [walls[i] for i in sorted(order[:count])]
    assert unrolled(PLAN, some) == unrolled(PLAN, in_order)


def test_a_cell_left_out_is_not_run_in_its_mode() -> None:
    out = [LeftOut(HOST.key, "eager", 1, 16, ""), LeftOut(HOST.key, None, 4, 64, ""), LeftOut("another", None, 1, 64, "")]
    left = unrolled(PLAN, out)
    cells = {(mode, batch, context) for mode, _, batch, context, *_ in (call for call in left if len(call) == 6)}
    assert cells == {
        (mode, batch, context)
        for mode in PLAN.modes
        for batch, context in ((1, 16), (1, 64), (4, 16))
        if (mode, batch, context) != ("eager", 1, 16)
    }
    assert ("eager", 1, 16) not in left
    assert ("graph", 1, 16) in left


def test_other_hosts_records_do_nothing_for_this_one() -> None:
    others: list[Record] = [
        replace(record, host="another") for record in recorded(PLAN, HOST) if isinstance(record, Wall | TracedCell)
    ]
    assert unrolled(PLAN, others) == unrolled(PLAN, [])
