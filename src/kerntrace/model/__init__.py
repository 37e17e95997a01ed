"""The latency model: a decode step's work, each kernel's time by a stated profile, and the step. Room: accounting | model."""
