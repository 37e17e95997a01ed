"""What a GPU can do at best: figures with their sources, side by side where sources differ. Room: stats | hardware | workload.

A figure is a datasheet's, reported by the device, or measured; the three are kept apart because they differ by a few per cent
and a comparison has to say which one it used. Peaks are dense: a sparse peak is twice what a dense matrix product can reach,
and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kerntrace.errors import UsageError

DIFFERENCE_WORTH_SAYING = 0.03
_PEAK_TOLERANCE = 1.03

# Dense BF16 operations per clock and multiprocessor with FP32 accumulation; the most that any part of an architecture has.
# GeForce parts of 8.9 and 12.0 do half of that. Products of these with SM counts and clocks give the published peaks to 0.3 %.
DENSE_FLOPS_PER_CLOCK_PER_SM = {"8.0": 2048, "8.6": 1024, "8.7": 1024, "8.9": 1024, "9.0": 4096, "10.0": 8192, "12.0": 1024}


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number with the place it was read and the day it was read there."""

    value: float
    source: str
    date: str


class Quantity(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One property from up to three kinds of source."""

    datasheet: Figure | None = None
    device: Figure | None = None
    measured: Figure | None = None

    def kinds(self) -> Iterator[tuple[str, Figure]]:
        """The figures there are, datasheet first."""
        for kind in ("datasheet", "device", "measured"):
            figure: Figure | None = getattr(self, kind)
            if figure is not None:
                yield kind, figure

    @property
    def nominal(self) -> float | None:
        """The datasheet's figure, else the device's, else the measured one; None where nothing is known."""
        return next((figure.value for _, figure in self.kinds()), None)

    def differences(self) -> list[str]:
        """A line for each figure that is more than 3 % away from the nominal one."""
        nominal = self.nominal
        if not nominal:
            return []
        return [
            f"{kind} says {figure.value:g}, {100 * (figure.value / nominal - 1):+.1f} % from the nominal {nominal:g}"
            for kind, figure in self.kinds()
            if abs(figure.value / nominal - 1) > DIFFERENCE_WORTH_SAYING
        ]


class GpuSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A GPU model.

    Attributes:
        name: short name used on the command line, e.g. `H200`.
        device_names: names CUDA reports for it.
        compute_capability: e.g. `9.0`.
        bandwidth_gb_s: DRAM bandwidth, 10^9 bytes a second.
        bf16_tflops, fp16_tflops, fp8_tflops: dense tensor-core peaks, 10^12 operations a second, FP32 accumulation for 16 bit.
        l2_mib: L2 cache, 2^20 bytes.
        sms: multiprocessors.
        tensor_clock_mhz: clock the peaks are stated at; boost_clock_mhz: highest clock.
        memory_gb: DRAM, 10^9 bytes.
        l2_bandwidth_gb_s: reads that hit L2.
        in_table: False for a GPU built from values the user or the device gave.
    """

    name: str
    device_names: tuple[str, ...]
    compute_capability: str
    bandwidth_gb_s: Quantity
    sms: Quantity
    bf16_tflops: Quantity
    fp16_tflops: Quantity = Quantity()
    fp8_tflops: Quantity = Quantity()
    l2_mib: Quantity = Quantity()
    tensor_clock_mhz: Quantity = Quantity()
    boost_clock_mhz: Quantity = Quantity()
    memory_gb: Quantity = Quantity()
    l2_bandwidth_gb_s: Quantity = Quantity()
    aliases: tuple[str, ...] = ()
    note: str = ""
    in_table: bool = True

    @property
    def bandwidth(self) -> float:
        """Nominal DRAM bandwidth in bytes a nanosecond, which is GB/s."""
        return self.bandwidth_gb_s.nominal or 0.0

    @property
    def sm_count(self) -> int:
        return int(self.sms.nominal or 0)

    @property
    def l2_bytes(self) -> int:
        """Size of the L2 cache in bytes; 0 where it is not known. The device's own word is exact, a datasheet's is rounded."""
        figure = self.l2_mib.device or self.l2_mib.datasheet
        return int(figure.value * 2**20) if figure else 0

    def peak_flops_per_ns(self, dtype: str) -> float:
        """Dense tensor-core peak for a dtype in operations a nanosecond.

        Raises:
            UsageError: if no peak is known for the dtype.
        """
        by_dtype = {"bfloat16": self.bf16_tflops, "float16": self.fp16_tflops, "fp8": self.fp8_tflops}
        peak = by_dtype[dtype].nominal if dtype in by_dtype else None
        if peak is None and dtype == "float16":
            peak = self.bf16_tflops.nominal
        if peak is None:
            raise UsageError(f"{self.name}: no dense peak is known for {dtype}", "use --dtype bfloat16, or give --bf16-tflops")
        return peak * 1000


def refuse_sparse(gpu: GpuSpec) -> GpuSpec:
    """The GPU itself, once its 16-bit peaks are known to be within what its multiprocessors can do dense.

    Raises:
        UsageError: if a peak is more than multiprocessors x clock x dense operations per clock.
    """
    per_clock = DENSE_FLOPS_PER_CLOCK_PER_SM.get(gpu.compute_capability)
    # A peak is stated at the tensor clock, and a device that reports its own states it at the highest one.
    clock_mhz = max(gpu.tensor_clock_mhz.nominal or 0, gpu.boost_clock_mhz.nominal or 0)
    if per_clock is None or not clock_mhz or not gpu.sm_count:
        return gpu
    most_tflops = gpu.sm_count * clock_mhz * per_clock / 1e6
    for quantity in (gpu.bf16_tflops, gpu.fp16_tflops):
        for kind, figure in quantity.kinds():
            if figure.value > _PEAK_TOLERANCE * most_tflops:
                raise UsageError(
                    f"{gpu.name}: {figure.value:g} TFLOP/s ({kind}) is above the dense peak of {most_tflops:.0f} TFLOP/s",
                    "it looks like the peak with 2:4 sparsity: give the dense one, usually half",
                )
    return gpu
