"""The export that nsys's own programs read, and its way back."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.export.roundtrip import account, exported, rows, there_and_back
from tests.support.bundles import HOSTILE, hostile_run, two_device_run
from tests.support.random_traces import recordings
from tests.support.recording import Recording, decode_run

from kerntrace.accounting.analysis import Question, analyse
from kerntrace.accounting.ledger import GAP_TERMS
from kerntrace.trace.builder import TraceBuilder

KERNEL, RUNTIME = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"


def asked(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


@given(recordings())
@settings(max_examples=40)
def test_everything_comes_back(recording: Recording) -> None:
    trace = recording.build(epoch_ns=1_700_000_000_000_000_000)
    with tempfile.TemporaryDirectory() as folder:
        back = there_and_back(trace, "nsys-sqlite", Path(folder))
    assert rows(back) == rows(trace)
    assert account(back) == account(trace)
    assert back.manifest.epoch_ns == trace.manifest.epoch_ns


@pytest.mark.parametrize("name", ["h200-eager", "h200-graph", "h200-native-eager", "h200-native-graph"])
def test_recordings_come_back_to_the_nanosecond(name: str, tmp_path: Path) -> None:
    from kerntrace.trace.bundle import read_bundle

    trace = read_bundle(Path(__file__).parents[2] / "traces" / f"{name}.ktrace")
    back = there_and_back(trace, "nsys-sqlite", tmp_path)
    assert rows(back) == rows(trace)
    assert account(back) == account(trace)
    assert back.manifest.environment == trace.manifest.environment
    assert back.manifest.workload == trace.manifest.workload


def test_a_trace_that_lost_records_stays_refused(tmp_path: Path) -> None:
    back = there_and_back(decode_run().build(dropped_records=3), "nsys-sqlite", tmp_path)
    assert back.manifest.capture.dropped_records == 3
    assert [rule.rule for rule in analyse(back, Question()).rules if not rule.ok] == ["dropped-records"]


def test_what_the_reports_need_of_it(tmp_path: Path) -> None:
    play = decode_run(graph=True)
    play.call(play.host, None, play.next_id(), "cudaGraphLaunch")  # had not returned
    launch = next(row for row in play.rows["api_calls"] if row["name"] == "cudaLaunchKernel")
    play.call(launch["start_ns"] + 1, launch["end_ns"] - 1, launch["correlation_id"], "cuLaunchKernel")
    path = exported(play.build(), "nsys-sqlite", tmp_path / "t.sqlite")
    assert [f.name for f in tmp_path.iterdir()] == ["t.sqlite"]  # no journal and no log beside it
    assert asked(path, "PRAGMA journal_mode")[0][0] in ("delete", "off")
    assert {kind for (kind,) in asked(path, "SELECT DISTINCT type FROM sqlite_master")} <= {"table", "index"}
    assert asked(path, f"SELECT max(n) FROM (SELECT count(*) n FROM {RUNTIME} GROUP BY globalTid, correlationId)") == [(1,)]
    assert asked(path, "SELECT count(*) FROM KERNTRACE_API_CALLS") == [(2,)]
    for table in (KERNEL, RUNTIME, "NVTX_EVENTS"):
        assert asked(path, f"SELECT min(start) > 0 FROM {table}") == [(1,)]
    joined = f"SELECT count(*) FROM {KERNEL} k JOIN {RUNTIME} r ON k.correlationId = r.correlationId"
    joined += " AND k.globalPid = (r.globalTid & 0xFFFFFFFFFF000000)"
    assert asked(path, joined) == asked(path, f"SELECT count(*) FROM {KERNEL}")
    assert asked(path, "SELECT label FROM ENUM_CUDA_MEMCPY_OPER WHERE id = 2") == [("Device-to-Host",)]
    assert len(asked(path, "SELECT * FROM TARGET_INFO_GPU")) == 1


def test_findings_are_ranges_of_a_domain_of_their_own(tmp_path: Path) -> None:
    trace = decode_run().build()
    path = exported(trace, "nsys-sqlite", tmp_path / "t.sqlite")
    ledger = analyse(trace, Question()).ledger
    assert ledger is not None
    sums = dict(
        asked(
            path,
            "SELECT s.value, sum(e.end - e.start) FROM NVTX_EVENTS e JOIN StringIds s ON s.id = e.textId WHERE e.domainId ="
            " (SELECT CAST(value AS INTEGER) FROM KERNTRACE_EXPORT WHERE name = 'findings_domain') GROUP BY 1",
        )
    )
    told = {name.removeprefix("gap "): ns for name, ns in sums.items() if name.startswith("gap ")}
    assert told == {name: int(ledger.term(name).sum()) for name in GAP_TERMS if ledger.term(name).any()}
    assert asked(path, "SELECT text FROM NVTX_EVENTS WHERE eventType = 75") == [("kerntrace",)]


def test_a_domain_of_the_trace_with_the_same_name_is_not_taken_for_it(tmp_path: Path) -> None:
    play = decode_run()
    for row in play.rows["ranges"]:
        row["domain"] = "kerntrace"
    trace = play.build()
    assert rows(there_and_back(trace, "nsys-sqlite", tmp_path)) == rows(trace)


def test_names_survive_but_for_a_nul(tmp_path: Path) -> None:
    play = hostile_run()
    play.launch("with\0nul'; DROP TABLE StringIds; --", 5)
    trace = play.build()
    back = there_and_back(trace, "nsys-sqlite", tmp_path)
    names = {row["name"] for row in rows(back)["kernels"]}
    assert names == {*HOSTILE, "with\N{REPLACEMENT CHARACTER}nul'; DROP TABLE StringIds; --"}
    assert account(back) == account(trace)


def test_two_processes_and_devices_stay_apart(tmp_path: Path) -> None:
    trace = two_device_run().build()
    assert rows(there_and_back(trace, "nsys-sqlite", tmp_path)) == rows(trace)


def test_numbers_of_more_than_24_bits_are_replaced_and_still_tell_threads_apart(tmp_path: Path) -> None:
    play = decode_run()
    for table in ("api_calls", "ranges"):
        for row in play.rows[table]:
            row["tid"] = 140_000_000_000_000
    play.range(1, 2, "other", tid=140_000_000_000_001)
    trace = play.build()
    back = there_and_back(trace, "nsys-sqlite", tmp_path)
    assert account(back) == account(trace)
    assert len(set(back.ranges.ints("tid").tolist())) == 2


def test_an_empty_trace_is_an_empty_export(tmp_path: Path) -> None:
    trace = TraceBuilder(producer="test").build()
    assert rows(there_and_back(trace, "nsys-sqlite", tmp_path)) == rows(trace)
