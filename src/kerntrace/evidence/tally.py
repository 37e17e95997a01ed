"""Recorded kernels that belong together, with what they moved, computed and took. Room: evidence."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from kerntrace.evidence.typical_step import Member
from kerntrace.model.kernels import Kernel
from kerntrace.model.operations import Kind
from kerntrace.model.roofline import Timed


@dataclass(frozen=True, slots=True)
class Pair:
    """A recorded member and the timed operation that it carries."""

    member: Member
    timed: Timed

    @property
    def kernel(self) -> Kernel:
        return self.timed.kernel

    @property
    def is_compared(self) -> bool:
        """Whether its times are of a kernel on both sides, and so say something of the kernel model."""
        return (
            self.member.is_kernel and self.kernel.kind is not Kind.COPY and min(self.member.measured_ns, self.timed.busy_ns) > 0
        )


@dataclass(frozen=True, slots=True)
class Tally:
    """Pairs taken together. Times and sizes are sums over the pairs of one step."""

    pairs: tuple[Pair, ...]

    @property
    def kernel(self) -> Kernel:
        """The first one's."""
        return self.pairs[0].kernel

    @property
    def calls(self) -> int:
        return len(self.pairs)

    @property
    def flops(self) -> int:
        return sum(pair.kernel.flops for pair in self.pairs)

    @property
    def bytes(self) -> int:
        return sum(pair.kernel.bytes for pair in self.pairs)

    @property
    def ideal_ns(self) -> float:
        return sum(pair.timed.ideal_ns for pair in self.pairs)

    @property
    def predicted_ns(self) -> float:
        return sum(pair.timed.busy_ns for pair in self.pairs)

    @property
    def measured_ns(self) -> float:
        """Sum of medians over steps."""
        return sum(pair.member.measured_ns for pair in self.pairs)

    @property
    def bound(self) -> str:
        """What binds most of the predicted time."""
        times: dict[str, float] = {}
        for pair in self.pairs:
            times[pair.timed.bound.value] = times.get(pair.timed.bound.value, 0.0) + pair.timed.busy_ns
        return max(times, key=times.__getitem__)

    @property
    def intensity(self) -> float | None:
        return self.flops / self.bytes if self.bytes else None

    @property
    def gb_s(self) -> float | None:
        """Bytes over measured time: bytes a nanosecond, which is GB/s."""
        return self.bytes / self.measured_ns if self.measured_ns and not self._is_copy else None

    @property
    def tflop_s(self) -> float | None:
        return self.flops / self.measured_ns / 1000 if self.measured_ns and not self._is_copy else None

    @property
    def share_of_roof(self) -> float | None:
        """Ideal over measured time: how much of the binding roof, DRAM bandwidth or dense peak, was reached."""
        return self.ideal_ns / self.measured_ns if self.measured_ns and not self._is_copy else None

    @property
    def error(self) -> float | None:
        """(predicted - measured) / measured of the sums."""
        return (self.predicted_ns - self.measured_ns) / self.measured_ns if self.measured_ns else None

    @property
    def weighted_mape(self) -> float | None:
        """Sum of |predicted - measured| over sum of measured, kernel by kernel."""
        apart = sum(abs(pair.timed.busy_ns - pair.member.measured_ns) for pair in self.pairs)
        return apart / self.measured_ns if self.measured_ns else None

    @property
    def names(self) -> tuple[str, ...]:
        """Recorded names, in order of first appearance."""
        return tuple(dict.fromkeys(pair.member.name for pair in self.pairs))

    @property
    def _is_copy(self) -> bool:
        return all(pair.kernel.kind is Kind.COPY for pair in self.pairs)


def tally_by(pairs: Iterable[Pair], key: Callable[[Pair], Hashable]) -> tuple[Tally, ...]:
    """Pairs of equal keys together, the longest measured first."""
    groups: dict[Hashable, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(key(pair), []).append(pair)
    return tuple(sorted((Tally(tuple(group)) for group in groups.values()), key=lambda one: -one.measured_ns))
