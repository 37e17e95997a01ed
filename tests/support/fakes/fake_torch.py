"""As much of torch as an engine's facts need."""

from types import SimpleNamespace

__version__ = "2.11.0"
version = SimpleNamespace(cuda="13.0")
cuda = SimpleNamespace(is_available=lambda: False)
