"""`kerntrace profile`. Room: cli."""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerntrace.cli.options import AsJson, print_json, read_batches
from kerntrace.errors import DONE, REFUSED, KerntraceError, UsageError
from kerntrace.workload import Mode

if TYPE_CHECKING:
    from kerntrace.capture.machine import Machine
    from kerntrace.capture.profile import Plan, Profile
    from kerntrace.engines.protocol import EngineSpec
    from kerntrace.trace.model import Trace

COLLECTORS = ("native", "cupti-python", "nsys", "kineto", "kineto-cpu")

ModeOption = Annotated[Mode, typer.Option("--mode", help="How the engine dispatches kernels.", show_default=False)]
EngineOption = Annotated[str, typer.Option("--engine", help="vllm or torch.")]
CollectorOption = Annotated[str, typer.Option("--collector", help=", ".join(COLLECTORS) + ".")]
ModelOption = Annotated[str, typer.Option("--model", metavar="NAME|PATH", help="Preset, model directory, or hub OWNER/NAME.")]
WeightsOption = Annotated[str | None, typer.Option("--weights", help="dummy (default for presets) or auto.")]
BatchOption = Annotated[str, typer.Option("--batch", metavar="N[,N...]", help="Sequences decoded together.")]
ContextOption = Annotated[int, typer.Option("--context", min=1, help="Tokens of a prompt.")]
TokensOption = Annotated[int, typer.Option("--tokens", min=4, help="Tokens generated for each sequence.")]
MultiprocessOption = Annotated[
    bool, typer.Option("--multiprocess/--in-process", help="vLLM's EngineCore in a process of its own, as it is by default.")
]
RepetitionsOption = Annotated[int, typer.Option("--repetitions", min=1, help="Timed repetitions of each cell.")]
RecordedOption = Annotated[int, typer.Option("--recorded", min=1, help="How many of them the trace keeps.")]
WarmupOption = Annotated[int, typer.Option("--warmup", min=1, help="Calls of each cell before anything is timed.")]
KindsOption = Annotated[str | None, typer.Option("--kinds", help="Kinds for the native collector, as for `kerntrace record`.")]
DilationOption = Annotated[bool, typer.Option("--dilation/--no-dilation", help="Also time the cells untraced.")]
ScopesOption = Annotated[bool, typer.Option("--nvtx-scopes", help="Ranges of vLLM's parts too; they cost host time.")]
OutputOption = Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT.ktrace", help="Bundle to write.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the bundle if it exists.")]


def profile(
    mode: ModeOption,
    engine: EngineOption = "vllm",
    collector: CollectorOption = "native",
    model: ModelOption = "llama-3.1-8b",
    weights: WeightsOption = None,
    batch: BatchOption = "1",
    context: ContextOption = 512,
    tokens: TokensOption = 33,
    multiprocess: MultiprocessOption = True,
    repetitions: RepetitionsOption = 5,
    recorded: RecordedOption = 2,
    warmup: WarmupOption = 2,
    kinds: KindsOption = None,
    dilation: DilationOption = True,
    nvtx_scopes: ScopesOption = False,
    output: OutputOption = None,
    force: ForceOption = False,
    as_json: AsJson = False,
) -> int:
    """Run a model's decode steps under a collector, and account for every one of them."""
    from kerntrace.capture.machine import look
    from kerntrace.cli.preflight import choose_weights
    from kerntrace.engines.protocol import EngineSpec
    from kerntrace.trace.bundle import bundle_path, refuse_to_overwrite

    if engine not in ("vllm", "torch"):
        raise UsageError(f"--engine {engine!r} is not an engine", "Engines: vllm, torch.")
    if collector not in COLLECTORS:
        raise UsageError(f"--collector {collector!r} is not a collector", f"Collectors: {', '.join(COLLECTORS)}.")
    if weights not in (None, "dummy", "auto"):
        raise UsageError(f"--weights {weights!r} is neither dummy nor auto", "")
    batches = tuple(read_batches([batch]))
    spec = EngineSpec(
        engine, model, mode.value, batches, context, tokens, choose_weights(model, weights), "bfloat16",
        multiprocess and engine == "vllm", nvtx_scopes,
    )  # fmt: skip
    target = bundle_path(output or Path(f"{model.rstrip('/').rsplit('/', 1)[-1]}-{mode.value}.ktrace"))
    refuse_to_overwrite(target, force)
    plan = make_plan(spec, look(), collector, kinds=kinds, repetitions=repetitions, recorded=recorded, warmup=warmup)
    report = target.with_suffix(".nsys-rep") if collector == "nsys" else None
    if report is not None and report.exists() and not force:
        raise UsageError(f"{report} exists already", "Choose another name with -o, or add --force to replace it.")
    trace, made = run_plan(plan if dilation else without_dilation(plan), report)
    return write_and_show(trace, made, target, force, as_json)


