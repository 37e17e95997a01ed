"""Simulated studies whose truth is known: each rival's gap over the grid, with noise as seen on a shared host.

A wall is its true value, times a factor of its session, plus skewed noise: gamma, and in one of twenty walls five times as
much. Eager walls vary more than graphed ones, as they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kerntrace.model.scheduler import SForm, scheduler_ms
from kerntrace.study.plan import Asked
from kerntrace.study.records import Host, Hypothesis, KernelShare, LeftOut, Plan, Record, Study, TracedCell, Wall
from kerntrace.study.store import open_store
from kerntrace.units import NS_PER_MS

RESIDUAL, CONSTANT, FLOOR, BOTH, NONE = "residual", "constant", "floor", "floor+residual", "none"
H200, H100, A100 = "NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB"
_EPOCH = 1_790_000_000 * 10**9
_BANDWIDTH = {H200: 4.8, H100: 3.35, A100: 1.555}  # TB/s

HYPOTHESES = (
    Hypothesis("H1", "there is a gap", "gap-positive"),
    Hypothesis("H2", "the gap follows S(N)", "gap-follows-residual"),
    Hypothesis("H3", "the benefit rises with bandwidth", "benefit-rises-with-bandwidth"),
    Hypothesis("H4", "the model's level holds", "model-level"),
    Hypothesis("H5", "the same kernels run in both modes", "same-kernels"),
    Hypothesis("H6", "the gap is a dispatch floor", "dispatch-floor"),
    Hypothesis("KS", "there is no gap", "kill-switch"),
)


@dataclass(frozen=True)
class Truth:
    """What a simulated study is made from.

    Attributes:
        rival: which shape the gap has.
        floor_ms, constant_ms, slope: D, c and the factor on S(N).
        gpus: a host each.
        eager_noise, graph_noise: of a wall, as a share of it; *_drift: of a session.
        dilation: of eager steps while traced.
        same_kernels: graphs run the kernels that eager steps run.
    """

    rival: str = FLOOR
    floor_ms: float = 13.8
    constant_ms: float = 4.4
    slope: float = 1.0
    form: SForm = SForm.LINEAR
    gpus: tuple[str, ...] = (H200,)
    batches: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    contexts: tuple[int, ...] = (512, 2048, 8192)
    modes: tuple[str, ...] = ("eager", "graph", "graph-nocompile")
    sessions: int = 3
    repetitions: int = 5
    tokens: int = 33
    eager_noise: float = 0.02
    graph_noise: float = 0.005
    eager_drift: float = 0.02
    graph_drift: float = 0.002
    traced: tuple[tuple[int, int], ...] = tuple((n, c) for c in (512, 8192) for n in (1, 4, 16, 32))
    dilation: float = 1.25
    same_kernels: bool = False
    seed: int = 1
    resamples: int = 1000
    margin_ns: int = 130_000
    hypotheses: tuple[Hypothesis, ...] = HYPOTHESES


def gpu_ms(gpu: str, batch: int, context: int) -> float:
    """The GPU's time of a graphed step: weights, keys and values, and a fixed cost of each kernel."""
    bandwidth = _BANDWIDTH.get(gpu, 4.8)
    return 1.2 + (15.0 / 0.85 + batch * context * 131072e-9 / 0.9) / bandwidth + 0.012 * batch


def gap_ms(truth: Truth, gpu: str, batch: int, context: int) -> float:
    """Eager step less graphed step."""
    residual = truth.slope * scheduler_ms(batch, truth.form)
    floor = max(0.0, truth.floor_ms - gpu_ms(gpu, batch, context))
    shapes = {RESIDUAL: residual, CONSTANT: truth.constant_ms, FLOOR: floor, BOTH: floor + residual, NONE: 0.0}
    return shapes[truth.rival]


def step_ms(truth: Truth, gpu: str, mode: str, batch: int, context: int) -> float:
    """The true step of a mode; without torch.compile a graphed step is 2 % longer."""
    graph = gpu_ms(gpu, batch, context)
    if mode == "eager":
        return graph + gap_ms(truth, gpu, batch, context)
    return graph * (1.02 if mode == "graph-nocompile" and truth.rival != NONE else 1.0)


