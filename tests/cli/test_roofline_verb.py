"""`kerntrace roofline` at the terminal."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.calibration import Machine, points_of

from kerntrace.cli.app import run
from kerntrace.model.calibrate import fit_profile
from kerntrace.model.points import parse_points
from kerntrace.model.profile_text import profile_text

TRACES = Path(__file__).parents[2] / "traces"
GRAPH = str(TRACES / "h200-graph.ktrace")
LLAMA = ("--model", "llama-3.1-8b", "--context", "512")


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["roofline", *arguments, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == "kerntrace.roofline/1"
    return dict(said)


def test_the_document_has_the_keys_that_readers_use(capsys: pytest.CaptureFixture[str]) -> None:
    cells = document(capsys, GRAPH, *LLAMA)["cells"]
    assert [(cell["batch"], cell["mode"], cell["gpu"], cell["profile"]) for cell in cells] == [
        (1, "graph", "H200", "affine"),
        (16, "graph", "H200", "affine"),
    ]
    (one, _) = cells
    assert one["kernel_count"]["recorded"] == 469
    assert sum(d["change"] for d in one["kernel_count"]["differences"]) == 469 - one["kernel_count"]["predicted"]
    assert one["layers"]["repeats"] == 32
    assert one["classified"] == {"time_share": 1.0, "kernel_share": 1.0}
    assert [row["profile"] for row in one["t_blocks"]] == ["affine", "flat", "ideal"]
    assert one["accuracy"]["time_weighted_mape"] < 0.1
    assert one["violations"] == one["unmatched"] == []
    assert sum(row["measured_total_ns"] for row in one["kernels"]) == pytest.approx(one["busy_ns"], rel=0.01)
    assert sum(row["share_of_busy"] for row in one["classes"]) == pytest.approx(1)
    assert one["published"]["kind"] == "reference"
    assert 0.4 < one["published"]["efficiency_needed_here"] < 0.55


def test_a_batch_can_be_chosen_and_what_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert [cell["batch"] for cell in document(capsys, GRAPH, *LLAMA, "--batch", "16")["cells"]] == [16]
    assert run(["roofline", GRAPH, *LLAMA, "--batch", "3"]) == 2
    assert "no step of batch 3" in capsys.readouterr().err


def test_tables_name_what_binds_and_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["roofline", GRAPH, *LLAMA, "--batch", "1"]) == 0
    text = capsys.readouterr().out
    for word in ("gate_up_proj", "T_blocks", "469 = 32 x 14 + 21", "hidden_states_copy", "time-weighted MAPE", "reference"):
        assert word in text


def test_csv_has_a_row_an_operation(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["roofline", GRAPH, *LLAMA, "--csv", "--batch", "1"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    names = [row["name"] for row in rows]
    assert names[0] == "gate_up_proj"
    assert len(names) == len(set(names))
    assert float(rows[0]["measured_ns"]) > 0


def test_a_measured_profile_is_used_by_its_path(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from kerntrace.hardware import find_gpu

    path = tmp_path / "mine.toml"
    path.write_text(profile_text(fit_profile(parse_points(points_of(Machine())), find_gpu("H200"))), encoding="utf-8")
    (cell,) = document(capsys, GRAPH, *LLAMA, "--batch", "1", "--profile", str(path))["cells"]
    assert [row["profile"] for row in cell["t_blocks"]] == ["calibrated-H200", "affine", "flat", "ideal"]


def test_a_config_in_a_directory_is_a_model_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from kerntrace.engines.presets import preset_config

    (tmp_path / "config.json").write_text(json.dumps(preset_config("llama-3.1-8b")))
    (cell,) = document(capsys, GRAPH, "--model", str(tmp_path), "--context", "512", "--batch", "1")["cells"]
    assert cell["classified"]["kernel_share"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "give --model"),
        (["--model", "llama-3.1-8b"], 2, "give --context"),
        ([*LLAMA, "--mode", "graphs"], 2, "Known are eager"),
        ([*LLAMA, "--profile", "best"], 2, "no profile 'best'"),
        ([*LLAMA, "--gpu", "H300"], 2, "no GPU 'H300'"),
        (["--model", "llama-9", "--context", "512"], 2, "no model 'llama-9'"),
        (["--model", "llama-3.1-8b", "--context", "200000"], 2, "beyond its limit"),
        ([*LLAMA, "--json", "--csv"], 2, "cannot both"),
        ([*LLAMA, "--step-range", "nothing like it"], 1, "no range matches"),
    ],
)
def test_what_makes_no_sense_is_said_in_two_lines(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, said: str
) -> None:
    assert run(["roofline", GRAPH, *arguments]) == status
    captured = capsys.readouterr()
    assert said in captured.err
    assert len(captured.err.splitlines()) == 2
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_a_refused_trace_gives_a_document_and_no_figure(capsys: pytest.CaptureFixture[str], bundles: Path) -> None:
    assert run(["roofline", str(bundles / "refused.ktrace"), *LLAMA, "--gpu", "H200", "--json"]) == 3
    captured = capsys.readouterr()
    said = json.loads(captured.out)
    assert said["integrity"]["ok"] is False
    assert said["cells"] == []
    assert "refused by rule dropped-records" in captured.err


def csv_rows(text: str) -> list[dict[str, str]]:
    """The rows of a CSV, of which one holds a name of a million letters."""
    before = csv.field_size_limit(2_000_000)
    try:
        return list(csv.DictReader(io.StringIO(text, newline="")))
    finally:
        csv.field_size_limit(before)


def test_names_made_to_break_what_prints_them(capsys: pytest.CaptureFixture[str], bundles: Path) -> None:
    trace = str(bundles / "hostile.ktrace")
    arguments = ["roofline", trace, *LLAMA, "--gpu", "H200"]
    assert run(arguments) == 0
    shown = capsys.readouterr().out
    assert all(character.isprintable() for character in shown.replace("\n", ""))
    assert "is --model right?" in shown or "no layer repeats" in shown
    assert run([*arguments, "--csv"]) == 0
    recorded = [row["recorded"] for row in csv_rows(capsys.readouterr().out)]
    assert "'=cmd|' /C calc'!A0" in recorded
    assert not any(name.startswith("=") for name in recorded)
    (cell,) = document(capsys, trace, *LLAMA, "--gpu", "H200")["cells"]
    assert cell["classified"]["kernel_share"] == 0
    assert cell["accuracy"] is None
    assert cell["classes"] == []


@pytest.mark.parametrize(("bundle", "said"), [("unstepped", "no steps found"), ("many", "beyond its limit")])
def test_a_trace_that_cannot_be_compared(capsys: pytest.CaptureFixture[str], bundles: Path, bundle: str, said: str) -> None:
    context = "131000" if bundle == "many" else "512"
    arguments = ["--model", "llama-3.1-8b", "--context", context, "--gpu", "H200"]
    assert run(["roofline", str(bundles / f"{bundle}.ktrace"), *arguments]) in (1, 2)
    assert said in capsys.readouterr().err


def test_what_the_trace_says_of_its_workload_need_not_be_given(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import msgspec

    from kerntrace.ingest.open_any import open_any
    from kerntrace.trace.bundle import write_bundle
    from kerntrace.trace.manifest import WorkloadInfo

    trace = open_any(Path(GRAPH))
    workload = WorkloadInfo(model="meta-llama/Llama-3.1-8B", mode="graph", context=512, tokens=17)
    manifest = msgspec.structs.replace(trace.manifest, workload=workload)
    write_bundle(dataclasses.replace(trace, manifest=manifest), tmp_path / "told.ktrace")
    cells = document(capsys, str(tmp_path / "told.ktrace"))["cells"]
    assert [(cell["model"], cell["context"], cell["kv_length"], cell["notes"]) for cell in cells] == [
        ("llama-3.1-8b", 512, 521, [])
    ] * 2
    told = ("--model", "qwen2.5-7b", "--context", "600", "--mode", "graph")
    other = document(capsys, str(tmp_path / "told.ktrace"), *told)["cells"]
    assert [note for note in other[0]["notes"] if "as given" in note] == [
        "model qwen2.5-7b, as given; the trace says meta-llama/Llama-3.1-8B",
        "context 600, as given; the trace says 512",
    ]
    same = document(capsys, str(tmp_path / "told.ktrace"), "--model", "llama-3.1-8b")["cells"]
    assert same[0]["notes"] == []
    assert same[0]["published"] is not None
    assert document(capsys, str(tmp_path / "told.ktrace"), "--dtype", "fp8")["cells"][0]["published"] is None
