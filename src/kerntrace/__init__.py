"""Kernel traces of LLM decode steps: where each step's time went, to the nanosecond."""

__version__ = "0.1.0"