def make_plan(truth: Truth) -> Plan:
    """The plan of such a study."""
    return Plan(
        name="simulated",
        model="llama-3.1-8b",
        batches=truth.batches,
        contexts=truth.contexts,
        modes=truth.modes,
        tokens=truth.tokens,
        repetitions=truth.repetitions,
        sessions=truth.sessions,
        warmup=1,
        seed=truth.seed,
        resamples=truth.resamples,
        margin_ns=truth.margin_ns,
        traced_batches=tuple(sorted({n for n, _ in truth.traced})),
        traced_contexts=tuple(sorted({c for _, c in truth.traced})),
        prefix_caching=False,
        chunked_prefill=None,
        async_scheduling=None,
        capture_sizes=(),
        hypotheses=truth.hypotheses,
    )


def make_study(truth: Truth | None = None, *, seed: int = 0) -> Study:
    """A whole study made from a truth."""
    truth = truth or Truth()
    rng = np.random.default_rng(seed)
    records: list[Record] = []
    for number, gpu in enumerate(truth.gpus):
        key = f"host{number}"
        versions = {"vllm": "0.24.0", "torch": "2.11.0", "driver": "580"}
        records.append(Host(key, gpu, "a CPU", versions, {"governor": "performance"}))
        records += _walls(truth, key, gpu, rng)
        records += [_traced(truth, key, gpu, mode, n, c, rng) for n, c in truth.traced for mode in truth.modes]
    return Study(make_plan(truth), "0" * 64, tuple(records))


