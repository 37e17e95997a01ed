"""What a study measures, one frozen value a record of its store. Room: study.

A study's store holds these in the order in which they were measured. Everything that is said of a study is derived from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

IN_TURN = " | "  # between the values that one fact of a host had in turn


@dataclass(frozen=True, slots=True)
class Host:
    """A machine that ran part of a study.

    Attributes:
        key: what other records name it by; derived from the facts below, no host or user name in it.
        gpu: device name as CUDA gives it.
        cpu: model name; None where not known.
        versions: driver, cuda, torch, vllm, python, kerntrace and what else matters, by name.
        settings: clocks, governor and what else was read once, by name.
    """

    key: str
    gpu: str
    cpu: str | None
    versions: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    def changed(self) -> dict[str, list[str]]:
        """Facts that were not the same throughout the study, with the values they had in turn."""
        facts = {**self.versions, **self.settings}
        return {name: said.split(IN_TURN) for name, said in facts.items() if IN_TURN in said}


@dataclass(frozen=True, slots=True)
class Wall:
    """One untraced repetition: one call that generates exactly `tokens` tokens for every sequence.

    Attributes:
        host: key of a `Host`.
        mode: a `Mode`'s value.
        context: tokens of prompt a sequence has.
        tokens: the study's g, or 1.
        session: of this mode on this host; every session is a process of its own.
        repetition: within the session's cell; the walls with g and with 1 token of one repetition ran next to each other.
        started_ns: CLOCK_REALTIME at the call's beginning.
        sm_mhz, memory_mhz, temperature_c: read right after the call; None where they cannot be read.
        throttled: why the clocks were held down, as NVML says; empty for no reason.
    """

    host: str
    mode: str
    batch: int
    context: int
    tokens: int
    session: int
    repetition: int
    wall_ns: int
    started_ns: int
    sm_mhz: int | None = None
    memory_mhz: int | None = None
    temperature_c: int | None = None
    throttled: str = ""


@dataclass(frozen=True, slots=True)
class KernelShare:
    """One kernel name's part of a traced cell's typical step.

    Attributes:
        family: as `steps.families` tells.
        count: kernels a step, median over the cell's steady steps.
        time_ns: ns a step, median over the cell's steady steps.
    """

    name: str
    family: str
    count: float
    time_ns: float


@dataclass(frozen=True, slots=True)
class TracedCell:
    """A short traced run of one cell, in a process of its own.

    Attributes:
        host, mode, batch, context, tokens, session: as of a `Wall`.
        traced: walls of traced calls, ns: (with g tokens, with 1 token) a repetition.
        untraced: walls of the same calls in an untraced process timed beside it; empty where the study's own walls serve.
        step_kinds: recorded steps by kind and batch, e.g. {"decode 16": 31, "prefill 16": 1}, over the recorded window.
        kernels: kernels a step, one value a steady step.
        terms: the ledger (wall, busy, device_gap, host_wait, launch_call, launch_latency, profiler, unattributed), ns, one
            value a steady step. They sum to wall, step by step.
        within, between: the six gap terms inside the step and in its last gap, as `terms`.
        phases: exposed host time (host_wait + launch_call) by phase, mean ns a steady step.
        work: kernels of the typical step.
        rules: integrity rules that failed, by name, with their detail; then the lists above are empty.
    """

    host: str
    mode: str
    batch: int
    context: int
    tokens: int
    session: int
    traced: tuple[tuple[int, int], ...]
    untraced: tuple[tuple[int, int], ...]
    step_kinds: dict[str, int]
    kernels: tuple[int, ...]
    terms: dict[str, tuple[int, ...]]
    within: dict[str, tuple[int, ...]]
    between: dict[str, tuple[int, ...]]
    phases: dict[str, float]
    work: tuple[KernelShare, ...]
    rules: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A cell that was not run, and why: said before the run where it can be known.

    Attributes:
        mode: None for all modes.
    """

    host: str
    mode: str | None
    batch: int
    context: int
    reason: str


Record = Host | Wall | TracedCell | LeftOut


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A claim as it was written down before the first measurement.

    Attributes:
        id: H1, H2, ...
        claim: in words.
        test: which test decides it; evidence knows what each name means.
        settings: of the test, e.g. a margin.
    """

    id: str
    claim: str
    test: str
    settings: dict[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """A study as asked for.

    Attributes:
        name: of the study.
        model: preset, hub name or a directory's base name.
        batches, contexts, modes: the grid.
        tokens: g, tokens generated in the longer call; at least 2.
        repetitions: walls a session has of each cell, with g and with 1 token.
        sessions: fresh processes a mode.
        warmup: calls a cell before any is timed.
        seed: of every random choice, in the run and in the report.
        resamples: of the bootstrap.
        margin_ns: the kill switch's: gaps within it count as none.
        traced_batches, traced_contexts: cells that are also traced.
        prefix_caching, chunked_prefill, async_scheduling: of the engine; None leaves its default, which is recorded.
        capture_sizes: batch sizes that graphs are captured for; empty for the engine's own choice.
        hypotheses: written down before the first measurement.
        engine: vllm or torch.
        weights: dummy or auto; empty for dummy where the model is a preset, else auto.
        multiprocess: the engine launches kernels in a process of its own, as vLLM does by default.
        traced_repetitions: traced pairs of calls a cell, of which the first `traced_recorded` are in the trace.
        traced_untraced: an untraced process is timed beside the traced one; else the study's own walls serve.
        traced_scopes: the engine's own NVTX ranges are on while it is traced; they tell phases, and cost host time.
    """

    name: str
    model: str
    batches: tuple[int, ...]
    contexts: tuple[int, ...]
    modes: tuple[str, ...]
    tokens: int
    repetitions: int
    sessions: int
    warmup: int
    seed: int
    resamples: int
    margin_ns: int
    traced_batches: tuple[int, ...]
    traced_contexts: tuple[int, ...]
    prefix_caching: bool
    chunked_prefill: bool | None
    async_scheduling: bool | None
    capture_sizes: tuple[int, ...]
    hypotheses: tuple[Hypothesis, ...]
    engine: str = "vllm"
    weights: str = ""
    multiprocess: bool = True
    traced_repetitions: int = 3
    traced_recorded: int = 2
    traced_untraced: bool = False
    traced_scopes: bool = False


@dataclass(frozen=True, slots=True)
class Study:
    """A store as read.

    Attributes:
        plan: as asked for.
        plan_sha256: of the plan's bytes, hypotheses included, as written before the first measurement.
        records: in the order in which they were measured.
        replayed: whether a replay made it; such a study says nothing new.
    """

    plan: Plan
    plan_sha256: str
    records: tuple[Record, ...]
    replayed: bool = False
