"""Older majors, by a chain invented for the purpose, and majors that cannot be read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kerntrace.errors import UnreadableError
from kerntrace.trace.migrate import RawBundle, major_of, migrate
from kerntrace.trace.schema import FORMAT_MAJOR


def said(major: Any, name: Any = "kerntrace") -> dict[str, Any]:
    return {"format": {"name": name, "major": major, "minor": 0}}


def _microseconds_to_nanoseconds(bundle: RawBundle) -> RawBundle:
    tables = {n: pa.table({"start_ns": [1000 * us for us in t["start_us"].to_pylist()]}) for n, t in bundle.tables.items()}
    return RawBundle(bundle.manifest | said(-1) | {"told": [*bundle.manifest.get("told", []), "ns"]}, tables)


def _rename(bundle: RawBundle) -> RawBundle:
    manifest = bundle.manifest | said(0) | {"told": [*bundle.manifest.get("told", []), "renamed"]}
    return RawBundle(manifest, {"kernels": bundle.tables["launched"]})


def _nothing(bundle: RawBundle) -> RawBundle:
    return RawBundle(bundle.manifest | said(1) | {"told": [*bundle.manifest["told"], "nothing"]}, bundle.tables)


CHAIN = {-2: _microseconds_to_nanoseconds, -1: _rename, 0: _nothing}


def test_every_step_of_the_chain_runs_once_in_order() -> None:
    old = RawBundle(said(-2), {"launched": pa.table({"start_us": [1, 2]})})
    found = migrate(old, "x", chain=CHAIN, to=1)
    assert found.manifest["told"] == ["ns", "renamed", "nothing"]
    assert found.manifest["format"]["major"] == 1
    assert found.tables["kernels"]["start_ns"].to_pylist() == [1000, 2000]
    assert old.manifest == said(-2)  # the old one is as it was
    assert list(old.tables) == ["launched"]


def test_a_chain_may_be_entered_in_the_middle_or_not_at_all() -> None:
    half = RawBundle(said(-1), {"launched": pa.table({"start_ns": [7]})})
    assert migrate(half, "x", chain=CHAIN, to=1).manifest["told"] == ["renamed", "nothing"]
    new = RawBundle(said(1), {})
    assert migrate(new, "x", chain=CHAIN, to=1) is new


def test_a_missing_step_is_said() -> None:
    with pytest.raises(UnreadableError, match=r"format -3.*no longer"):
        migrate(RawBundle(said(-3), {}), "old.ktrace", chain=CHAIN, to=1)


def test_this_majors_own_bundles_need_no_chain() -> None:
    assert major_of(said(FORMAT_MAJOR), "x") == FORMAT_MAJOR


def test_a_newer_major_says_upgrade() -> None:
    with pytest.raises(UnreadableError, match=rf"format {FORMAT_MAJOR + 1}\.0") as caught:
        major_of(said(FORMAT_MAJOR + 1), "x")
    assert "pgrade" in caught.value.hint


@pytest.mark.parametrize("manifest", [[], None, 5, "kerntrace", {}, {"format": 1}, {"format": {"name": "kerntrace"}}])
def test_what_is_no_manifest_of_ours(manifest: Any) -> None:
    with pytest.raises(UnreadableError, match="not a kerntrace bundle"):
        major_of(manifest, "x")


@pytest.mark.parametrize(
    ("major", "name"), [("1", "kerntrace"), (1.0, "kerntrace"), (True, "kerntrace"), (1, "other"), (1, None)]
)
def test_a_format_of_another_name_or_type(major: Any, name: Any) -> None:
    with pytest.raises(UnreadableError, match="not a kerntrace bundle"):
        major_of(said(major, name), "x")
