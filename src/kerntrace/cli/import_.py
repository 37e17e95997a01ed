"""`kerntrace import`. Room: cli."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerntrace.cli.options import JSON_LIMIT, TRACE_HELP, JsonLimit, open_trace, working
from kerntrace.cli.say import say
from kerntrace.errors import DONE

if TYPE_CHECKING:
    from kerntrace.trace.model import Trace


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help=TRACE_HELP, show_default=False)],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT.ktrace", help="Bundle to write.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the bundle if it exists.")] = False,
    json_limit: JsonLimit = JSON_LIMIT,
) -> int:
    """Turn a trace of any known kind into a .ktrace bundle. Several files become one if -o is given, else one each."""
    from kerntrace.trace.bundle import refuse_to_overwrite
    from kerntrace.trace.merge import merge

    if output is None:
        for file in files:
            target = Path(bundle_name(file.name))
            refuse_to_overwrite(target, force)
            _write(open_trace(file, json_limit, verify=True), target, force)
        return DONE
    refuse_to_overwrite(output, force)
    traces = [open_trace(file, json_limit, verify=True) for file in files]
    _write(traces[0] if len(traces) == 1 else merge(traces, [str(file) for file in files]), output, force)
    return DONE


def _write(trace: Trace, target: Path, force: bool) -> None:
    from kerntrace.trace.bundle import bundle_path, write_bundle
    from kerntrace.units import size

    with working(f"writing {target.name}"):
        manifest = write_bundle(trace, target, force=force)
    written = bundle_path(target)
    bytes_ = sum(part.stat().st_size for part in written.iterdir())
    rows = ", ".join(f"{info.rows} {name}" for name, info in manifest.tables.items() if info.rows)
    say(f"{written}: {rows or 'no rows'}; {size(bytes_)}")
    say(f"Next: kerntrace steps {written}")


def bundle_name(name: str) -> str:
    """What a file's bundle is called, in the current directory: `run.sqlite.gz` becomes `run.ktrace`."""
    stem = name
    for suffix in (".gz", ".json", ".sqlite", ".nsys-rep", "_pqtdir", ".ktrace"):
        stem = stem.removesuffix(suffix)
    return f"{stem or name}.ktrace"
