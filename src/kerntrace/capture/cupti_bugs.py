"""Known bugs of CUPTI releases that touch what kerntrace records. Room: capture.

Versions are CUPTI_API_VERSION: 130001 is CUDA 13.0 Update 1. Each was found in NVIDIA's release notes or a public report.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug.

    Attributes:
        first, fixed: versions from which it is known and in which it is fixed; None where not known.
        about: what goes wrong, and what it means for a recording by kerntrace.
    """

    first: int | None
    fixed: int | None
    about: str

    def affects(self, version: int) -> bool:
        return (self.first is None or version >= self.first) and (self.fixed is None or version < self.fixed)


BUGS = (
    Bug(
        None,
        130101,
        "graph launches and their kernels get wrong correlation ids in a second profiling session of a process; kerntrace"
        " keeps to one session, so record in a process in which no other profiler ran",
    ),
    Bug(
        130000,
        None,
        "with CUDA graphs, device buffers are not reused: about 4 MB of GPU memory a 100,000 kernels, and after some 25 million"
        " kernels records without times; keep windows short (--capture-range)",
    ),
    Bug(None, 130001, "records of cudaDeviceSynchronize are missing, and switching kernel records off can deadlock"),
    Bug(None, 130200, "unloading libcupti from a process crashes it; kerntrace never unloads it"),
    Bug(None, 130401, "the worker thread's CPU time grows in long recordings, and a reloaded module's kernels keep old names"),
)


def bugs_of(version: int) -> tuple[Bug, ...]:
    """The known bugs of a version."""
    return tuple(bug for bug in BUGS if bug.affects(version))


def version_name(version: int) -> str:
    """`13.0.1` for 130001; versions before 12.8 counted differently and stay as they are."""
    if version < 10_000:
        return str(version)
    return f"{version // 10000}.{version // 100 % 100}" + (f".{version % 100}" if version % 100 else "")