def make_plan(
    spec: EngineSpec,
    machine: Machine,
    collector: str,
    *,
    kinds: str | None = None,
    repetitions: int = 5,
    recorded: int = 2,
    warmup: int = 2,
    optional_nsys: bool = False,
) -> Plan:
    """The plan for this machine; everything that can be known to fail is said here.

    Raises:
        KerntraceError: if something is missing that the run needs.
        UsageError: if the model cannot hold or fit what is asked for.
    """
    from kerntrace.capture.injection import read_kinds
    from kerntrace.capture.native import library_path
    from kerntrace.capture.nsys import find_nsys, required_nsys
    from kerntrace.capture.profile import Plan, Untraced
    from kerntrace.cli.preflight import memory_need, require_installed, require_length, require_memory, shape_of

    require_installed(spec.engine)
    nsys = find_nsys() if optional_nsys else required_nsys() if collector == "nsys" else None
    if collector == "native":
        library_path()
    shape = shape_of(spec.model)
    require_length(shape, spec.context, spec.tokens)
    untraced = Untraced.AROUND
    if shape is not None:
        need = memory_need(shape, spec)
        require_memory(need, machine, shape.name)
        gpu = machine.gpus[0]
        spec = replace(spec, kv_cache_bytes=need.kv_cache, memory_share=min(0.9, need.total / gpu.memory_bytes))
        if 2 * need.total < gpu.free_bytes:
            untraced = Untraced.BESIDE
    settings = {} if kinds is None else {"kinds": read_kinds(kinds)}
    return Plan(spec, collector, settings, repetitions, min(recorded, repetitions), warmup, untraced, nsys)


def without_dilation(plan: Plan) -> Plan:
    from kerntrace.capture.profile import Untraced

    return replace(plan, untraced=Untraced.NONE)


def run_plan(plan: Plan, report: Path | None = None) -> tuple[Trace, Profile]:
    """Run a plan and read what its collector left. If that cannot be read, it is kept, and named.

    Args:
        report: where nsys's own report is kept, for those who look at it in Nsight Systems; None keeps none.
    """
    from kerntrace.capture.profile import run_profile
    from kerntrace.engines.presets import model_directory

    scratch = Path(tempfile.mkdtemp(prefix="kerntrace-"))
    kept = False
    try:
        spec = replace(plan.engine, model=model_directory(plan.engine.model, scratch / "model"))
        made = run_profile(replace(plan, engine=spec), scratch, say)
        try:
            trace = trace_of(replace(plan, engine=spec), made)
            if report is not None:
                _keep(made.collected, report)
            return trace, made
        except KerntraceError as error:
            kept = True
            hint = f"{error.hint} What was recorded is kept in {made.collected}.".strip()
            raise KerntraceError(error.what, hint) from None
    finally:
        if not kept:
            shutil.rmtree(scratch, ignore_errors=True)


def _keep(collected: Path, report: Path) -> None:
    try:
        report.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(collected, report)
    except OSError as error:
        raise KerntraceError(f"{report} cannot be written: {error.strerror or error}", "") from None
    say(f"nsys's report is kept in {report}; it holds this machine's environment, look before passing it on")


def trace_of(plan: Plan, made: Profile) -> Trace:
    """What a collector left, with the machine, the workload and the untraced walls in it."""
    from kerntrace.capture.dressing import dressed
    from kerntrace.capture.machine import look

    return dressed(read_collected(plan, made), plan.engine, made.cells, made.facts, look())


def read_collected(plan: Plan, made: Profile) -> Trace:
    """The trace in what a collector left, wholly in memory."""
    from kerntrace.ingest.open_any import OpenOptions, open_any

    if plan.collector == "native":
        from kerntrace.trace.shards import read_shards

        return read_shards(made.collected)
    if plan.collector == "cupti-python":
        from kerntrace.capture.cupti_python import read_records

        return read_records(made.collected)
    if plan.collector == "nsys":
        from kerntrace.capture.nsys import finished_report

        assert plan.nsys is not None
        return open_any(finished_report(made.collected, plan.nsys))
    return open_any(made.collected, OpenOptions(json_limit_bytes=1 << 33))


def write_and_show(trace: Trace, made: Profile, target: Path, force: bool, as_json: bool) -> int:
    """Write the bundle, then say what `kerntrace steps` says of it, and the dilation."""
    from kerntrace.accounting.analysis import Question, analyse
    from kerntrace.accounting.summary import cells_of
    from kerntrace.cli.options import working
    from kerntrace.cli.profile_report import profile_document, show_times
    from kerntrace.cli.refusal import no_steps, refused
    from kerntrace.report.text import show_steps
    from kerntrace.trace.bundle import write_bundle

    with working(f"writing {target.name}"):
        write_bundle(trace, target, force=force)
    say(f"wrote {target}")
    analysis = analyse(trace, Question(None, None, None))
    no_steps(analysis, target.name)
    cells = cells_of(analysis)
    if as_json:
        print_json(profile_document(analysis, cells, made.cells, made.facts))
    if not analysis.ok:
        refused(analysis, target.name)
        return REFUSED
    if not as_json:
        show_steps(analysis, cells, list(range(len(analysis.steps or ()))), target.name)
        show_times(made.cells, made.facts)
    return DONE


def say(what: str) -> None:
    print(f"kerntrace: {what}", file=sys.stderr, flush=True)
