"""What a trace says of itself, as JSON and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kerntrace.errors import UnreadableError
from kerntrace.trace.manifest import Capture, Environment, Manifest, TableInfo, WorkloadInfo, decode, encode

WHOLE = Manifest(
    producer="kerntrace 0.1",
    epoch_ns=1_790_000_000_000_000_000,
    clock="CLOCK_REALTIME",
    environment=Environment(gpu="NVIDIA H200", sm_count=132, python="3.11"),
    capture=Capture("native", "shards 1", ("kernel", "memcpy"), "node", 0, 0, 1 << 20, 1, None),
    workload=WorkloadInfo("vllm", "llama", "graph", "bfloat16", (1, 16), 512, 33),
    tables={"kernels": TableInfo(3, "ab")},
)


@pytest.mark.parametrize("manifest", [WHOLE, Manifest()])
def test_a_manifest_comes_back_as_it_was(manifest: Manifest) -> None:
    assert decode(json.loads(encode(manifest)), "x") == manifest


def test_unknown_is_left_out_but_zero_is_said() -> None:
    said = json.loads(encode(Manifest(capture=Capture(dropped_records=0))))
    assert said["capture"] == {"dropped_records": 0}
    assert said["environment"] == {}


def test_keys_of_a_newer_minor_are_passed_over() -> None:
    raw = json.loads(encode(WHOLE))
    raw["new"] = {"a": [1]}
    raw["environment"]["new"] = 1
    raw["tables"]["kernels"]["new"] = None
    raw["format"]["minor"] = 99
    found = decode(raw, "x")
    assert found.environment == WHOLE.environment
    assert found.tables == WHOLE.tables


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"producer": 5}, "producer"),
        ({"epoch_ns": "now"}, "epoch_ns"),
        ({"epoch_ns": 1.5}, "epoch_ns"),
        ({"environment": []}, "environment"),
        ({"environment": {"sm_count": "many"}}, "sm_count"),
        ({"capture": {"dropped_records": "x"}}, "dropped_records"),
        ({"capture": {"kinds": "kernel"}}, "kinds"),
        ({"tables": [1]}, "tables"),
        ({"tables": {"kernels": {"rows": 1}}}, "sha256"),
        ({"tables": {"kernels": {"rows": "3", "sha256": ""}}}, "rows"),
        ({"workload": {"batches": [1, None]}}, "batches"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(change: dict[str, Any], named: str) -> None:
    with pytest.raises(UnreadableError, match=named) as caught:
        decode(json.loads(encode(WHOLE)) | change, "some.ktrace")
    assert caught.value.what.startswith("some.ktrace: ")
    assert "\n" not in caught.value.what
