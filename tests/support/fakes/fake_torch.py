"""As much of torch as an engine's facts need."""

from types import SimpleNamespace

__version__ = "2.11.0"
version = SimpleNamespace(cuda="13.0")
_marks = SimpleNamespace(cudaProfilerStart=lambda: 0, cudaProfilerStop=lambda: 0)
_ranges = SimpleNamespace(range_push=lambda name: 0, range_pop=lambda: 0)
cuda = SimpleNamespace(is_available=lambda: False, cudart=lambda: _marks, nvtx=_ranges)
