"""`kerntrace calibrate`. Room: cli."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kerntrace.errors import DONE, UsageError

if TYPE_CHECKING:
    from kerntrace.hardware import GpuSpec
    from kerntrace.model.points import Points
    from kerntrace.model.profile import Profile


def calibrate(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PROFILE.toml", help="Where the profile goes.")] = Path(
        "calibrated.toml"
    ),
    source: Annotated[
        Path | None, typer.Option("--from", metavar="POINTS.json", help="Fit points measured before; needs no GPU.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option("--points", metavar="POINTS.json", help="Keep the measured points as well.")
    ] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", help="The GPU's name in the table, if its own is not there.")] = None,
    gpu_file: Annotated[Path | None, typer.Option("--gpu-file", help="TOML file in the table's format.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> int:
    """Measure this machine's GPU in a few minutes and write a timing profile for predict and roofline."""
    from kerntrace.model.calibrate import fit_profile
    from kerntrace.model.points import read_points
    from kerntrace.model.profile_text import profile_text

    if output.suffix != ".toml":
        raise UsageError(f"{output.name} does not end in .toml", "Name it PROFILE.toml: --profile knows a file by that.")
    for path in (output, *([keep] if keep else [])):
        if path.exists() and not force:
            raise UsageError(f"{path.name} exists", "Choose another name, or replace it with --force.")
    points = read_points(source) if source is not None else _measured(keep)
    profile = fit_profile(points, _gpu(points, gpu, gpu_file))
    _write(
        output, profile_text(profile, "Measured by `kerntrace calibrate` with microbenchmarks alone; no decode step was timed.")
    )
    _show(profile, output)
    return DONE


def _measured(keep: Path | None) -> Points:
    import json

    from kerntrace.engines.microbench.bench import measure
    from kerntrace.model.points import parse_points

    document = measure(lambda part: print(f"measuring: {part}", file=sys.stderr))
    if keep is not None:
        _write(keep, json.dumps(document, indent=1) + "\n")
    return parse_points(document)


def _gpu(points: Points, name: str | None, path: Path | None) -> GpuSpec:
    from kerntrace.hardware import find_gpu
    from kerntrace.hardware.table import read_gpus

    if path is not None:
        found = read_gpus(path)
        if len(found) != 1:
            raise UsageError(f"{path.name} describes {len(found)} GPUs", "Keep the one that was measured.")
        return found[0]
    wanted = name or points.machine.get("gpu")
    if not wanted:
        raise UsageError("the points do not say which GPU was measured", "Give --gpu, or --gpu-file.")
    return find_gpu(wanted)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path.name} cannot be written: {error.strerror}", "Choose another place.") from None


def _show(profile: Profile, output: Path) -> None:
    from kerntrace.report.tables import show, table
    from kerntrace.report.text import console, printable

    out = console()
    made = table(
        f"{printable(profile.name)}: {printable(profile.description, 100)}",
        {"kernels": "left", "t0 us": "right", "of bandwidth": "right", "of peak": "right", "source": "left"},
    )
    for entry in profile.constant:
        known = [entry.t0_us, entry.efficiency, entry.compute_efficiency]
        cells = ["" if constant is None else f"{constant.value:.3f}" for constant in known]
        source: Any = next(constant.source for constant in known if constant is not None)
        made.add_row(printable(", ".join((*entry.kinds, *entry.families)), 30), *cells, printable(source, 80))
    show(out, made)
    for name, constant in profile.measured.items():
        out.print(f"{name} {constant.value:g}: {constant.source}", markup=False)
    for warning in profile.warnings:
        out.print(f"warning: {warning}", markup=False, style="yellow", soft_wrap=True)
    out.print(f"written to {output.name}: use it with --profile", markup=False, style="dim")
