"""The runner, driven by a recorded study: order, resume after a cut at any place, time used up, an engine that fails."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.support.study_stores import asked, hosts, recorded, write_recorded

from kerntrace.errors import KerntraceError
from kerntrace.study.estimate import seconds_of, start_seconds
from kerntrace.study.progress import progress_of
from kerntrace.study.records import Host, Record, Study, TracedCell, Wall
from kerntrace.study.replay import ReplayedSession, ReplaySite, replay_sites
from kerntrace.study.runner import Outcome, Watch, run_study
from kerntrace.study.schedule import SessionWork, remaining
from kerntrace.study.store import RECORDS, open_store, read_study


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("original") / "store"
    write_recorded(place, 2)
    return place


@pytest.fixture(scope="module")
def undisturbed(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("undisturbed") / "store"
    assert replayed(original, place) == Outcome()
    return place


def replayed(original: Path, place: Path, seconds: float | None = None, watch: Watch | None = None) -> Outcome:
    study = read_study(original)
    with open_store(place, asked(), replayed=True) as store:
        return run_study(store, replay_sites(study, store.asked.plan), watch or Watch(), seconds)


def test_a_replay_writes_what_was_recorded_in_its_order(original: Path, undisturbed: Path) -> None:
    study = read_study(undisturbed)
    assert study.replayed
    assert study.records == read_study(original).records


def test_a_store_cut_anywhere_is_finished_to_the_same_bytes(original: Path, undisturbed: Path, tmp_path: Path) -> None:
    whole = (undisturbed / RECORDS).read_bytes()
    for number, length in enumerate(range(0, len(whole), 7_507)):
        place = tmp_path / str(number)
        shutil.copytree(undisturbed, place)
        (place / RECORDS).write_bytes(whole[:length])
        replayed(original, place)
        assert (place / RECORDS).read_bytes() == whole


def test_runs_of_a_few_seconds_each_come_to_the_same(original: Path, undisturbed: Path, tmp_path: Path) -> None:
    place = tmp_path / "store"
    outcomes = [replayed(original, place, seconds=0.9)]
    while outcomes[-1].stopped:
        outcomes.append(replayed(original, place, seconds=0.9))
        assert len(outcomes) < 40
    assert len(outcomes) > 3
    assert (place / RECORDS).read_bytes() == (undisturbed / RECORDS).read_bytes()


def test_an_incomplete_recording_is_replayed_as_far_as_it_goes(original: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    shutil.copytree(original, part)
    lines = (part / RECORDS).read_bytes().splitlines(keepends=True)
    (part / RECORDS).write_bytes(b"".join(lines[:52]))
    assert not replayed(part, tmp_path / "store").stopped
    assert read_study(tmp_path / "store").records == read_study(part).records
    assert not progress_of(read_study(tmp_path / "store"))[0].complete


class Failing(ReplaySite):
    """A site on which one mode's engine does not start."""

    def session(self, work: SessionWork) -> AbstractContextManager[ReplayedSession]:
        if work.mode == "graph":
            raise KerntraceError("no engine today")
        return super().session(work)


def test_a_mode_that_fails_does_not_stop_the_others(original: Path, tmp_path: Path) -> None:
    study = read_study(original)
    host = next(record for record in study.records if isinstance(record, Host))
    with open_store(tmp_path / "store", asked(), replayed=True) as store:
        outcome = run_study(store, [Failing(study, host, store.asked.plan)], Watch())
        modes = {record.mode for record in store.records if isinstance(record, Wall | TracedCell)}
    assert list(outcome.failures) == ["graph"]
    assert modes == {"eager", "graph-nocompile"}


def test_each_record_is_on_disk_before_it_is_told_of(original: Path, tmp_path: Path) -> None:
    place = tmp_path / "store"
    told: list[Record] = []

    def kept(records: object) -> None:
        assert isinstance(records, list)
        told.extend(record for record in records if not isinstance(record, Host))
        there = [record for record in read_study(place).records if isinstance(record, Wall | TracedCell)]
        assert there == told

    study = read_study(original)
    with open_store(place, asked(), replayed=True) as store:
        run_study(store, replay_sites(study, store.asked.plan)[:1], Watch(kept=kept))
    assert len(told) == 3 * 3 * 3 * 3 * 2 + 6


def test_progress_counts_repetitions_and_says_the_time_left() -> None:
    plan, host = asked().plan, hosts(1)[0]
    records = recorded(plan, host)
    half = 2 + 18 * 3  # three sessions: 3 cells x 3 repetitions x 2 walls each
    (found,) = progress_of(Study(plan, "", tuple(records[:half])))
    assert [(m.mode, m.done, m.left, m.traced_done, m.traced_left) for m in found.modes] == [
        (mode, 9, 18, 0, 2) for mode in plan.modes
    ]
    assert [(out.batch, out.context) for out in found.left_out] == [(4, 64)]
    assert found.starts == 6 + 3
    walls = [record for record in records if isinstance(record, Wall)]
    assert found.spent_s == pytest.approx(sum(wall.wall_ns for wall in walls[:54]) / 1e9)
    work = remaining(plan, host.key, records[:half])
    assert found.left_s == pytest.approx(
        sum(seconds_of(plan, one, records[:half]) for one in work) + 9 * start_seconds(plan, records[:half])
    )
    (done,) = progress_of(Study(plan, "", tuple(records)))
    assert done.complete
    assert done.left_s == 0


@pytest.mark.parametrize("lost", [2, 3, 40])
def test_half_a_repetition_is_left_and_not_done(lost: int) -> None:
    plan, host = asked().plan, hosts(1)[0]
    records = recorded(plan, host)
    assert isinstance(records.pop(lost), Wall)
    (found,) = progress_of(Study(plan, "", tuple(records)))
    assert [m.done + m.left for m in found.modes] == [27, 27, 27]
    assert sum(m.left for m in found.modes) == 1


def test_the_time_of_a_session_is_that_of_its_calls_and_warm_ups() -> None:
    plan, host = asked().plan, hosts(1)[0]
    records = recorded(plan, host)
    work = next(one for one in remaining(plan, host.key, records[:2]) if one.mode == "eager")
    walls = [r for r in records if isinstance(r, Wall) and r.mode == "eager"]
    exact = sum(w.wall_ns for w in walls if w.session == 0) + plan.warmup * sum(
        w.wall_ns for w in walls if w.session == 0 and w.repetition == 1 and w.tokens == plan.tokens
    )
    assert seconds_of(plan, work, records) == pytest.approx(exact / 1e9, rel=1e-3)
    assert seconds_of(plan, work, records[:2]) == 0
