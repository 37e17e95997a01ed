from __future__ import annotations

from math import log2, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.errors import UsageError
from kerntrace.hardware import device_reported, find_gpu
from kerntrace.model.architecture import load_model
from kerntrace.model.dispatch import Host
from kerntrace.model.predict import Options, Prediction, Reading, predict_step, weights_bytes
from kerntrace.model.profile import Constant, load_profile
from kerntrace.model.scheduler import Alpha, SForm, residual_ns, scheduler_ms
from kerntrace.workload import Cell, Mode

H200 = find_gpu("H200")
LLAMA = load_model("llama-3.1-8b")


def predict(mode: Mode, batch: int = 1, context: int = 512, gpu: str = "H200", **options: object) -> Prediction:
    return predict_step(LLAMA, find_gpu(gpu), Cell(mode, batch, context), load_profile("affine"), Options(**options))  # type: ignore[arg-type]


def host(**us: float) -> Host:
    return Host(**{name: Constant(value, "measured", "a test") for name, value in us.items()})


@pytest.mark.parametrize("form", [SForm.LINEAR, SForm.LOG2, SForm.SQRT, SForm.POWER])
def test_every_form_of_s_goes_through_the_two_given_points(form: SForm) -> None:
    assert scheduler_ms(1, form) == pytest.approx(1.3)
    assert scheduler_ms(16, form) == pytest.approx(4.3)


def test_forms_of_s_differ_beyond_the_given_points() -> None:
    found = {form: scheduler_ms(32, form) for form in SForm if form is not SForm.TABLE}
    assert found[SForm.LINEAR] == pytest.approx(7.5)
    assert found[SForm.LOG2] == pytest.approx(1.3 + 0.75 * log2(32))
    assert found[SForm.SQRT] == pytest.approx(1.3 + sqrt(32) - 1)
    assert found[SForm.POWER] == pytest.approx(5.80, abs=0.01)


@given(st.integers(2, 99))
def test_a_table_of_s_is_a_line_between_its_points(batch: int) -> None:
    assert scheduler_ms(batch, SForm.TABLE, {1: 1.0, 100: 100.0}) == pytest.approx(batch)
    assert scheduler_ms(1, SForm.TABLE, {1: 1.5, 100: 100.0}) == 1.5


@pytest.mark.parametrize(
    ("batch", "table", "said"), [(4, {}, "needs a table"), (4, {1: 1.0, 2: 2.0}, "outside the table of S, 1 to 2")]
)
def test_a_table_that_does_not_answer_is_refused(batch: int, table: dict[int, float], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        scheduler_ms(batch, SForm.TABLE, table)


def test_readings_of_alpha() -> None:
    assert residual_ns(3e6, Alpha.MODE, graphed=False, t_blocks_ns=1e6) == 3e6
    assert residual_ns(3e6, Alpha.MODE, graphed=True, t_blocks_ns=1e6) == 0
    assert residual_ns(3e6, Alpha.SHADOW, graphed=True, t_blocks_ns=1e6) == 2e6
    assert residual_ns(3e6, Alpha.SHADOW, graphed=False, t_blocks_ns=5e6) == 0
    assert residual_ns(3e6, Alpha.NONE, graphed=False, t_blocks_ns=1e6) == 0


def test_the_dispatch_reading_is_the_longer_of_gpu_and_host() -> None:
    slow, fast = host(t_dispatch_us=30), host(t_dispatch_us=2)
    assert predict(Mode.EAGER, host=slow).step_ns == pytest.approx(438 * 30_000)
    quick = predict(Mode.EAGER, host=fast)
    assert quick.step_ns == quick.t_blocks_ns > 438 * 2000


def test_eager_is_flat_over_the_grid_until_the_gpu_is_slower() -> None:
    steps = [predict(Mode.EAGER, batch, context).step_ns for batch in (1, 8, 32) for context in (512, 2048)]
    assert len(set(steps)) == 1
    assert predict(Mode.EAGER, 128, 8192).step_ns > steps[0]


def test_the_published_reading_adds_s_in_eager_mode_only() -> None:
    eager = predict(Mode.EAGER, 16, reading=Reading.PUBLISHED)
    assert eager.step_ns == pytest.approx(eager.t_blocks_ns + 4.3e6)  # a driver's launch cost never binds
    graph = predict(Mode.GRAPH, 16, reading=Reading.PUBLISHED)
    assert graph.step_ns == graph.t_blocks_ns


def test_the_gap_two_ways() -> None:
    for mode in (Mode.EAGER, Mode.GRAPH):
        found = predict(mode, 16)
        assert found.gap_residual_ns == pytest.approx(4.3e6)
        eager, graph = predict(Mode.EAGER, 16), predict(Mode.GRAPH, 16)
        assert found.gap_total_ns == pytest.approx(eager.step_ns - graph.step_ns)


def test_a_host_sampler_adds_to_both_modes() -> None:
    for mode in (Mode.EAGER, Mode.GRAPH):
        with_it, without = predict(mode, host=host(t_sampler_host_us=100)), predict(mode)
        assert with_it.step_ns - without.step_ns == pytest.approx(100_000)
        assert 0 < without.t_sampler_gpu_ns < without.t_blocks_ns


def test_the_mean_step_of_a_generation_is_predicted() -> None:
    assert predict(Mode.GRAPH, tokens=33).kv_length == 512 + 17
    assert predict(Mode.GRAPH, tokens=1).kv_length == 513
    assert any("lengthen a context of 512 by 20 %" in note for note in predict(Mode.GRAPH, tokens=200).notes)
    with pytest.raises(UsageError, match="0 tokens"):
        predict(Mode.GRAPH, tokens=0)


def test_what_does_not_fit_and_what_is_out_of_table_are_said() -> None:
    assert any("does not fit" in note for note in predict(Mode.GRAPH, 32, 8192, gpu="A100-40GB").notes)
    assert not any("does not fit" in note for note in predict(Mode.GRAPH, 16, 8192, gpu="A100-40GB").notes)
    other = device_reported("A40", bandwidth_gb_s=696, sms=84, compute_capability="8.6", clock_mhz=1740)
    found = predict_step(LLAMA, other, Cell(Mode.GRAPH, 1, 512), load_profile("affine"))
    assert any("A40 is out of table" in note for note in found.notes)
    assert found.t_blocks_ns > 15.0e9 / 696


def test_parameters_of_llama_3_1_8b() -> None:
    # 8.03 billion; the norms' 0.3 million are left out.
    assert weights_bytes(LLAMA, 2) / 2 == pytest.approx(8_030_261_248, rel=1e-4)
    assert weights_bytes(load_model("mixtral-8x7b"), 2) / 2 == pytest.approx(46.7e9, rel=1e-3)
