"""The export in torch.profiler's form, and its way back."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.export.roundtrip import account, exported, rows, there_and_back
from tests.support.bundles import HOSTILE, hostile_run, two_device_run
from tests.support.random_traces import recordings
from tests.support.recording import Recording, decode_run

from kerntrace.accounting.analysis import Question, analyse
from kerntrace.trace.builder import TraceBuilder
from kerntrace.trace.launches import join_launches
from kerntrace.trace.model import Trace

Event = dict[str, Any]


def document(trace: Trace, folder: Path) -> dict[str, Any]:
    path = exported(trace, "chrome", folder / "t.json.gz")
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def events(trace: Trace, folder: Path, **having: Any) -> list[Event]:
    found: list[Event] = document(trace, folder)["traceEvents"]
    return [event for event in found if all(event.get(key) == value for key, value in having.items())]


@given(recordings())
@settings(max_examples=40)
def test_ledgers_come_back(recording: Recording) -> None:
    trace = recording.build(epoch_ns=1_700_000_000_000_000_000)
    with tempfile.TemporaryDirectory() as folder:
        back = there_and_back(trace, "chrome", Path(folder))
    assert account(back) == account(trace)
    assert back.manifest.epoch_ns == trace.manifest.epoch_ns


@pytest.mark.parametrize("name", ["h200-eager", "h200-graph", "h200-native-eager", "h200-native-graph"])
def test_recordings_come_back_to_the_nanosecond(name: str, tmp_path: Path) -> None:
    from kerntrace.trace.bundle import read_bundle

    trace = read_bundle(Path(__file__).parents[2] / "traces" / f"{name}.ktrace")
    assert account(there_and_back(trace, "chrome", tmp_path)) == account(trace)


def test_a_trace_that_lost_records_stays_refused(tmp_path: Path) -> None:
    back = there_and_back(decode_run().build(dropped_records=3), "chrome", tmp_path)
    assert back.manifest.capture.dropped_records == 3


def test_its_head_is_what_kineto_writes(tmp_path: Path) -> None:
    head = document(decode_run().build(gpu="NVIDIA H200", epoch_ns=10**18), tmp_path)
    assert head["schemaVersion"] == 1
    assert head["deviceProperties"] == [{"id": 0, "name": "NVIDIA H200"}]
    assert head["distributedInfo"]["rank"] == 0
    assert head["displayTimeUnit"] == "ms"
    first = min(event["ts"] for event in head["traceEvents"] if event["ph"] == "X" and event["cat"] != "kerntrace_step")
    assert head["baseTimeNanoseconds"] + round(first * 1000) == decode_run().build(epoch_ns=10**18).manifest.epoch_ns


def test_an_arrow_leads_from_a_launch_to_all_that_it_launched(tmp_path: Path) -> None:
    trace = decode_run(graph=True, steps=2).build()
    arrows = events(trace, tmp_path, cat="ac2g")
    ends = Counter(event["id"] for event in arrows if event["ph"] == "f")
    begins = [event["id"] for event in arrows if event["ph"] == "s"]
    assert len(begins) == len(set(begins))
    assert set(begins) == set(ends)
    launches = join_launches(trace)
    told = Counter(trace.api_calls.ints("correlation_id")[launches.of_kernels].tolist())
    told += Counter(trace.api_calls.ints("correlation_id")[launches.of_memops].tolist())
    assert ends == told
    assert max(ends.values()) == 12  # a replay's kernels
    places = {(event["pid"], event["tid"], event["ts"]) for event in events(trace, tmp_path, cat="kernel")}
    assert {(e["pid"], e["tid"], e["ts"]) for e in arrows if e["ph"] == "f"} >= places


def test_counters_say_what_waits_and_what_runs(tmp_path: Path) -> None:
    trace = decode_run(graph=True, steps=2).build()
    kernels = [e for c in ("kernel", "gpu_memcpy") for e in events(trace, tmp_path, cat=c)]
    found = events(trace, tmp_path, ph="C", name="running")
    for event in found:
        at = event["ts"]
        running = sum(1 for k in kernels if k["ts"] <= at + 1e-6 and at + 1e-6 < k["ts"] + k["dur"])
        assert event["args"]["operations"] == running
    waiting = events(trace, tmp_path, ph="C", name="launched, not started")
    assert waiting[-1]["args"]["operations"] == 0
    assert max(event["args"]["operations"] for event in waiting) >= 12


def test_a_step_carries_its_account(tmp_path: Path) -> None:
    trace = decode_run().build()
    ledger = analyse(trace, Question()).ledger
    assert ledger is not None
    steps = events(trace, tmp_path, cat="kerntrace_step")
    assert [event["args"]["busy_ns"] for event in steps] == ledger.busy.tolist()
    assert [event["args"]["host_wait_ns"] for event in steps] == ledger.term("host_wait").tolist()
    assert [round(event["dur"] * 1000) for event in steps] == ledger.wall.tolist()


def test_names_survive_whole(tmp_path: Path) -> None:
    play = hostile_run()
    play.launch('nul\0 "},{"ph":"X" \u2028 \x7f \\', 5)
    trace = play.build()
    names = {event["name"] for event in events(trace, tmp_path, cat="kernel")}
    assert names == {*HOSTILE, 'nul\0 "},{"ph":"X" \u2028 \x7f \\'}
    assert account(there_and_back(trace, "chrome", tmp_path)) == account(trace)


def test_ids_of_two_processes_do_not_meet(tmp_path: Path) -> None:
    trace = two_device_run().build()
    back = there_and_back(trace, "chrome", tmp_path)
    told = [(row["pid"], row["device_id"], row["start_ns"], row["name"]) for row in rows(trace)["kernels"]]
    assert [(row["pid"], row["device_id"], row["start_ns"], row["name"]) for row in rows(back)["kernels"]] == told
    for pid in (7, 9):
        question = Question(pid=pid)
        first, second = (analyse(t, question).ledger for t in (trace, back))
        assert first is not None
        assert second is not None
        assert first.busy.tolist() == second.busy.tolist()


def test_an_empty_trace_is_still_a_document(tmp_path: Path) -> None:
    assert len(document(TraceBuilder(producer="test").build(), tmp_path)["traceEvents"]) >= 1
