"""`kerntrace study status`. Room: cli."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kerntrace.cli.options import AsJson, print_json
from kerntrace.errors import DONE

if TYPE_CHECKING:
    from kerntrace.study.progress import HostProgress
    from kerntrace.study.records import Study

StoreDirectory = Annotated[Path, typer.Argument(metavar="DIR", help="The study's store.", show_default=False)]


def status(directory: StoreDirectory, as_json: AsJson = False) -> int:
    """Say how far a study is: what is done and left in each mode, the time it takes, and what is left out."""
    from kerntrace.study.progress import progress_of
    from kerntrace.study.store import read_study

    study = read_study(directory)
    found = progress_of(study)
    if as_json:
        print_json(status_document(study, found))
    else:
        _show(study, found)
    return DONE


def status_document(study: Study, found: tuple[HostProgress, ...]) -> dict[str, Any]:
    """`kerntrace.study-status/1`."""
    return {
        "schema": "kerntrace.study-status/1",
        "name": study.plan.name,
        "plan_sha256": study.plan_sha256,
        "replayed": study.replayed,
        "complete": bool(found) and all(host.complete for host in found),
        "hosts": [_host(host) for host in found],
    }


def _host(found: HostProgress) -> dict[str, Any]:
    host = found.host
    return {
        "host": host.key,
        "gpu": host.gpu,
        "cpu": host.cpu,
        "versions": host.versions,
        "settings": host.settings,
        "complete": found.complete,
        "modes": [
            {
                "mode": mode.mode,
                "repetitions": {"done": mode.done, "left": mode.left},
                "traced_cells": {"done": mode.traced_done, "left": mode.traced_left},
            }
            for mode in found.modes
        ],
        "starts_left": found.starts,
        "measured_calls_s": found.spent_s,
        "estimated_left_s": found.left_s,
        "left_out": [
            {"mode": out.mode, "batch": out.batch, "context": out.context, "reason": out.reason} for out in found.left_out
        ],
    }


def _show(study: Study, found: tuple[HostProgress, ...]) -> None:
    from kerntrace.report.tables import show, table
    from kerntrace.report.text import console

    out = console()
    marked = ", replayed: nothing in it was measured anew" if study.replayed else ""
    out.print(f"study {study.plan.name}, plan {study.plan_sha256[:12]}{marked}", markup=False, highlight=False)
    if not found:
        out.print("nothing is measured yet")
    for host in found:
        right = ("repetitions done", "left", "traced cells done", "left ")
        made = table(f"{host.host.gpu} ({host.host.key})", {"mode": "left"} | dict.fromkeys(right, "right"))
        for mode in host.modes:
            made.add_row(mode.mode, *map(str, (mode.done, mode.left, mode.traced_done, mode.traced_left)))
        show(out, made)
        left = "nothing" if host.complete else "not known yet" if host.left_s is None else f"about {host.left_s / 60:.0f} min"
        starts = "1 engine start" if host.starts == 1 else f"{host.starts} engine starts"
        spent = f"{host.spent_s / 60:.1f} min of timed calls (measured)"
        out.print(f"{spent}; left: {left} (derived), {starts} in it", markup=False, highlight=False)
        said = [f"{name} {value}" for name, value in host.host.versions.items()]
        out.print(", ".join([f"CPU {host.host.cpu or 'not known'}", *said]), markup=False, highlight=False, soft_wrap=True)
        for one in host.left_out:
            where = f"left out: {one.mode or 'all modes'} N={one.batch} context {one.context}"
            out.print(f"{where}: {one.reason}", markup=False, highlight=False)
