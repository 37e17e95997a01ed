"""What an Nsight Systems SQLite export becomes, table by table, whichever of its columns a version has."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ingest.nsys_files import (
    DOMAIN,
    GRAPH_TRACE,
    KERNEL,
    MARK,
    MEMSET,
    NVTX,
    RUNTIME,
    START_END,
    Export,
    serialised,
    small_export,
)

from kerntrace.errors import UnreadableError
from kerntrace.ingest.nsys_sqlite import read_nsys_sqlite
from kerntrace.trace.launches import join_launches
from kerntrace.trace.model import Trace


def read(export: Export, tmp_path: Path) -> Trace:
    return read_nsys_sqlite(export.sqlite(tmp_path / "x.sqlite"))


def column(trace: Trace, table: str, name: str) -> list[object]:
    values: list[object] = trace.table(table).arrow(name).to_pylist()
    return values


def test_a_kernel_keeps_every_column(tmp_path: Path) -> None:
    export = Export()
    export.kernel(1_000, 1_500, correlation=9, name="void gemm<float>(int)", pid=77, deviceId=3, streamId=21)
    [row] = read(export, tmp_path).kernels.arrow_table().to_pylist()
    assert row == {
        "start_ns": 0,
        "end_ns": 500,
        "pid": 77,
        "device_id": 3,
        "context_id": 1,
        "stream_id": 21,
        "correlation_id": 9,
        "graph_id": None,
        "graph_node_id": None,
        "name": "void gemm<float>(int)",
        "grid_x": 132,
        "grid_y": 2,
        "grid_z": 1,
        "block_x": 384,
        "block_y": 1,
        "block_z": 1,
        "registers_per_thread": 32,
        "static_shared_bytes": 16,
        "dynamic_shared_bytes": 4096,
    }


def test_serialised_ids_give_process_and_thread_whatever_the_machine(tmp_path: Path) -> None:
    export = Export()
    export.call(0, 5, globalTid=serialised(0xABCDEF, 0x123456, vm=7, hardware=0xFE))
    export.kernel(9, 12, globalPid=serialised(0xABCDEF, vm=7, hardware=0xFE))
    trace = read(export, tmp_path)
    assert column(trace, "api_calls", "pid") == column(trace, "kernels", "pid") == [0xABCDEF]
    assert column(trace, "api_calls", "tid") == [0x123456]


def test_api_calls_keep_their_domain_and_lose_their_version(tmp_path: Path) -> None:
    export = Export()
    export.call(0, 9, 1, "cudaGraphLaunch_v10000")
    export.call(10, 19, 2, "cuLaunchKernelEx", kind=1)
    export.call(20, 29, 3, "cuStreamSynchronize", kind=None)
    export.call(30, 39, 4, "cudaLaunchKernel_ptsz_v7000", kind=5)
    trace = read(export, tmp_path)
    assert column(trace, "api_calls", "name") == [
        "cudaGraphLaunch",
        "cuLaunchKernelEx",
        "cuStreamSynchronize",
        "cudaLaunchKernel",
    ]
    assert column(trace, "api_calls", "domain") == ["runtime", "driver", "driver", "runtime"]
    assert column(trace, "api_calls", "is_launch") == [True, True, False, True]


def test_a_driver_call_inside_a_runtime_call_is_not_a_second_launch(tmp_path: Path) -> None:
    export = Export()
    export.call(100, 200, correlation=5)
    export.call(110, 190, correlation=5, name="cuLaunchKernel", kind=1)
    export.kernel(300, 400, correlation=5)
    trace = read(export, tmp_path)
    assert column(trace, "api_calls", "name")[join_launches(trace).of_kernels[0]] == "cudaLaunchKernel"


def test_every_kernel_of_a_replay_is_joined_to_its_one_launch(tmp_path: Path) -> None:
    export = Export()
    export.call(0, 10, correlation=8, name="cudaGraphLaunch_v10000")
    for node in range(27):
        export.kernel(20 + node, 21 + node, correlation=8, graphNodeId=101 << 32 | node)
    assert join_launches(read(export, tmp_path)).of_kernels.tolist() == [0] * 27


@pytest.mark.parametrize(
    ("graph_id", "node", "expected"),
    [
        (None, None, (None, None)),
        (0, 0, (None, None)),
        (None, 101 << 32 | 6, (101, 101 << 32 | 6)),
        (0, 101 << 32 | 6, (101, 101 << 32 | 6)),
        (55, 101 << 32 | 6, (55, 101 << 32 | 6)),
        (None, 6, (None, 6)),
    ],
)
def test_null_and_zero_both_mean_eager(
    tmp_path: Path, graph_id: int | None, node: int | None, expected: tuple[int | None, int | None]
) -> None:
    export = Export()
    export.kernel(0, 5, graphId=graph_id, graphNodeId=node)
    trace = read(export, tmp_path)
    assert (column(trace, "kernels", "graph_id")[0], column(trace, "kernels", "graph_node_id")[0]) == expected


def test_without_graph_id_column_the_node_tells_the_graph(tmp_path: Path) -> None:
    export = Export()
    export.kernel(0, 5, graphNodeId=33 << 32 | 4)
    assert column(read(export, tmp_path), "kernels", "graph_id") == [33]


def test_copies_and_memsets_are_told_apart_by_kind(tmp_path: Path) -> None:
    export = Export()
    for at, kind in enumerate([1, 2, 3, 8, 9, 10, 11, 0, 99, None]):
        export.memcpy(10 * at, 10 * at + 5, kind, size=at)
    export.row(MEMSET, start=200, end=205, deviceId=0, streamId=7, correlationId=3, globalPid=serialised(42), bytes=64, value=0)
    trace = read(export, tmp_path)
    kinds = ["HtoD", "DtoH", "HtoA", "DtoD", "HtoH", "PtoP", "unified HtoD", None, None, None, "memset"]
    assert column(trace, "memops", "kind") == kinds
    assert column(trace, "memops", "bytes") == [*range(10), 64]


def test_only_push_pop_and_start_end_events_are_ranges(tmp_path: Path) -> None:
    export = Export()
    export.range(0, 50, "pushed")
    export.range(10, 20, "started", eventType=START_END, rangeId=1)
    for other in (33, MARK, 39, 70, 71, 76):
        export.range(15, None, f"event {other}", eventType=other)
    assert column(read(export, tmp_path), "ranges", "name") == ["pushed", "started"]


def test_a_range_is_named_by_its_text_or_else_by_its_registered_string(tmp_path: Path) -> None:
    export = Export()
    export.range(0, 1, "own text")
    export.range(2, 3, None, textId=export.text("registered"))
    export.range(4, 5, "", textId=export.text("registered"))
    export.range(6, 7, None, textId=None)
    export.range(8, 9, None, textId=999_999)
    assert column(read(export, tmp_path), "ranges", "name") == ["own text", "registered", "", None, None]


def test_texts_that_come_after_thousands_of_registered_names_are_read(tmp_path: Path) -> None:
    export = Export()
    for at in range(40_000):
        export.range(at, at + 1, None, textId=export.text("registered"))
    export.range(50_000, 50_001, "own text")
    names = read(export, tmp_path).ranges.names("name")
    assert names.text(0) == names.text(39_999) == "registered"
    assert names.text(40_000) == "own text"


def test_a_domain_is_named_by_its_creation_in_the_same_process(tmp_path: Path) -> None:
    export = Export()
    export.range(5, 9, "in one", domainId=1)
    export.range(5, None, "kerntrace", eventType=DOMAIN, domainId=1)
    export.range(6, None, None, eventType=DOMAIN, domainId=1, pid=43, textId=export.text("vllm"))
    export.range(10, 11, "in two", domainId=1, pid=43)
    export.range(12, 13, "default", domainId=0)
    export.range(14, 15, "unnamed", domainId=3)
    export.range(16, 17, "unknown", domainId=None)
    assert column(read(export, tmp_path), "ranges", "domain") == ["kerntrace", "vllm", None, "domain 3", None]


def test_a_payload_is_whichever_integer_was_given(tmp_path: Path) -> None:
    export = Export()
    for at, value in enumerate(({"int64Value": -5}, {"uint64Value": 7}, {"int32Value": 8}, {"uint32Value": 9}, {})):
        export.range(at, at + 1, "r", **value)
    assert column(read(export, tmp_path), "ranges", "payload") == [-5, 7, 8, 9, None]


def test_a_range_still_open_when_recording_ended_has_no_end(tmp_path: Path) -> None:
    export = Export()
    export.range(3, None, "open")
    trace = read(export, tmp_path)
    assert column(trace, "ranges", "end_ns") == [None]


def test_a_range_ended_by_another_thread_belongs_to_the_one_that_began_it(tmp_path: Path) -> None:
    export = Export()
    export.range(3, 9, "crossing", eventType=START_END, endGlobalTid=serialised(42, 99))
    assert column(read(export, tmp_path), "ranges", "tid") == [43]


def test_the_profilers_own_time_is_kept_and_cudas_is_not_taken_for_it(tmp_path: Path) -> None:
    export = Export()
    export.overhead(10, 20, "CUPTI Buffer flush")
    cupti = "CUPTI_ACTIVITY_KIND_OVERHEAD"
    export.overhead(30, 40, "Command Buffer Full", cupti)
    export.overhead(50, 60, "Lazy Function Loading", cupti)
    export.overhead(70, 80, "Buffer Flush", cupti)
    trace = read(export, tmp_path)
    assert column(trace, "overheads", "kind") == ["CUPTI Buffer flush", "Buffer Flush"]
    assert column(trace, "overheads", "start_ns") == [0, 60]


def test_times_before_the_capture_range_and_far_after_are_counted_from_the_first_event(tmp_path: Path) -> None:
    export = Export()
    export.tables["TARGET_INFO_SESSION_START_TIME"] = [{"utcEpochNs": 10**18, "utcTime": "x", "localTime": "x"}]
    export.call(-5_000, -4_000)
    export.kernel(2_000, 2_500)
    trace = read(export, tmp_path)
    assert column(trace, "api_calls", "start_ns") == [0]
    assert column(trace, "kernels", "start_ns") == [7_000]
    assert trace.manifest.epoch_ns == 10**18 - 5_000


def test_a_zero_timestamp_is_a_missing_one(tmp_path: Path) -> None:
    export = Export()
    export.kernel(0, 0)
    export.kernel(9_000, 9_100)
    assert column(read(export, tmp_path), "kernels", "start_ns") == [0, None]


def test_rows_in_any_order_come_out_in_time_order(tmp_path: Path) -> None:
    export = Export()
    for start in (500, 100, 300):
        export.kernel(start, start + 10, name=f"k{start}")
    assert column(read(export, tmp_path), "kernels", "name") == ["k100", "k300", "k500"]


def test_of_equal_texts_under_two_ids_one_remains(tmp_path: Path) -> None:
    export = Export()
    first, second = export.kernel(0, 1, name="gemm"), export.kernel(2, 3, name="gemm#2")
    strings = [{"id": first["demangledName"], "value": "gemm"}, {"id": second["demangledName"], "value": "gemm"}]
    export.tables["StringIds"] = strings
    names = read(export, tmp_path).kernels.names("name")
    assert names.values == ("gemm",)
    assert names.codes.tolist() == [0, 0]


def test_string_ids_far_apart_and_negative_are_found(tmp_path: Path) -> None:
    export = Export()
    ids = {-(2**62): "lowest", 5: "middle", 2**62: "highest"}
    export.tables["StringIds"] = [{"id": number, "value": value} for number, value in ids.items()]
    for at, number in enumerate((2**62, 5, -(2**62), 6, 2**63 - 1)):
        export.kernel(at + 1, at + 2, demangledName=number, shortName=None)
    assert column(read(export, tmp_path), "kernels", "name") == ["highest", "middle", "lowest", None, None]


def test_no_string_is_not_the_string_of_id_0(tmp_path: Path) -> None:
    export = Export()
    export.tables["StringIds"] = [{"id": 0, "value": "zero"}]
    export.range(0, 1, None, textId=0)
    export.range(2, 3, None, textId=None)
    assert column(read(export, tmp_path), "ranges", "name") == ["zero", None]


def test_a_kernel_without_a_demangled_name_goes_by_its_short_or_mangled_one(tmp_path: Path) -> None:
    export = Export()
    export.kernel(1, 2, name="demangled<int>")
    export.kernel(3, 4, demangledName=None, shortName=export.text("short"))
    export.kernel(5, 6, demangledName=77, shortName=78, mangledName=export.text("_Zmangled"))
    assert column(read(export, tmp_path), "kernels", "name") == ["demangled<int>", "short", "_Zmangled"]


@pytest.mark.parametrize("only", ["demangledName", "shortName", "mangledName"])
def test_any_one_name_column_is_enough(tmp_path: Path, only: str) -> None:
    export = Export()
    row = export.kernel(1, 2, name="gemm", mangledName=200)
    row[only] = export.text("gemm")
    export.drop(KERNEL, *{"demangledName", "shortName", "mangledName"} - {only})
    assert column(read(export, tmp_path), "kernels", "name") == ["gemm"]


def test_columns_that_eager_analysis_can_do_without_may_be_missing(tmp_path: Path) -> None:
    export = small_export()
    kept = {"start", "end", "correlationId", "demangledName"}
    export.drop(KERNEL, *set(export.tables[KERNEL][0]) - kept)
    export.drop(RUNTIME, "eventClass", "returnValue")
    export.drop(NVTX, "textId", "domainId")
    trace = read(export, tmp_path)
    assert column(trace, "kernels", "end_ns") == [1_500, 1_800]
    assert column(trace, "kernels", "device_id") == [None, None]
    assert column(trace, "api_calls", "domain") == ["runtime", "driver", "runtime"]
    assert column(trace, "ranges", "name") == ["step"]
    assert join_launches(trace).of_kernels.tolist() == [0, 1]  # one process made calls, so the kernels are its


def test_device_work_without_a_process_is_nobodys_where_two_made_calls(tmp_path: Path) -> None:
    export = small_export()
    export.call(1, 2, pid=99)
    export.drop(KERNEL, "globalPid")
    assert column(read(export, tmp_path), "kernels", "pid") == [None, None]


def test_missing_tables_are_empty(tmp_path: Path) -> None:
    export = Export()
    export.kernel(0, 5)
    trace = read(export, tmp_path)
    assert [len(trace.table(name)) for name in ("kernels", "memops", "api_calls", "ranges", "overheads", "walls")] == [
        1,
        0,
        0,
        0,
        0,
        0,
    ]


def test_an_export_without_any_event_is_an_empty_trace(tmp_path: Path) -> None:
    trace = read(Export(), tmp_path)
    assert {len(table) for table in trace.tables().values()} == {0}
    assert trace.manifest.capture.kinds == ()


@pytest.mark.parametrize("table", [NVTX, KERNEL, RUNTIME, "StringIds"])
def test_a_table_renamed_with_a_version_is_found(tmp_path: Path, table: str) -> None:
    export = small_export()
    whole = export.complete()
    export.tables = {f"{name}_V3" if name == table else name: rows for name, rows in whole.items()}
    export.ids = {}
    trace = read(export, tmp_path)
    assert [len(trace.kernels), len(trace.api_calls), len(trace.ranges)] == [2, 3, 1]
    assert column(trace, "kernels", "name") == ["void gemm<float>(int)", "norm"]


def test_of_several_versions_of_a_table_the_plain_and_then_the_highest_counts(tmp_path: Path) -> None:
    export = Export()
    for suffix in ("_V2", "_V10"):
        export.tables[f"{NVTX}{suffix}"] = [{**export.range(0, 5, f"range{suffix}")}]
    del export.tables[NVTX]
    assert column(read(export, tmp_path), "ranges", "name") == ["range_V10"]
    export.range(0, 5, "plain")
    (tmp_path / "x.sqlite").unlink()
    assert column(read(export, tmp_path), "ranges", "name") == ["plain"]


@pytest.mark.parametrize(
    ("table", "missing"),
    [
        (KERNEL, "start"),
        (KERNEL, "end"),
        (KERNEL, "correlationId"),
        (RUNTIME, "correlationId"),
        (RUNTIME, "globalTid"),
        (RUNTIME, "nameId"),
        (NVTX, "eventType"),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", "correlationId"),
        ("StringIds", "value"),
    ],
)
def test_a_missing_required_column_is_named_with_its_table(tmp_path: Path, table: str, missing: str) -> None:
    export = small_export()
    export.tables = export.complete()
    export.drop(table, missing)
    with pytest.raises(UnreadableError, match=f"{table} has no column {missing}") as caught:
        read(export, tmp_path)
    assert caught.value.exit_code == 1
    assert "nsys export -t sqlite" in caught.value.hint


def test_kernels_without_any_name_column_are_refused(tmp_path: Path) -> None:
    export = small_export()
    export.drop(KERNEL, "demangledName", "shortName")
    with pytest.raises(UnreadableError, match="has no column demangledName or shortName or mangledName"):
        read(export, tmp_path)


def test_ranges_without_any_name_column_are_refused(tmp_path: Path) -> None:
    export = small_export()
    export.drop(NVTX, "text", "textId")
    with pytest.raises(UnreadableError, match="NVTX_EVENTS has no column text or textId"):
        read(export, tmp_path)


def test_names_without_string_ids_are_refused(tmp_path: Path) -> None:
    export = small_export()
    export.ids = {}
    with pytest.raises(UnreadableError, match="has no table StringIds"):
        read(export, tmp_path)


def test_whole_graph_replays_are_counted_and_not_taken_for_kernels(tmp_path: Path) -> None:
    export = small_export()
    for start in (5_000, 6_000, 7_000):
        export.row(
            GRAPH_TRACE, start=start, end=start + 900, deviceId=0, streamId=7, correlationId=11, globalPid=serialised(42)
        )
    trace = read(export, tmp_path)
    assert trace.manifest.capture.whole_graph_replays == 3
    assert trace.manifest.capture.graph_granularity == "graph"
    assert len(trace.kernels) == 2


@pytest.mark.parametrize(
    ("mode", "nodes", "expected"),
    [
        ("Graph", False, "graph"),
        ("Node", False, "node"),
        (None, True, "node"),
        (None, False, None),
        ("Graph", True, "node"),
        ("Other", False, None),
    ],
)
def test_granularity_is_what_was_seen_and_else_what_was_asked_for(
    tmp_path: Path, mode: str | None, nodes: bool, expected: str | None
) -> None:
    export = small_export()
    if mode:
        export.row("META_DATA_CAPTURE", name="CUDA_GRAPH_TRACE_OPTIONS:MODE", value=mode)
    if nodes:
        export.kernel(8_000, 8_100, graphNodeId=101 << 32 | 1)
    assert read(export, tmp_path).manifest.capture.graph_granularity == expected


def test_both_generations_of_graph_event_tables_are_left_alone(tmp_path: Path) -> None:
    export = small_export()
    export.row("CUDA_GRAPH_EVENTS", start=-9_000_000, end=-9_000_000, eventClass=77, nameId=1, graphNodeId=5)
    export.row("CUDA_GRAPH_NODE_EVENTS", start=-9_000_000, end=-9_000_000, eventClass=77, nameId=1, graphNodeId=5)
    trace = read(export, tmp_path)
    assert column(trace, "ranges", "start_ns") == [0]  # they are long before the first event, and none
    assert trace.manifest.capture.graph_granularity is None


@pytest.mark.parametrize("table", ["META_DATA_EXPORT", "EXPORT_META_DATA"])
def test_the_export_says_who_made_it(tmp_path: Path, table: str) -> None:
    export = small_export()
    export.tables[table] = export.tables.pop("META_DATA_EXPORT")
    manifest = read(export, tmp_path).manifest
    assert manifest.producer == manifest.environment.profiler == "Nsight Systems 2025.3.2"
    assert manifest.capture.source == "nsys-sqlite 3.20.3"
    assert manifest.capture.collector == "nsys"
    assert manifest.capture.kinds == ("api", "kernel", "memcpy", "nvtx")


def test_an_export_that_does_not_say_who_made_it_is_read_all_the_same(tmp_path: Path) -> None:
    export = small_export()
    del export.tables["META_DATA_EXPORT"]
    manifest = read(export, tmp_path).manifest
    assert manifest.producer == "Nsight Systems"
    assert manifest.capture.source == "nsys-sqlite"


GPU = {
    "id": 0,
    "name": "NVIDIA H200",
    "smCount": 132,
    "l2CacheSize": 62_914_560,
    "totalMemory": 150_109_880_320,
    "memoryBandwidth": 4_814_304_000_000,
    "computeMajor": 9,
    "computeMinor": 0,
}


def test_the_gpu_is_described(tmp_path: Path) -> None:
    export = small_export()
    export.tables["TARGET_INFO_GPU"] = [dict(GPU)]
    environment = read(export, tmp_path).manifest.environment
    assert environment.gpu == "NVIDIA H200"
    assert environment.gpu_count == 1
    assert environment.sm_count == 132
    assert environment.l2_bytes == 62_914_560
    assert environment.memory_bytes == 150_109_880_320
    assert environment.memory_bytes_per_s == 4_814_304_000_000
    assert environment.compute_capability == "9.0"


def test_of_several_gpus_those_that_ran_something_are_described(tmp_path: Path) -> None:
    export = small_export()
    export.tables["TARGET_INFO_GPU"] = [{**GPU, "id": 0, "name": "NVIDIA A100", "smCount": 108}, {**GPU, "id": 3}]
    export.tables["TARGET_INFO_CUDA_DEVICE"] = [{"gpuId": 3, "cudaId": 0, "pid": 42}]
    environment = read(export, tmp_path).manifest.environment
    assert (environment.gpu, environment.gpu_count, environment.sm_count) == ("NVIDIA H200", 1, 132)


def test_what_gpus_do_not_agree_on_is_left_open(tmp_path: Path) -> None:
    export = small_export()
    export.tables["TARGET_INFO_GPU"] = [{**GPU, "name": "NVIDIA A100", "smCount": 108}, {**GPU, "id": 1}]
    environment = read(export, tmp_path).manifest.environment
    assert environment.gpu == "NVIDIA A100, NVIDIA H200"
    assert environment.sm_count is None
    assert environment.l2_bytes == 62_914_560


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], None),
        (["Profiling has started."], None),
        (["Number of CUPTI events produced: 29682, CUPTI buffers: 3."], None),
        (["Not all CUDA events might have been collected."], None),
        (["Lost connection to 10.0.0.1"], None),
        (["1,000 perf events lost", "12 sampling events were dropped"], None),
        (["17 CUDA events were dropped."], 17),
        (["Dropped 5 CUPTI activity records", "lost 4 events"], 9),
        (["Number of dropped events: 31"], 31),
        (["CUDA events lost: 0"], 0),
    ],
)
def test_lost_events_are_counted_where_a_message_gives_their_number(
    tmp_path: Path, messages: list[str], expected: int | None
) -> None:
    export = small_export()
    for message in messages:
        export.row("DIAGNOSTIC_EVENT", timestamp=0, timestampType=0, source=1, severity=2, text=message)
    assert read(export, tmp_path).manifest.capture.dropped_records == expected


def test_many_threads_cost_nothing_special(tmp_path: Path) -> None:
    export = Export()
    for tid in range(100_000):
        export.call(tid, tid + 5, correlation=tid + 1, tid=tid + 1)
    tids = read(export, tmp_path).api_calls.ints("tid")
    assert tids.tolist() == list(range(1, 100_001))
