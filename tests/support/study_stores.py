"""Recorded studies made up for tests: two hosts, a cell left out, walls whose values tell where they belong."""

from __future__ import annotations

from pathlib import Path

from kerntrace.study.plan import Asked, parse_plan
from kerntrace.study.records import Host, KernelShare, LeftOut, Plan, Record, TracedCell, Wall
from kerntrace.study.schedule import SessionWork, remaining, token_order
from kerntrace.study.store import open_store

SOURCE = b"""
name = "made-up"
model = "llama-3.1-8b"
[grid]
batches = [1, 4]
contexts = [16, 64]
modes = ["eager", "graph", "graph-nocompile"]
[run]
tokens = 9
repetitions = 3
sessions = 3
seed = 5
[traced]
batches = [1, 4]
contexts = [16]
"""
_TERMS = ("wall", "busy", "device_gap", "host_wait", "launch_call", "launch_latency", "profiler", "unattributed")


def asked() -> Asked:
    """The study that the stores hold."""
    return parse_plan(SOURCE, "made-up.toml")


def hosts(count: int) -> list[Host]:
    names = ["NVIDIA H200", "NVIDIA A100-SXM4-40GB"][:count]
    return [Host(f"host-{i}", name, "a CPU", {"vllm": "0.24.0"}, {"governor": "performance"}) for i, name in enumerate(names)]


def recorded(plan: Plan, host: Host) -> list[Record]:
    """All that a whole run on a host writes, in its order."""
    out = LeftOut(host.key, None, 4, 64, "does not fit")
    records: list[Record] = [host, out]
    clock = 1_700_000_000_000_000_000
    for work in remaining(plan, host.key, records):
        if not isinstance(work, SessionWork):
            records += [traced(plan, host, work.mode, shape) for shape in work.cells]
            continue
        for cell in work.cells:
            for repetition in cell.repetitions:
                for tokens in token_order(plan, repetition):
                    step = (14_000_000 if work.mode == "eager" else 5_000_000) + 1_000 * repetition + 10 * cell.batch
                    wall = 3_000_000 + (tokens - 1) * step + work.session
                    records.append(
                        Wall(
                            host.key, work.mode, cell.batch, cell.context, tokens, work.session, repetition, wall, clock,
                            1980, 3201, 40, "",
                        )
                    )  # fmt: skip
                    clock += wall + 1_000
    return records


def traced(plan: Plan, host: Host, mode: str, shape: tuple[int, int]) -> TracedCell:
    """A traced cell of two steady steps."""
    batch, context = shape
    terms: dict[str, tuple[int, ...]] = dict.fromkeys(_TERMS, (0, 0))
    terms |= {"wall": (700, 710), "busy": (500, 505), "host_wait": (200, 205)}
    gaps: dict[str, tuple[int, ...]] = dict.fromkeys(_TERMS[2:], (0, 0))
    within = gaps | {"host_wait": (150, 155)}
    between = gaps | {"host_wait": (50, 50)}
    work = (KernelShare("kernel", "other", 5.0, 500.0),)
    kinds = {f"prefill {batch}": 1, f"decode {batch}": 8}
    return TracedCell(
        host.key, mode, batch, context, plan.tokens, 0, ((9_000, 1_000),) * 3, (), kinds, (5, 5), terms, within, between,
        {"(no range)": 202.5}, work,
    )  # fmt: skip


def write_recorded(directory: Path, hosts_wanted: int = 1) -> tuple[Record, ...]:
    """A finished store; its records."""
    study = asked()
    with open_store(directory, study, replayed=False) as store:
        for host in hosts(hosts_wanted):
            store.append(recorded(study.plan, host))
        return store.records
