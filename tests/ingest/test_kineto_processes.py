"""A device operation's process is that of the host call with its correlation id."""

from __future__ import annotations

from pathlib import Path

from tests.ingest.kineto_files import call, document, event, kernel, opened, rows, text_of, trace_of


def test_where_all_calls_are_of_one_process_every_operation_is(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, kernel("5", "1", 99), kernel("6", "1", None), call("1", "2"))

    assert rows(trace.kernels, "correlation_id", "pid") == [(99, 2232), (None, 2232)]


def test_of_several_processes_each_operation_has_the_one_that_launched_it(tmp_path: Path) -> None:
    events = [kernel(str(10 + id), "1", id) for id in (4, 5, 6, 7)] + [kernel("20", "1", None)]
    events += [call("1", "2", 5, pid=300), call("2", "2", 4, pid=200), call("3", "1", 5, pid=300, cat="cuda_driver")]
    events += [call("4", "2", 6, pid=200), call("4", "2", 6, pid=300), call("5", "2", None, pid=100), call("5", "2", 3, pid=-1)]
    events.append(event("gpu_memset", "Memset (Device)", 0, 7, "30", "1", {"correlation": 4}))
    for block in (100, 1 << 20):
        trace = opened(tmp_path, text_of(document(events)), block=block)

        expected = [(4, 200), (5, 300), (6, None), (7, None), (None, None)]
        assert rows(trace.kernels, "correlation_id", "pid") == expected
        assert rows(trace.memops, "correlation_id", "pid") == [(4, 200)]


def test_without_host_calls_the_process_is_unknown(tmp_path: Path) -> None:
    assert rows(trace_of(tmp_path, kernel("5", "1")).kernels, "pid") == [(None,)]


def test_a_correlation_id_that_is_only_external_joins_nothing(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, call("1", "2", 3), kernel("5", "1") | {"args": {"External id": 3}})

    assert rows(trace.kernels, "correlation_id", "pid") == [(None, 2232)]
