"""`kerntrace study run`. Room: cli."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerntrace.cli.say import say
from kerntrace.errors import DONE, INTERRUPTED, KerntraceError, UsageError

if TYPE_CHECKING:
    from kerntrace.study.capacity import Capacity
    from kerntrace.study.plan import Asked
    from kerntrace.study.records import Plan, Study
    from kerntrace.study.runner import Outcome
    from kerntrace.study.site import Site
    from kerntrace.study.store import Store

Named = Annotated[
    str | None, typer.Argument(metavar="STUDY", help="Preset (h200-paper, quick) or STUDY.toml.", show_default=False)
]
Output = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The study's store; one that is there is resumed.")]
Replay = Annotated[
    Path | None, typer.Option("--replay", metavar="DIR", help="Take every measurement from a recorded study; needs no GPU.")
]
Seconds = Annotated[float | None, typer.Option("--seconds", min=1, help="Stop in good order when they are used up.")]
Keep = Annotated[bool, typer.Option("--keep-traces", help="Keep the traced cells' bundles in DIR/traces.")]
OnRay = Annotated[bool, typer.Option("--ray", help="Run each session as a task of a Ray cluster (kerntrace[ray]).")]
RayAddress = Annotated[str | None, typer.Option("--ray-address", help="Of the cluster; `auto` if not given.")]


def run(
    study: Named = None,
    output: Output = Path("study"),
    replay: Replay = None,
    seconds: Seconds = None,
    keep_traces: Keep = False,
    ray: OnRay = False,
    ray_address: RayAddress = None,
) -> int:
    """Measure a study's grid in every mode, then trace chosen cells; run it again to resume."""
    from kerntrace.study.plan import read_plan
    from kerntrace.study.store import open_store, read_study

    if ray_address is not None and not ray:
        raise UsageError("--ray-address is for --ray", "Give both.")
    recorded = None if replay is None else read_study(replay)
    asked = None if study is None else read_plan(study)
    if asked is None and replay is not None and not output.exists():
        asked = _of_recorded(replay)
    if ray:
        from kerntrace.study.cluster import require_ray

        require_ray()
    elif recorded is None:
        _require_gpu()
    with open_store(output, asked, replayed=recorded is not None) as store:
        _tell(store, recorded)
        try:
            if ray:
                outcome = _on_cluster(store, recorded, ray_address, seconds)
            else:
                sites = _sites(store, recorded, output / "traces" if keep_traces else None)
                outcome = _watched(store, sites, seconds)
        except KeyboardInterrupt:
            say(f"kerntrace: interrupted; {len(store.records)} records are kept")
            say(f"The same command, or `kerntrace study run -o {output.name}`, resumes it.")
            return INTERRUPTED
        return _end(store, outcome, output.name)


def _of_recorded(directory: Path) -> Asked:
    """The recorded study's own plan."""
    from kerntrace.study.store import as_given, read_study

    return as_given(directory, read_study(directory).plan)


def _require_gpu() -> None:
    """Stop where nothing can be measured, before a store is made.

    Raises:
        KerntraceError: which names the way that needs no GPU.
    """
    from kerntrace.capture.machine import NoGpuError, look

    try:
        look()
    except NoGpuError as error:
        reason = error.what.partition("(")[2].partition(")")[0]
        raise KerntraceError(
            f"no NVIDIA GPU here ({reason}), so nothing can be measured", "Without one, replay a recorded study: --replay DIR."
        ) from None


def _sites(store: Store, recorded: Study | None, keep: Path | None) -> list[Site]:
    if recorded is not None:
        from kerntrace.study.replay import replay_sites

        return list(replay_sites(recorded, store.asked.plan))
    return [live_site(store.asked, keep)]


def live_site(asked: Asked, keep: Path | None) -> Site:
    """This machine, once it is known that the study can run on it.

    Raises:
        KerntraceError: if something is missing that a run needs.
    """
    from kerntrace.capture.machine import look
    from kerntrace.capture.native import library_path
    from kerntrace.cli.preflight import choose_weights, require_installed
    from kerntrace.study.live import LiveSite, Setting

    plan = asked.plan
    require_installed(plan.engine)
    if plan.traced_batches:
        library_path()
    setting = Setting(choose_weights(asked.model, plan.weights or None), capacity_of(asked.model, plan), keep, say)
    return LiveSite(asked, look(), setting)


def capacity_of(model: str, plan: Plan) -> Capacity:
    """What the cells of a plan need."""
    from kerntrace.cli.preflight import Need, memory_need, shape_of
    from kerntrace.engines.protocol import EngineSpec
    from kerntrace.study.capacity import Capacity

    shape = shape_of(model)
    if shape is None:
        return Capacity(None, None, plan.tokens)

    def need(batch: int, context: int) -> Need:
        assert shape is not None
        return memory_need(shape, EngineSpec(plan.engine, model, plan.modes[0], (batch,), context, plan.tokens))

    return Capacity(need, shape.max_context, plan.tokens)


def _tell(store: Store, recorded: Study | None) -> None:
    from kerntrace.study.plan import plan_digest

    plan = store.asked.plan
    marked = " (replayed from a recorded study: nothing here is measured anew)" if recorded is not None else ""
    say(f"kerntrace: study {plan.name}, plan {plan_digest(plan)[:12]}{marked}")
    if store.cut:
        say(f"kerntrace: the store's end was torn by a kill; {store.cut} bytes of an unfinished repetition were cut off")
    if store.records:
        say(f"kerntrace: resuming after {len(store.records)} records")


def _watched(store: Store, sites: list[Site], seconds: float | None) -> Outcome:
    from kerntrace.cli.study_bars import bars
    from kerntrace.study.runner import run_study

    with bars(store, sites) as watch:
        return run_study(store, sites, watch, seconds)


def _on_cluster(store: Store, recorded: Study | None, address: str | None, seconds: float | None) -> Outcome:
    from kerntrace.study.cluster import run_on_cluster
    from kerntrace.study.runner import Watch

    if seconds is not None:
        raise UsageError("--seconds is not for --ray", "A cluster's tasks end with their sessions; leave it out.")
    return run_on_cluster(store, live_site, recorded, Watch(say=say), address)


def _end(store: Store, outcome: Outcome, name: str) -> int:
    """Say how far it came.

    Raises:
        KerntraceError: if an engine failed.
    """
    from kerntrace.study.plan import plan_digest
    from kerntrace.study.progress import progress_of
    from kerntrace.study.records import Study

    found = progress_of(Study(store.asked.plan, plan_digest(store.asked.plan), store.records))
    left = sum(mode.left + mode.traced_left for host in found for mode in host.modes)
    if outcome.failures:
        mode, error = next(iter(outcome.failures.items()))
        raise KerntraceError(f"mode {mode} could not be run: {error.what}", f"{error.hint} The rest is kept in {name}.".strip())
    if outcome.stopped:
        say(f"kerntrace: time is up, {left} repetitions and traced cells are left; the same command resumes")
    elif left:
        say(f"kerntrace: {left} repetitions and traced cells are not in the recorded study")
    else:
        say(f"kerntrace: the study is complete; see `kerntrace study report {name}`")
    return DONE
