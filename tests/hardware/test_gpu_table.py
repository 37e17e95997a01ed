from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from kerntrace.errors import UsageError
from kerntrace.hardware import Figure, GpuSpec, Quantity, device_reported, find_gpu, known_gpus
from kerntrace.hardware.spec import refuse_sparse
from kerntrace.hardware.table import read_gpus

# Dense BF16 operations a clock and multiprocessor, FP32 accumulation, by part.
PER_CLOCK = {"8.0": 2048, "9.0": 4096, "10.0": 8192, "8.9": 1024, "12.0": 512}


def by_name(gpu: GpuSpec) -> str:
    return gpu.name


def test_the_table_has_the_parts_that_studies_name() -> None:
    names = {gpu.name for gpu in known_gpus()}
    assert names >= {"A100-40GB-SXM", "A100-40GB-PCIe", "A100-80GB-SXM", "H100-SXM", "H100-PCIe", "H100-NVL", "H200"}
    assert names >= {"GH200-96GB", "B200", "L4", "L40S", "RTX-4090", "RTX-5090"}


@pytest.mark.parametrize("gpu", known_gpus(), ids=by_name)
def test_a_peak_is_multiprocessors_x_clock_x_dense_operations(gpu: GpuSpec) -> None:
    per_clock = 512 if gpu.name == "RTX-4090" else PER_CLOCK[gpu.compute_capability]
    clock = gpu.tensor_clock_mhz.nominal
    assert clock is not None
    assert gpu.bf16_tflops.nominal == pytest.approx(gpu.sm_count * clock * per_clock / 1e6, rel=0.003)


@pytest.mark.parametrize("gpu", known_gpus(), ids=by_name)
def test_every_figure_has_a_source_and_a_date(gpu: GpuSpec) -> None:
    quantities = [value for value in msgspec.structs.asdict(gpu).values() if isinstance(value, Quantity)]
    figures = [figure for quantity in quantities for _, figure in quantity.kinds()]
    assert len(figures) >= 7
    assert all(figure.source and len(figure.date) == 10 and figure.value > 0 for figure in figures)


def test_no_two_gpus_answer_to_one_name() -> None:
    names = [name.casefold() for gpu in known_gpus() for name in {gpu.name, *gpu.aliases, *gpu.device_names}]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("NVIDIA H200", "H200"),
        ("h200", "H200"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM"),
        ("NVIDIA H100 PCIe", "H100-PCIe"),
        ("NVIDIA A100-SXM4-40GB", "A100-40GB-SXM"),
        ("NVIDIA A100-PCIE-40GB", "A100-40GB-PCIe"),
        ("NVIDIA GeForce RTX 4090", "RTX-4090"),
        ("rtx 5090", "RTX-5090"),
    ],
)
def test_a_gpu_is_found_by_short_and_by_cuda_name(asked: str, found: str) -> None:
    assert find_gpu(asked).name == found


def test_an_ambiguous_or_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match="A100-40GB-SXM, A100-40GB-PCIe, A100-80GB-SXM"):
        find_gpu("A100")
    with pytest.raises(UsageError, match="no GPU ''"):
        find_gpu("")


def test_the_h200_keeps_datasheet_device_and_measured_apart() -> None:
    h200 = find_gpu("H200")
    assert h200.bandwidth == 4800
    assert h200.l2_bytes == 62_914_560  # what the device says, not the datasheet's 50 MB
    assert [line.split()[0] for line in h200.bandwidth_gb_s.differences()] == ["measured"]


def test_a_sparse_peak_is_refused() -> None:
    h100 = find_gpu("H100")
    sparse = msgspec.structs.replace(h100, bf16_tflops=Quantity(datasheet=Figure(1979, "a table", "2026-11-30")))
    with pytest.raises(UsageError, match="1979 TFLOP/s"):
        refuse_sparse(sparse)
    assert refuse_sparse(h100) is h100


def test_an_unknown_gpu_works_from_what_its_device_reports() -> None:
    gpu = device_reported("A40", bandwidth_gb_s=696, sms=84, compute_capability="8.6", clock_mhz=1740)
    assert not gpu.in_table
    assert gpu.bf16_tflops.nominal == pytest.approx(149.7, rel=0.001)  # 84 x 1740 MHz x 1024
    assert gpu.bf16_tflops.datasheet is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"clock_mhz": 1740, "bf16_tflops": 299.4}, "above the dense peak"),
        ({}, "dense peak cannot be derived"),
        ({"clock_mhz": -1}, "--clock -1 is not above zero"),
        ({"bf16_tflops": 149.7, "l2_mib": 0}, "--l2 0 is not above zero"),
    ],
)
def test_what_cannot_describe_a_gpu_is_refused(given: dict[str, float], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        device_reported("A40", bandwidth_gb_s=696, sms=84, compute_capability="8.6", **given)  # type: ignore[arg-type]


TABLE = """
[[gpu]]
name = "X1"
device_names = ["ACME X1"]
compute_capability = "9.0"
[gpu.bandwidth_gb_s]
device = { value = 1000, source = "driver", date = "2026-11-30" }
[gpu.sms]
device = { value = 10, source = "driver", date = "2026-11-30" }
[gpu.bf16_tflops]
device = { value = 40, source = "driver", date = "2026-11-30" }
"""


def test_a_file_of_the_users_own_is_out_of_table(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TABLE)
    (gpu,) = read_gpus(path)
    assert (gpu.name, gpu.in_table, gpu.bandwidth) == ("X1", False, 1000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[gpu]\n", "not a TOML file"),
        (TABLE.replace("compute_capability", "compute_capabilty"), "compute_capabilty"),
        (TABLE.replace("value = 1000", 'value = "fast"'), "bandwidth_gb_s"),
        ("", "gpu"),
    ],
)
def test_a_broken_file_is_refused_by_the_key(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_gpus(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_gpus(tmp_path / "none.toml")
