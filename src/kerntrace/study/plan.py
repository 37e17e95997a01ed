"""STUDY.toml and the presets: a study as its file asks for it, checked, and resolved to a `Plan`. Room: study."""

from __future__ import annotations

import hashlib
import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from kerntrace.errors import UsageError
from kerntrace.study.records import Hypothesis, Plan
from kerntrace.units import NS_PER_MS
from kerntrace.workload import Mode

_HERE = Path(__file__).parent
_PRESETS = _HERE / "presets"
_HYPOTHESES = _HERE / "hypotheses.toml"
_LARGEST_FILE = 1 << 20
TESTS = (
    "gap-positive", "gap-follows-residual", "benefit-rises-with-bandwidth", "model-level", "same-kernels", "dispatch-floor",
    "kill-switch",
)  # fmt: skip

_Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
_Size = Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]
_Sizes = Annotated[tuple[_Size, ...], msgspec.Meta(min_length=1, max_length=64)]
_Count = Annotated[int, msgspec.Meta(ge=1, le=100_000)]


class _Grid(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    batches: _Sizes
    contexts: _Sizes
    modes: Annotated[tuple[Mode, ...], msgspec.Meta(min_length=1)]


class _Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tokens: Annotated[int, msgspec.Meta(ge=2, le=100_000)] = 33
    repetitions: _Count = 5
    sessions: _Count = 3
    warmup: _Count = 2
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0


class _Statistics(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    resamples: _Count = 5000
    margin_ms: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 0.13


class _Engine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str = "vllm"
    weights: str = ""
    multiprocess: bool = True
    prefix_caching: bool = False
    chunked_prefill: bool | None = None
    async_scheduling: bool | None = None
    capture_sizes: Annotated[tuple[_Size, ...], msgspec.Meta(max_length=512)] | None = None


class _Traced(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    batches: tuple[_Size, ...] = ()
    contexts: tuple[_Size, ...] = ()
    repetitions: _Count = 3
    recorded: _Count = 2
    untraced_beside: bool = False
    nvtx_scopes: bool = False


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: _Name
    model: Annotated[str, msgspec.Meta(min_length=1)]
    grid: _Grid
    run: _Run = _Run()
    statistics: _Statistics = _Statistics()
    engine: _Engine = _Engine()
    traced: _Traced = _Traced()
    hypotheses: tuple[Hypothesis, ...] | None = None


class _Claims(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    hypotheses: tuple[Hypothesis, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A study as asked for.

    Attributes:
        plan: resolved.
        source: bytes of the file it came from.
        model: what the engine is given; a directory's whole path, where the plan holds its last name only.
    """

    plan: Plan
    source: bytes
    model: str


def preset_studies() -> tuple[str, ...]:
    """The presets there are."""
    return tuple(sorted(path.stem for path in _PRESETS.glob("*.toml")))


def read_plan(name: str) -> Asked:
    """The study of a preset's name or a file's path; a file of a preset's name comes first only where it ends in .toml.

    Raises:
        UsageError: if there is no such preset or file, or the file is wrong; the message names the key.
    """
    path = _PRESETS / f"{name}.toml" if name in preset_studies() else Path(name)
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise UsageError(f"{path.name} is too large for a study file", "Write one as docs/study.md shows.")
        source = path.read_bytes()
    except OSError as error:
        known = ", ".join(preset_studies())
        raise UsageError(f"no study {name!r}: {error.strerror}", f"Presets: {known}; or the path of a STUDY.toml.") from None
    return parse_plan(source, path.name)


def parse_plan(source: bytes, where: str) -> Asked:
    """The study in a file's bytes.

    Args:
        where: the file's name, for messages.

    Raises:
        UsageError: naming the key that is wrong, and why.
    """
    file: _File = _read(source, where, _File)
    claims = file.hypotheses if file.hypotheses is not None else default_hypotheses()
    plan = Plan(
        name=file.name,
        model=file.model.rstrip("/").rsplit("/", 1)[-1] if Path(file.model).is_dir() else file.model,
        batches=file.grid.batches,
        contexts=file.grid.contexts,
        modes=tuple(mode.value for mode in file.grid.modes),
        tokens=file.run.tokens,
        repetitions=file.run.repetitions,
        sessions=file.run.sessions,
        warmup=file.run.warmup,
        seed=file.run.seed,
        resamples=file.statistics.resamples,
        margin_ns=round(file.statistics.margin_ms * NS_PER_MS),
        traced_batches=file.traced.batches,
        traced_contexts=file.traced.contexts,
        prefix_caching=file.engine.prefix_caching,
        chunked_prefill=file.engine.chunked_prefill,
        async_scheduling=file.engine.async_scheduling,
        capture_sizes=_capture_sizes(file),
        hypotheses=claims,
        engine=file.engine.name,
        weights=file.engine.weights,
        multiprocess=file.engine.multiprocess,
        traced_repetitions=file.traced.repetitions,
        traced_recorded=file.traced.recorded,
        traced_untraced=file.traced.untraced_beside,
        traced_scopes=file.traced.nvtx_scopes,
    )
    _check(plan, where)
    return Asked(plan, source, file.model)


def default_hypotheses() -> tuple[Hypothesis, ...]:
    """The claims that are tested where a study file brings none."""
    claims: _Claims = _read(_HYPOTHESES.read_bytes(), _HYPOTHESES.name, _Claims)
    return claims.hypotheses


def plan_bytes(plan: Plan) -> bytes:
    """The plan, hypotheses included, as it is hashed: JSON with keys in the order of `Plan`."""
    return msgspec.json.encode(plan)


def plan_digest(plan: Plan) -> str:
    """SHA-256 of `plan_bytes`, hexadecimal."""
    return hashlib.sha256(plan_bytes(plan)).hexdigest()


def _capture_sizes(file: _File) -> tuple[int, ...]:
    """What the file says; where it is silent, every batch of the grid and 1."""
    if file.engine.capture_sizes is None:
        return tuple(sorted({1, *file.grid.batches}))
    return file.engine.capture_sizes


def _check(plan: Plan, where: str) -> None:
    """What types cannot say."""
    for key, values in (
        ("grid.batches", plan.batches), ("grid.contexts", plan.contexts), ("grid.modes", plan.modes),
        ("traced.batches", plan.traced_batches), ("traced.contexts", plan.traced_contexts),
        ("hypotheses.id", tuple(claim.id for claim in plan.hypotheses)),
    ):  # fmt: skip
        if len(set(values)) < len(values):
            raise UsageError(f"{where}: {key} names one value twice", "Name each once.")
    for key, traced, whole in (
        ("batches", plan.traced_batches, plan.batches),
        ("contexts", plan.traced_contexts, plan.contexts),
    ):
        if not set(traced) <= set(whole):
            raise UsageError(f"{where}: traced.{key} holds {min(set(traced) - set(whole))}, which grid.{key} does not", "")
    if bool(plan.traced_batches) != bool(plan.traced_contexts):
        raise UsageError(f"{where}: traced needs batches and contexts", "Give both, or leave both out.")
    if plan.traced_recorded > plan.traced_repetitions:
        raise UsageError(f"{where}: traced.recorded is more than traced.repetitions", "Record at most as many as are run.")
    if plan.traced_batches and plan.tokens < 4:
        raise UsageError(f"{where}: run.tokens is {plan.tokens}, and traced cells need steady steps", "Take 4 or more.")
    if plan.engine not in ("vllm", "torch"):
        raise UsageError(f"{where}: engine.name {plan.engine!r} is not an engine", "Engines: vllm, torch.")
    if plan.weights not in ("", "dummy", "auto"):
        raise UsageError(f"{where}: engine.weights {plan.weights!r} is neither dummy nor auto", "")
    for claim in plan.hypotheses:
        if claim.test not in TESTS:
            raise UsageError(f"{where}: hypotheses: {claim.id} asks for test {claim.test!r}", f"Tests: {', '.join(TESTS)}.")


def _read(source: bytes, where: str, shape: Any) -> Any:
    # tomllib joined the standard library in Python 3.11; tomli is the same parser for 3.10.
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        return msgspec.convert(toml.loads(source.decode("utf-8")), shape)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}", "Compare it with the presets: kerntrace study run --help.") from None
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError are both ValueErrors
        raise UsageError(f"{where}: not a TOML file: {error}", "Check the line that is named.") from None
