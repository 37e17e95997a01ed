"""`kerntrace check`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.support.command import called, kerntrace


def test_a_sound_trace(bundles: Path) -> None:
    ran = kerntrace("check", bundles / "eager.ktrace", "--json")
    assert (ran.status, ran.err) == (0, "")
    document = ran.document()
    assert document["schema"] == "kerntrace.check/1"
    assert document["ok"] is True
    assert all(rule["ok"] and set(rule) == {"rule", "ok", "detail"} for rule in document["rules"])
    assert document["trace"]["rows"]["kernels"] > 0
    shown = called("check", bundles / "eager.ktrace")
    assert (shown.status, shown.err) == (0, "")
    assert "all 12 rules hold" in shown.out
    assert all(rule["rule"] in shown.out for rule in document["rules"])


def test_a_refused_trace_still_gives_its_document(bundles: Path) -> None:
    ran = kerntrace("check", bundles / "refused.ktrace", "--json")
    assert ran.status == 3
    document = ran.document()
    assert document["ok"] is False
    (failed,) = [rule for rule in document["rules"] if not rule["ok"]]
    assert failed["rule"] == "dropped-records"
    assert failed["fix"]
    shown = called("check", bundles / "refused.ktrace")
    assert shown.status == 3
    assert "REFUSED" in shown.out
    assert "1 of 12 rules refuse" in shown.out


def test_a_changed_file_is_found(bundles: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.ktrace"
    shutil.copytree(bundles / "eager.ktrace", copy)
    (copy / "overheads.parquet").write_bytes((bundles / "refused.ktrace" / "overheads.parquet").read_bytes() + b" ")
    assert called("check", copy).complaint(1).count("\n") <= 2
    shutil.rmtree(copy)
    shutil.copytree(bundles / "eager.ktrace", copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["tables"]["ranges"]["sha256"] = "0" * 64
    (copy / "manifest.json").write_text(json.dumps(manifest))
    assert "SHA-256 differs" in called("check", copy).complaint(1)
    assert called("steps", copy).status == 0


def test_one_device_and_process_of_several(bundles: Path) -> None:
    several = called("check", bundles / "devices.ktrace", "--json")
    assert several.status == 3
    assert {rule["rule"] for rule in several.document()["rules"] if not rule["ok"]} == {"one-device", "one-process"}
    assert called("check", bundles / "devices.ktrace", "--device", "1").status == 0


def test_a_trace_without_steps_is_told_so(bundles: Path) -> None:
    ran = called("check", bundles / "unstepped.ktrace")
    assert ran.status == 0
    assert "no steps found" in ran.out
