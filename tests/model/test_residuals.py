"""A profile's residuals: measured where the shape was measured, between neighbours elsewhere, 1 far from all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.calibration import Json, Machine, points_of

from kerntrace.errors import UsageError
from kerntrace.hardware import find_gpu
from kerntrace.model.architecture import load_model
from kerntrace.model.calibrate import fit_profile
from kerntrace.model.inventory import take_inventory
from kerntrace.model.points import parse_points
from kerntrace.model.profile import Profile, load_profile
from kerntrace.model.profile_text import profile_text
from kerntrace.model.residuals import Residuals, ratio_for
from kerntrace.model.roofline import time_kernels
from kerntrace.workload import Cell, Mode

H200 = find_gpu("H200")
GEMM = Residuals("gemm", "", ((1, 4096, 4096), (16, 4096, 4096)), (0.9, 1.1))

shapes = st.lists(
    st.tuples(st.integers(1, 64), st.integers(1, 1 << 17), st.integers(1, 1 << 15)), min_size=1, max_size=8, unique=True
)


@given(shapes, st.data())
def test_a_ratio_is_among_the_measured_and_exact_where_measured(known: list[tuple[int, int, int]], data: st.DataObject) -> None:
    ratios = data.draw(st.lists(st.floats(0.5, 2.0), min_size=len(known), max_size=len(known)))
    entry = Residuals("gemm", "", tuple(known), tuple(ratios))
    assert [entry.of(shape) for shape in known] == ratios
    asked = data.draw(st.tuples(st.integers(1, 64), st.integers(1, 1 << 17), st.integers(1, 1 << 15)))
    assert min(ratios) - 1e-9 <= entry.of(asked) <= max(ratios) + 1e-9


def test_the_nearer_neighbour_weighs_more() -> None:
    assert GEMM.of((4, 4096, 4096)) == pytest.approx(1.0)  # as far from 1 as from 16
    assert GEMM.of((2, 4096, 4096)) < 0.95 < 1.05 < GEMM.of((8, 4096, 4096))


def test_a_family_of_its_own_comes_first_and_other_kinds_have_none() -> None:
    own = Residuals("norm", "triton.rms_norm", ((1,),), (1.2,))
    any_norm = Residuals("norm", "", ((1,),), (0.8,))
    assert ratio_for((any_norm, own), "norm", "triton.rms_norm", (1, 4096)) == 1.2
    assert ratio_for((any_norm, own), "norm", "vllm.rms_norm", (1, 4096)) == 0.8
    assert ratio_for((own,), "norm", "vllm.rms_norm", (1, 4096)) is None
    assert ratio_for((own,), "rope", "triton.rms_norm", (1, 4096)) is None


def odd_points() -> Json:
    """A machine whose o_proj takes 20 % longer than the line at 16 rows, and whose attention of 16 sequences 30 %."""
    document = points_of(Machine())
    for point in document["points"]:
        if point["what"] == "gemm" and (point["rows"], point["outputs"], point["inputs"]) == (16, 4096, 4096):
            point["times_ns"] = [1.2 * ns for ns in point["times_ns"]]
        if point["what"] == "attention" and (point["rows"], point["length"]) == (16, 528):
            point["times_ns"] = [1.3 * ns for ns in point["times_ns"]]
    return document


def slots(profile: Profile, batch: int) -> dict[str, float]:
    """Slot of each kernel of layer 1."""
    inventory = take_inventory(load_model("llama-3.1-8b"), H200, Cell(Mode.GRAPH, batch, 528))
    timed = time_kernels(inventory, profile)
    return {entry.kernel.name: entry.slot_ns for entry in timed if entry.kernel.layer == 1}


def test_an_operation_with_its_parts_takes_what_was_measured() -> None:
    profile = fit_profile(parse_points(odd_points()), H200)
    machine = Machine()
    found = slots(profile, 16)
    product = machine.product_ns + 2 * 4096 * 4096 / machine.product_bandwidth
    assert found["o_proj"] + found["o_proj.reduce"] == pytest.approx(1.2 * product, rel=0.001)
    attention = machine.attention_ns + 4096 * 16 * 528 / machine.attention_bandwidth
    parts = found["kv_write"] + found["attention"] + found["attention.combine"]
    assert parts == pytest.approx(1.3 * attention, rel=0.001)
    assert slots(profile, 1)["o_proj"] + slots(profile, 1)["o_proj.reduce"] == pytest.approx(product, rel=0.001)


def test_a_small_kernel_takes_what_it_took_at_its_rows() -> None:
    document = points_of(Machine())
    wide = next(point for point in document["points"] if point.get("family") == "triton.act_and_mul")
    document["points"].append(wide | {"rows": 16, "bytes": 16 * wide["bytes"], "times_ns": [4_000.0] * 3})
    profile = fit_profile(parse_points(document), H200)
    assert slots(profile, 1)["act_and_mul"] == pytest.approx(wide["times_ns"][0], rel=0.001)
    assert slots(profile, 16)["act_and_mul"] == pytest.approx(4_000, rel=0.001)


@pytest.mark.parametrize(
    "broken",
    [
        'kind = "gemm"\nfamily = ""\nshapes = [[1, 2, 3]]\nratios = [1.0, 1.1]',
        'kind = "gemm"\nfamily = ""\nshapes = [[1, 0, 3]]\nratios = [1.0]',
        'kind = "gem"\nfamily = ""\nshapes = [[1, 2, 3]]\nratios = [1.0]',
        'kind = "gemm"\nfamily = ""\nshapes = [[1, 2, 3]]\nratios = [-1.0]',
    ],
)
def test_residuals_that_make_no_sense_are_refused_by_name(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(profile_text(fit_profile(parse_points(points_of(Machine())), H200)) + f"\n[[residual]]\n{broken}\n")
    with pytest.raises(UsageError, match=r"mine\.toml: residuals"):
        load_profile(str(path))