def skewed(rng: np.random.Generator, shape: tuple[int, ...], share: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Noise around a median of zero, in shares of a wall: gamma, one value in twenty with five times as much on top."""
    scale = share / 2**0.5
    noise = rng.gamma(2.0, scale, shape) - 1.678 * scale
    return noise + (rng.random(shape) < 0.05) * rng.gamma(2.0, 5 * scale, shape)


def _walls(truth: Truth, key: str, gpu: str, rng: np.random.Generator) -> Iterator[Wall]:
    for mode in truth.modes:
        noise, drift = (
            (truth.eager_noise, truth.eager_drift) if mode in ("eager", "compile") else (truth.graph_noise, truth.graph_drift)
        )
        sessions = 1 + rng.normal(0, drift, truth.sessions)
        for context in truth.contexts:
            for batch in truth.batches:
                step = step_ms(truth, gpu, mode, batch, context)
                first = 12 + 0.004 * batch * context + step
                lengths = np.array([first, first + (truth.tokens - 1) * step])
                shape = (truth.sessions, truth.repetitions, 2)
                walls = lengths * sessions[:, None, None] + lengths[1] * skewed(rng, shape, noise)
                yield from _records(truth, key, mode, batch, context, walls * NS_PER_MS)


def _records(truth: Truth, key: str, mode: str, batch: int, context: int, walls: object) -> Iterator[Wall]:
    for (session, repetition, which), ns in np.ndenumerate(np.asarray(walls)):
        tokens = truth.tokens if which else 1
        started = _EPOCH + session * 10**12 + repetition * 10**10
        yield Wall(key, mode, batch, context, tokens, session, repetition, int(ns), started, 1980, 2619, 55)


def _traced(truth: Truth, key: str, gpu: str, mode: str, batch: int, context: int, rng: np.random.Generator) -> TracedCell:
    """A traced cell: what a gap's shape says of where the GPU waits is what the trace shows."""
    steps, eager = 30, mode == "eager"
    graph, whole = gpu_ms(gpu, batch, context), step_ms(truth, gpu, mode, batch, context)
    busy = (graph * 0.97 * rng.normal(1, 0.002, steps) * NS_PER_MS).astype(np.int64)
    exposed = np.maximum(0.02, (whole - graph) * rng.normal(1, 0.01, steps)) * NS_PER_MS
    extra = (truth.dilation - 1) * whole * NS_PER_MS if eager else 0.0
    residual = truth.slope * scheduler_ms(batch, truth.form) * NS_PER_MS
    lump = {RESIDUAL: exposed, CONSTANT: exposed, FLOOR: 0.02 * exposed, BOTH: np.minimum(exposed, residual)}
    between = (lump.get(truth.rival, exposed) if eager else 0.5 * exposed).astype(np.int64)
    within = (exposed + extra).astype(np.int64) - between
    gap = np.full(steps, int(0.03 * graph * NS_PER_MS), np.int64)
    zero = np.zeros(steps, np.int64)
    terms = {
        "busy": busy,
        "device_gap": gap,
        "host_wait": within + between,
        "launch_call": zero,
        "launch_latency": zero,
        "profiler": zero,
        "unattributed": zero,
    }
    terms["wall"] = sum(terms.values(), zero)
    inside = {"host_wait": within, "device_gap": gap}
    call = float(np.median(terms["wall"])) * (truth.tokens - 1)
    first = (12 + 0.004 * batch * context) * NS_PER_MS
    pairs = tuple((int(first + call * f), int(first * f)) for f in rng.normal(1, 0.002, 3))
    work = _work(graphed=not eager, compiled=mode in ("graph", "compile") and not truth.same_kernels, busy=float(busy.mean()))
    return TracedCell(
        key,
        mode,
        batch,
        context,
        truth.tokens,
        0,
        pairs,
        (),
        {f"decode {batch}": truth.tokens - 1, f"prefill {batch}": 1},
        tuple(int(sum(use.count for use in work)) for _ in range(steps)),
        {name: tuple(int(v) for v in values) for name, values in terms.items()},
        {name: tuple(int(v) for v in values) for name, values in inside.items()},
        {"host_wait": tuple(int(v) for v in between)},
        {
            "execute step": float(within.mean()),
            "schedule: allocate_slots": float(0.2 * between.mean()),
            "llm_engine step: get_output": float(0.8 * between.mean()),
        },
        work,
    )


def _work(*, graphed: bool, compiled: bool, busy: float) -> tuple[KernelShare, ...]:
    del graphed  # capture itself changes no kernel
    shares = [
        KernelShare("nvjet_tst_64x8", "gemm nvjet", 129, 0.8 * busy),
        KernelShare("flash_fwd_sm90", "attention", 32, 0.1 * busy),
        KernelShare("reshape_and_cache_flash_kernel", "reshape_and_cache_flash", 32, 0.02 * busy),
    ]
    if compiled:
        shares += [KernelShare("triton_red_fused_0", "triton red", 65, 0.05 * busy)]
    else:
        shares += [
            KernelShare("fused_add_rms_norm_kernel", "fused_add_rms_norm", 64, 0.04 * busy),
            KernelShare("act_and_mul_kernel", "act_and_mul", 32, 0.04 * busy),
        ]
    return tuple(shares)


def write_study(study: Study, directory: Path) -> Path:
    """Put the study into a store, as a run would leave it."""
    with open_store(directory, Asked(study.plan, b"", study.plan.model), replayed=study.replayed) as store:
        store.append(study.records)
    return directory


def without(study: Study, *, keep: object = None, modes: Sequence[str] = (), traces: bool = True) -> Study:
    """The study with only some records: those for which `keep` (a function) is true, of `modes`, and traces or not."""
    chosen = []
    for record in study.records:
        mode = getattr(record, "mode", None)
        if modes and mode is not None and mode not in modes:
            continue
        if not traces and isinstance(record, TracedCell):
            continue
        if callable(keep) and not isinstance(record, Host) and not keep(record):
            continue
        chosen.append(record)
    return replace(study, records=tuple(chosen))


def left_out(study: Study, host: str, batch: int, context: int, reason: str) -> Study:
    """The study with a cell that was not run, and said so."""
    rest = tuple(
        record for record in study.records if (getattr(record, "batch", 0), getattr(record, "context", 0)) != (batch, context)
    )
    return replace(study, records=(*rest, LeftOut(host, None, batch, context, reason)))
