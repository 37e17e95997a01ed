"""A recorded step beside its prediction: recognised, timed, and every difference named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.recording import Playing, decode_range
from tests.support.step_names import Length, play_inventory, play_step

from kerntrace.accounting.analysis import Analysis, Question, analyse
from kerntrace.accounting.summary import cells_of
from kerntrace.errors import UsageError
from kerntrace.evidence.roofline_join import CellRoofline, compare_cell
from kerntrace.evidence.roofline_setting import Asked, guess_mode, settle
from kerntrace.hardware import find_gpu
from kerntrace.ingest.open_any import open_any
from kerntrace.model.architecture import load_model
from kerntrace.model.inventory import Inventory, take_inventory
from kerntrace.model.profile import load_profile
from kerntrace.model.roofline import time_kernels
from kerntrace.workload import Cell, Mode

TRACES = Path(__file__).parents[2] / "traces"
H200 = find_gpu("H200")
SMALL = "llama-3.2-1b"
AFFINE, IDEAL, FLAT = (load_profile(name) for name in ("affine", "ideal", "flat"))
STEPS = 5
KEYS = 512 + 3  # five decode steps in a row and the prefill's token: half of six


def inventory(mode: Mode, batch: int = 1, model: str = SMALL) -> Inventory:
    return take_inventory(load_model(model), H200, Cell(mode, batch, 512), kv_length=KEYS)


def as_predicted(found: Inventory) -> Length:
    times = [max(1, round(timed.busy_ns)) for timed in time_kernels(found, AFFINE)]
    return lambda place, kernel: times[place]


def played(play: Playing) -> Analysis:
    analysis = analyse(play.build(gpu="NVIDIA H200"), Question())
    assert analysis.ok
    return analysis


def compare(analysis: Analysis, batch: int = 1, asked: Asked | None = None) -> CellRoofline:
    (cell,) = [cell for cell in cells_of(analysis) if cell.batch in (batch, None)]
    setting = settle(analysis, asked or Asked(model=SMALL, context=512))
    return compare_cell(analysis, cell, batch, setting, AFFINE, (IDEAL, FLAT))


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("batch", [1, 16])
def test_a_step_that_ran_as_predicted_has_no_error(mode: Mode, batch: int) -> None:
    wanted = inventory(mode, batch)
    found = compare(played(play_inventory(wanted, as_predicted(wanted), batch=batch, steps=STEPS)), batch)
    assert found.setting.mode is mode
    assert found.inventory.step.kv_length == KEYS
    assert (found.classified_share, found.classified_kernels) == (1.0, 1.0)
    assert found.kernels_recorded == found.kernels_predicted
    assert not any((found.differences, found.unmatched, found.violations))
    assert found.accuracy is not None
    assert found.accuracy.weighted_mape < 1e-3  # whole nanoseconds
    assert found.layers is not None
    assert found.layers.repeats == 16
    assert sum(tally.calls for tally in found.rows) == len(wanted.kernels)
    assert sum(tally.measured_ns for tally in found.classes) == pytest.approx(found.work_ns)


def test_figures_of_an_operation_follow_from_its_size_and_time() -> None:
    wanted = inventory(Mode.GRAPH)
    found = compare(played(play_inventory(wanted, lambda place, kernel: 40_000, batch=1, steps=STEPS)))
    (gate_up,) = [tally for tally in found.rows if tally.kernel.name == "gate_up_proj"]
    moved = 2 * (16384 * 2048 + 2048 + 16384)
    assert (gate_up.calls, gate_up.measured_ns) == (16, 16 * 40_000)
    assert gate_up.gb_s == pytest.approx(moved / 40_000)
    assert gate_up.tflop_s == pytest.approx(2 * 16384 * 2048 / 40_000 / 1000)
    assert gate_up.intensity == pytest.approx(2 * 16384 * 2048 / moved)
    assert gate_up.share_of_roof == pytest.approx(moved / 4800 / 40_000)
    predicted = gate_up.predicted_ns / 16
    assert gate_up.error == pytest.approx((predicted - 40_000) / 40_000)
    assert gate_up.weighted_mape == pytest.approx(abs(predicted - 40_000) / 40_000)
    (copy,) = [tally for tally in found.rows if tally.kernel.name == "request_ids_in"]
    assert (copy.gb_s, copy.share_of_roof) == (None, None)  # a copy from the host does not touch the GPU's roofs


def test_medians_are_over_steps() -> None:
    wanted = inventory(Mode.EAGER)
    calls = 0

    def length(place: int, kernel: object) -> int:
        nonlocal calls
        calls += 1
        return 1_000 * (1 + calls // len(wanted.kernels))  # 1 us in the first step, 2 in the second, ...

    found = compare(played(play_inventory(wanted, length, batch=1, steps=6)))
    # Steady are the second to the fifth: the first follows the prefill, the last one's window is open.
    assert len(found.step.steps) == 4
    assert {pair.member.measured_ns for pair in found.pairs[1:-1]} == {3_500}


def test_blocks_are_compared_with_busy_and_the_devices_own_gaps() -> None:
    wanted = inventory(Mode.GRAPH)
    found = compare(played(play_inventory(wanted, as_predicted(wanted), batch=1, steps=STEPS)))
    assert [blocks.profile for blocks in found.blocks] == ["affine", "ideal", "flat"]
    assert found.device_ns == found.busy_ns + found.device_gap_ns
    for blocks in found.blocks:
        assert blocks.error == pytest.approx((blocks.predicted_ns - found.device_ns) / found.device_ns)
    assert found.blocks[1].error < found.blocks[0].error


def altered(change: Callable[[list[tuple[str, int]]], list[tuple[str, int]]]) -> CellRoofline:
    """A graph step whose replayed kernels were changed."""

    class Changed(Playing):
        def replay(self, nodes: list[tuple[str, int]], **more: int) -> None:
            super().replay(change(list(nodes)), **more)

    wanted = inventory(Mode.GRAPH)
    source = play_inventory(wanted, as_predicted(wanted), batch=1, steps=0, ranges=False)
    play = Changed(host=source.host)
    for _ in range(STEPS):
        with play.within(decode_range(1)):
            play_step(play, wanted, as_predicted(wanted))
        play.synchronise()
        play.wait(5_000)
    return compare(played(play))


def test_a_kernel_too_many_is_named_and_weighed() -> None:
    found = altered(lambda nodes: [*nodes[:5], ("my_new_kernel", 50_000), *nodes[5:]])
    assert [(d.what, d.name, d.change) for d in found.differences] == [("recorded, not predicted", "my_new", 1)]
    (extra,) = found.unmatched
    assert (extra.name, extra.kind, extra.count, extra.total_ns) == ("my_new_kernel", "", 1, 50_000)
    assert found.classified_share == pytest.approx(1 - 50_000 / found.work_ns)
    assert found.classified_kernels == pytest.approx(1 - 1 / found.kernels_recorded)


def test_a_kernel_that_is_gone_is_named() -> None:
    found = altered(lambda nodes: [node for node in nodes if "FwdCombine" not in node[0]])
    assert [(d.what, d.name, d.change) for d in found.differences] == [("predicted, not recorded", "attention.combine", -16)]


def test_differences_add_up_to_the_difference_of_the_counts() -> None:
    found = altered(lambda nodes: [("a", 5), *nodes[3:-7], ("b", 5), ("b", 5)])
    assert sum(d.change for d in found.differences) == found.kernels_recorded - found.kernels_predicted


def test_a_kernel_faster_than_its_bytes_allow_is_a_bug_of_the_byte_model() -> None:
    def length(place: int, kernel: object) -> int:
        return 50_000 if getattr(kernel, "name", "") == "lm_head" else 20_000

    found = compare(played(play_inventory(inventory(Mode.GRAPH), length, batch=1, steps=STEPS)))
    (violation,) = found.violations  # 525 MB in 50 us is 10 TB/s
    assert (violation.kernel.name, violation.measured_ns) == ("lm_head", 50_000)
    assert violation.ideal_ns == pytest.approx(2 * (128256 * 2048 + 128256 + 2048) / 4.8e3)


def test_another_models_trace_is_said_to_be_one() -> None:
    wanted = inventory(Mode.GRAPH)
    analysis = played(play_inventory(wanted, as_predicted(wanted), batch=1, steps=STEPS))
    found = compare(analysis, asked=Asked(model="llama-3.1-8b", context=512))
    assert any("16 times in the recording, but 32 in the model: is --model right?" in note for note in found.notes)


def test_a_trace_without_ranges_is_joined_wherever_its_steps_are_cut() -> None:
    wanted = inventory(Mode.EAGER)
    analysis = played(play_inventory(wanted, as_predicted(wanted), batch=1, steps=8, ranges=False))
    assert analysis.steps is not None
    assert analysis.steps.boundaries.method == "periodic"
    found = compare(analysis, asked=Asked(model=SMALL, context=512, tokens=6))
    assert (found.classified_kernels, found.differences) == (1.0, ())


@pytest.mark.parametrize(
    ("asked", "said", "option"),
    [
        (Asked(context=512), "does not say which model", "--model"),
        (Asked(model=SMALL), "does not say the context", "--context"),
    ],
)
def test_what_the_trace_does_not_say_has_to_be_given(asked: Asked, said: str, option: str) -> None:
    wanted = inventory(Mode.GRAPH)
    analysis = played(play_inventory(wanted, as_predicted(wanted), batch=1, steps=STEPS))
    with pytest.raises(UsageError, match=said) as refused:
        settle(analysis, asked)
    assert option in refused.value.hint


def test_without_a_gpus_name_it_has_to_be_given() -> None:
    wanted = inventory(Mode.GRAPH)
    analysis = analyse(play_inventory(wanted, as_predicted(wanted), batch=1, steps=STEPS).build(), Question())
    with pytest.raises(UsageError, match="which GPU") as refused:
        settle(analysis, Asked(model=SMALL, context=512))
    assert "--gpu" in refused.value.hint
    assert settle(analysis, Asked(model=SMALL, context=512, gpu="H100")).gpu.name == "H100-SXM"


@pytest.mark.parametrize("mode", Mode)
def test_the_mode_shows_in_the_trace(mode: Mode) -> None:
    wanted = inventory(mode)
    found, why = guess_mode(played(play_inventory(wanted, as_predicted(wanted), batch=1, steps=STEPS)))
    assert found is mode
    assert ("no graph launch" not in why) == (mode in (Mode.GRAPH, Mode.GRAPH_NOCOMPILE))


_RECORDED = [
    ("h200-eager", 438, 13),
    ("h200-graph", 469, 14),
    ("h200-native-eager", 437, 13),  # no request asked for what the logit bias does
    ("h200-native-graph", 437, 13),  # and queries and keys were rotated by one kernel
    ("h200-native-graph-nocompile", 439, 13),
]


@pytest.mark.parametrize(("bundle", "count", "per_layer"), _RECORDED)
@pytest.mark.parametrize("batch", [1, 16])
def test_recordings_of_an_h200(bundle: str, count: int, per_layer: int, batch: int) -> None:
    analysis = analyse(open_any(TRACES / f"{bundle}.ktrace"), Question())
    found = compare(analysis, batch, Asked(model="llama-3.1-8b", context=512))
    assert found.classified_share >= 0.99
    assert found.classified_kernels >= 0.97
    assert found.kernels_recorded == count
    assert sum(d.change for d in found.differences) == found.kernels_recorded - found.kernels_predicted
    # Nsight Systems records the copy that ends a graph as a copy, kerntrace's own recorder the kernel that it runs as.
    expected = [("predicted as a kernel, recorded as a copy", "hidden_states_copy", -1)] if count == 469 else []
    assert [(d.what, d.name, d.change) for d in found.differences] == expected
    assert found.layers is not None
    assert (found.layers.repeats, found.layers.period) == (32, per_layer)
    assert found.accuracy is not None
    assert found.accuracy.weighted_mape <= 0.10
    assert found.violations == ()
    affine, ideal, _ = found.blocks
    assert abs(affine.error) <= 0.05
    assert ideal.error < 0
    assert all(tally.ideal_ns < tally.measured_ns for tally in found.rows if tally.measured_ns > 5_000 * tally.calls)
