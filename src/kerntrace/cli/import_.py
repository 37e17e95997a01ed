"""`kerntrace import`. Room: cli."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kerntrace.cli.options import JSON_LIMIT, TRACE_HELP, JsonLimit, open_trace, working
from kerntrace.errors import DONE, UsageError


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help=TRACE_HELP, show_default=False)],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT.ktrace", help="Bundle to write.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the bundle if it exists.")] = False,
    json_limit: JsonLimit = JSON_LIMIT,
) -> int:
    """Turn a trace of any known kind into a .ktrace bundle. Several files make a bundle each, beside them."""
    from kerntrace.trace.bundle import write_bundle
    from kerntrace.units import size

    if output is not None and len(files) > 1:
        raise UsageError("-o names one bundle, but several files are to be imported", "Import them one at a time.")
    for file in files:
        target = output or Path(bundle_name(file.name))
        trace = open_trace(file, json_limit)
        with working(f"writing {target.name}"):
            manifest = write_bundle(trace, target, force=force)
        written = target if target.suffix == ".ktrace" else target.with_name(target.name + ".ktrace")
        bytes_ = sum(part.stat().st_size for part in written.iterdir())
        rows = ", ".join(f"{info.rows} {name}" for name, info in manifest.tables.items() if info.rows)
        print(f"{written}: {rows or 'no rows'}; {size(bytes_)}", file=sys.stderr)
        print(f"Next: kerntrace steps {written}", file=sys.stderr)
    return DONE


def bundle_name(name: str) -> str:
    """What a file's bundle is called, in the current directory: `run.sqlite.gz` becomes `run.ktrace`."""
    stem = name
    for suffix in (".gz", ".json", ".sqlite", ".nsys-rep", "_pqtdir", ".ktrace"):
        stem = stem.removesuffix(suffix)
    return f"{stem or name}.ktrace"
