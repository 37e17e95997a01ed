"""Collectors: what turns a running program into a trace. Room: capture."""
