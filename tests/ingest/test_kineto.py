"""What each event of a torch.profiler trace becomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.ingest.kineto_files import (
    BASE_NS,
    PID,
    TID,
    annotation,
    call,
    document,
    event,
    kernel,
    number,
    opened,
    text_of,
    trace_of,
)
from tests.ingest.kineto_files import rows as rows_of

from kerntrace.trace.launches import join_launches

AT = "5209872990427.235"
AT_NS = 5_209_872_990_427_235


def test_a_kernel_has_its_times_and_every_fact_its_event_states(tmp_path: Path) -> None:
    graph = {"graph id": 101, "graph node id": 433791696955, "inDevice": 3}
    trace = trace_of(tmp_path, call("5209872990400", "3.5"), kernel(AT, "0.704") | {"args": kernel(AT, "1")["args"] | graph})

    assert rows_of(trace.kernels, *trace.kernels.schema.names) == [
        (27_235, 27_939, PID, 0, 1, 7, 5, 101, 433791696955, "gemm", 132, 2, 1, 384, 1, 1, 168, None, 1024)
    ]
    assert trace.manifest.epoch_ns == BASE_NS + 5_209_872_990_400_000
    assert trace.manifest.clock == "CLOCK_REALTIME"


def test_an_api_call_has_its_thread_domain_and_correlation(tmp_path: Path) -> None:
    driver = call("10", "2", 6, cat="cuda_driver", name="cuLaunchKernelEx", tid=2**64 - 5)
    trace = trace_of(tmp_path, call("1.001", "2.002"), driver)

    assert rows_of(trace.api_calls, "start_ns", "end_ns", "pid", "tid", "correlation_id", "domain", "name", "is_launch") == [
        (0, 2002, PID, TID, 5, "runtime", "cudaLaunchKernel", True),
        (8999, 10999, PID, -5, 6, "driver", "cuLaunchKernelEx", True),  # a thread's number may be any 64 bits
    ]


@pytest.mark.parametrize(
    ("category", "name", "args", "kind"),
    [
        ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", {}, "HtoD"),
        ("gpu_memcpy", "Memcpy PtoP (Device -> Device)", {}, "PtoP"),
        ("gpu_memcpy", "CopyDeviceToHost", {}, "DtoH"),
        ("gpu_memcpy", "hipMemcpy", {"kind": "DtoD"}, "DtoD"),
        ("gpu_memcpy", "Memcpy", {"kind": 5}, None),
        ("gpu_memset", "Memset (Device)", {}, "memset"),
    ],
)
def test_a_copy_or_a_memset_has_its_kind_and_bytes(
    tmp_path: Path, category: str, name: str, args: dict[str, Any], kind: str | None
) -> None:
    args = {"device": 0, "stream": 7, "correlation": 5, "bytes": 4096, **args}
    trace = trace_of(tmp_path, call("1", "2"), event(category, name, 0, 7, "4", "0.5", args))

    assert rows_of(trace.memops, *trace.memops.schema.names) == [(3000, 3500, PID, 0, 7, 5, kind, 4096, None, None)]


def test_a_copy_between_devices_counts_for_the_one_it_runs_on(tmp_path: Path) -> None:
    args = {"fromDevice": 1, "inDevice": 2, "toDevice": 3, "stream": 7, "correlation": 5, "bytes": 1}
    trace = trace_of(tmp_path, event("gpu_memcpy", "Memcpy PtoP (Device -> Device)", 1, 7, "4", "1", args))

    assert rows_of(trace.memops, "device_id") == [(2,)]


def test_an_annotation_is_a_range_and_its_mirror_on_the_gpu_is_not(tmp_path: Path) -> None:
    mirror = annotation("2", "5", cat="gpu_user_annotation", pid=0, tid=7)
    trace = trace_of(tmp_path, annotation("1", "5.25"), mirror, annotation("0", "9", cat="cpu_op"))

    assert rows_of(trace.ranges, *trace.ranges.schema.names) == [(0, 5250, PID, TID, None, "forward", None)]


def test_the_profilers_own_time_is_kept_with_no_thread_where_none_is_known(tmp_path: Path) -> None:
    known = event("overhead", "Buffer Flush", PID, TID, "2", "3", {})
    trace = trace_of(tmp_path, known, event("overhead", "Activity Buffer Request", -1, 0, "1", "3", {}))

    assert rows_of(trace.overheads, *trace.overheads.schema.names) == [
        (0, 3000, None, None, "Activity Buffer Request"),
        (1000, 4000, PID, TID, "Buffer Flush"),
    ]


def test_begin_and_end_events_pair_up_by_process_and_thread(tmp_path: Path) -> None:
    def half(phase: str, at: str, name: str = "", **changes: Any) -> dict[str, Any]:
        named = {"cat": "user_annotation", "name": name} if name else {}
        return {"ph": phase, "ts": number(at), "pid": PID, "tid": TID, **named, **changes}

    halves = [half("E", "0"), half("B", "1.5", "outer"), half("B", "2", "op", cat="cpu_op"), half("B", "3", "other", tid="x")]
    halves += [half("B", "4", "inner"), half("E", "4.5", pid=9), half("E", "5.0006"), half("E", "6"), half("E", "7")]
    halves += [half("E", "7.5"), half("B", "8", "open")]
    for block in (50, 1 << 20):
        trace = opened(tmp_path, text_of(document(halves)), block=block)

        assert rows_of(trace.ranges, "start_ns", "end_ns", "tid", "name") == [
            (0, 5500, TID, "outer"),
            (1500, None, None, "other"),
            (2500, 3501, TID, "inner"),
            (6500, None, TID, "open"),
        ]


def test_old_traces_write_other_categories_and_name_the_stream_in_the_thread(tmp_path: Path) -> None:
    old = kernel("5", "1", cat="Kernel", tid="stream 7", pid=1, args={"correlation": 5})
    trace = trace_of(tmp_path, call("1", "2", cat="Runtime", tid=str(TID), pid=str(PID)), old)

    assert rows_of(trace.kernels, "pid", "device_id", "stream_id", "grid_x") == [(PID, 1, 7, None)]
    assert rows_of(trace.api_calls, "pid", "tid", "domain") == [(PID, TID, "runtime")]


@pytest.mark.parametrize("category", ["cuda_runtime", "hip_runtime"])
def test_an_amd_trace_joins_its_replayed_kernels_to_one_launch(tmp_path: Path, category: str) -> None:
    args = {"device": 2, "stream": 0, "correlation": 505113, "kind": "Dispatch Task"}
    replay = call("1", "2", 505113, cat=category, name="hipGraphLaunch")
    copy = call("4", "2", 505114, cat=category, name="hipMemcpyAsync") | {
        "args": {"correlation": 505114, "bytes": "9216", "kind": "1"}
    }
    trace = trace_of(tmp_path, replay, copy, *[event("kernel", "triton", 2, 0, str(n), "1", args) for n in (5, 6, 7)])

    assert rows_of(trace.api_calls, "name", "is_launch", "domain") == [
        ("hipGraphLaunch", True, "runtime"),
        ("hipMemcpyAsync", False, "runtime"),
    ]
    assert join_launches(trace).of_kernels.tolist() == [0, 0, 0]


def test_an_operation_without_timestamps_stays_without_whatever_the_base(tmp_path: Path) -> None:
    untimed = kernel("1", "1")
    del untimed["ts"]
    events = [kernel("0", "0"), kernel("0.000", "0.0"), untimed, kernel(AT, "1") | {"dur": None}, kernel(AT, "1")]
    trace = trace_of(tmp_path, *events)

    assert sorted(rows_of(trace.kernels, "start_ns", "end_ns"), key=str) == [(0, 1000)] + [(None, None)] * 4


def test_a_host_event_without_a_time_is_left_out_and_one_without_a_duration_is_open(tmp_path: Path) -> None:
    events = [make("1", "2") | lack for make in (call, annotation) for lack in ({"ts": None}, {"dur": None})]
    overhead = event("overhead", "Flush", PID, TID, "3", "1", {})
    trace = trace_of(tmp_path, *events, overhead, overhead | {"dur": None}, overhead | {"ts": None})

    for table in (trace.api_calls, trace.ranges):
        assert rows_of(table, "start_ns", "end_ns") == [(0, None)]
    assert rows_of(trace.overheads, "start_ns", "end_ns") == [(2000, 3000)]


@pytest.mark.parametrize(
    ("at", "beside", "epoch"),
    [
        ("7", {"baseTimeNanoseconds": 9_000}, 16_000),
        ("7", {"baseTimeNanoseconds": None}, None),
        ("7", {"baseTimeNanoseconds": "soon"}, None),
        ("1796067426009184.123", {"baseTimeNanoseconds": None}, 1_796_067_426_009_184_123),
    ],
)
def test_time_is_counted_from_the_base_or_from_1970_or_from_nowhere(
    tmp_path: Path, at: str, beside: dict[str, Any], epoch: int | None
) -> None:
    trace = trace_of(tmp_path, kernel(at, "1"), **beside)

    assert trace.manifest.epoch_ns == epoch
    assert trace.manifest.clock == ("unknown" if epoch is None else "CLOCK_REALTIME")


def test_keys_stand_on_either_side_of_the_events(tmp_path: Path) -> None:
    events = [kernel(AT, "1")]
    for order in (("traceEvents", "baseTimeNanoseconds"), ("baseTimeNanoseconds", "traceEvents")):
        beside = {"traceEvents": events, "baseTimeNanoseconds": BASE_NS}
        trace = opened(tmp_path, text_of({key: beside[key] for key in order}), block=30)

        assert trace.manifest.epoch_ns == BASE_NS + AT_NS


def test_a_bare_array_of_events_is_a_trace(tmp_path: Path) -> None:
    trace = opened(tmp_path, text_of([call("1", "2"), kernel("4", "1")]))

    assert rows_of(trace.kernels, "start_ns", "pid") == [(3000, PID)]


def test_the_machine_is_named_and_nobody_on_it(tmp_path: Path) -> None:
    device = {
        "id": 0,
        "name": "NVIDIA H200",
        "totalGlobalMem": 150109880320,
        "computeMajor": 9,
        "computeMinor": 0,
        "numSms": 132,
    }
    secret = {"host_name": "node17", "username": "alice", "trace_id": "77AA", "traceName": "/home/alice/trace.json"}
    versions = {"cuda_runtime_version": 12080, "cupti_version": 130001}
    manifest = trace_of(tmp_path, kernel("1", "1"), deviceProperties=[device, device], **secret, **versions).manifest

    found = manifest.environment
    assert (found.gpu, found.gpu_count, found.sm_count, found.memory_bytes) == ("NVIDIA H200", 2, 132, 150109880320)
    assert (found.compute_capability, found.cuda, found.cupti) == ("9.0", "12.8", "130001")
    assert (manifest.capture.collector, manifest.capture.source) == ("kineto", "kineto-json 1")
    assert not any(text in repr(manifest) for text in secret.values())


def test_an_amd_machine_has_no_cuda_compute_capability(tmp_path: Path) -> None:
    device = {"name": "", "computeMajor": 9, "computeMinor": 4, "numSms": 304}
    found = trace_of(tmp_path, deviceProperties=[device], hip_runtime_version=70253211).manifest.environment

    assert (found.gpu, found.sm_count, found.compute_capability) == (None, 304, None)


@pytest.mark.parametrize("odd", [None, [], {}, [3], "H200", [{"name": 7, "numSms": "many", "computeMajor": True}]])
def test_odd_device_properties_are_unknown(tmp_path: Path, odd: Any) -> None:
    found = trace_of(tmp_path, deviceProperties=odd).manifest.environment

    assert (found.gpu, found.sm_count, found.compute_capability) == (None, None, None)
