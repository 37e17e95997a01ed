from __future__ import annotations

import csv
import io
import json
from statistics import median
from typing import Any

import pytest
import typer

from kerntrace.cli.predict import predict
from kerntrace.errors import UsageError

app = typer.Typer()
app.command()(predict)

# Untraced graph steps of Llama-3.1-8B on one H200, ms, by batch and context: vLLM 0.24.0, FlashAttention 3, BF16 (measured).
GRAPHED_MS = {
    (1, 512): 4.9844,
    (2, 512): 4.9915,
    (4, 512): 5.0922,
    (8, 512): 5.2058,
    (16, 512): 5.3739,
    (32, 512): 5.8322,
    (1, 2048): 5.0534,
    (2, 2048): 5.1024,
    (4, 2048): 5.2962,
    (8, 2048): 5.5635,
    (16, 2048): 6.1743,
    (32, 2048): 7.2657,
}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    status = app([*arguments], standalone_mode=False)
    assert status == 0
    return capsys.readouterr().out


def cells(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    document = json.loads(run(capsys, "--json", *arguments))
    assert document["schema"] == "kerntrace.predict/1"
    return list(document["cells"])


def test_the_document_has_the_keys_that_readers_use(capsys: pytest.CaptureFixture[str]) -> None:
    (cell,) = cells(capsys, "--gpu", "NVIDIA H200", "--model", "meta-llama/Llama-3.1-8B")
    assert {key: cell[key] for key in ("gpu", "model", "mode", "batch", "context", "profile", "kernel_count")} == {
        "gpu": "H200",
        "model": "llama-3.1-8b",
        "mode": "graph",
        "batch": 1,
        "context": 512,
        "profile": "affine",
        "kernel_count": 470,
    }
    assert isinstance(cell["predicted_step_ns"], int)
    assert cell["t_blocks_ns"] == cell["terms"]["t_blocks_ns"]
    assert sum(kernel["total_ns"] for kernel in cell["kernels"]) == pytest.approx(cell["t_blocks_ns"], abs=50)
    assert sum(kernel["calls"] for kernel in cell["kernels"] if not kernel["is_copy"]) == 470
    assert all(parameter["kind"] and parameter["source"] for parameter in cell["parameters"])


def test_a_grid_is_every_combination_once(capsys: pytest.CaptureFixture[str]) -> None:
    found = cells(
        capsys, "--gpu", "H200,H100", "--batch", "1-3,2", "--context", "512,2048", "--mode", "eager,graph", "--no-kernels"
    )
    keys = {(cell["gpu"], cell["batch"], cell["context"], cell["mode"]) for cell in found}
    assert len(found) == len(keys) == 2 * 3 * 2 * 2
    assert "kernels" not in found[0]


def test_what_was_measured_on_an_h200_is_a_profile_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    grid = ("--gpu", "H200", "--batch", "1,2,4,8,16,32", "--context", "512,2048", "--profile", "h200-calibrated,affine")
    found = cells(capsys, *grid)
    off: dict[str, list[float]] = {"h200-calibrated": [], "affine": []}
    for cell in found:
        off[cell["profile"]].append(cell["t_blocks_ns"] / 1e6 / GRAPHED_MS[cell["batch"], cell["context"]] - 1)
        assert cell["ideal_ns"] / 1e6 < GRAPHED_MS[cell["batch"], cell["context"]]
    assert abs(median(off["h200-calibrated"])) < 0.03  # it saw microbenchmarks only
    assert abs(median(off["affine"])) < 0.05  # of published constants
    assert max(map(abs, off["h200-calibrated"] + off["affine"])) < 0.10
    kinds = {parameter["kind"] for cell in found if cell["profile"] == "h200-calibrated" for parameter in cell["parameters"]}
    assert "microbenchmark" in kinds


def test_what_was_measured_on_an_h200_is_not_for_another_gpu() -> None:
    with pytest.raises(UsageError, match=r"h200-calibrated has no constants for .* on H100-SXM"):
        app(["--gpu", "H100-SXM", "--profile", "h200-calibrated"], standalone_mode=False)


def test_all_gpus_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "--gpu", "all", "--batch", "1")
    for name in ("A100-40GB-SXM", "H100-SXM", "H200", "B200", "RTX-5090", "L4"):
        assert name in text


def test_tables_name_the_terms_and_every_assumption(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "--gpu", "H200", "--mode", "eager")
    for word in ("gate_up_proj", "T_blocks", "438 = 32 x 13 + 22", "t_dispatch_us", "assumed", "published", "disclosed"):
        assert word in text


def test_csv_has_a_row_a_cell_or_a_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(run(capsys, "--csv", "--batch", "1,2"))))
    assert [row["batch"] for row in rows] == ["1", "2"]
    assert int(rows[0]["predicted_step_ns"]) > 0
    kernels = list(csv.DictReader(io.StringIO(run(capsys, "--csv", "--kernels"))))
    assert sum(int(row["calls"]) for row in kernels if row["is_copy"] == "False") == 470


def test_host_costs_and_a_table_of_s_are_taken_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    (cell,) = cells(capsys, "--mode", "eager", "--host", "dispatch=40", "--s-form", "table", "--s-table", "1:2.5,4:3")
    assert cell["predicted_step_ns"] == 438 * 40_000
    assert cell["terms"]["s_ns"] == 2_500_000
    kinds = {parameter["name"]: parameter["kind"] for parameter in cell["parameters"]}
    assert (kinds["t_dispatch_us"], kinds["S(1)_ms"]) == ("measured", "measured")


def test_a_gpu_that_the_table_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--gpu", "A40", "--bandwidth", "696", "--sms", "84", "--clock", "1740", "--compute-capability", "8.6")
    (cell,) = cells(capsys, *given)
    assert (cell["gpu"], cell["in_table"]) == ("A40", False)
    assert any("out of table" in note for note in cell["notes"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--batch", "0"], "--batch '0'"),
        (["--batch", "4-1"], "4-1"),
        (["--batch", "1,x"], "not a list of whole numbers"),
        (["--batch", "1-1000000"], "not a range"),
        (["--context", ""], "not a list of whole numbers"),
        (["--context", "131072"], "beyond its limit of 131072"),
        (["--model", "llama-3.1-80b"], r"did you mean llama-3\.1-8b"),
        (["--gpu", "H300"], "no GPU 'H300'"),
        (["--mode", "graphs"], "--mode 'graphs' is not known"),
        (["--profile", "best"], "no profile 'best'"),
        (["--s-form", "cubic"], "--s-form 'cubic'"),
        (["--s-form", "table"], "needs a table"),
        (["--s-table", "1=2"], "is not a table"),
        (["--host", "dispatch"], "not a host cost"),
        (["--alpha", "half"], "--alpha 'half'"),
        (["--reading", "both"], "--reading 'both'"),
        (["--tokens", "0"], "0 tokens"),
        (["--max-model-len", "0"], "--max-model-len 0"),
        (["--efficiency", "0.5"], "does not apply to profile affine"),
        (["--efficiency", "2", "--profile", "flat"], "efficiency of 2"),
        (["--bandwidth", "900"], "both needed"),
        (["--bandwidth", "900", "--sms", "10"], "--compute-capability is missing"),
        (["--gpu", "all", "--mode", "all", "--batch", "1-100"], "2000 at most"),
        (["--json", "--csv"], "cannot both"),
        (["--gpu", ","], "empty name"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(arguments: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        app(arguments, standalone_mode=False)
    assert refused.value.hint
    assert "\n" not in refused.value.what
