"""Options that several verbs share, and what every reading verb does first: open the trace and analyse it. Room: cli."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kerntrace.errors import UsageError

if TYPE_CHECKING:
    from kerntrace.accounting.analysis import Analysis
    from kerntrace.accounting.summary import Cell
    from kerntrace.trace.model import Trace

TRACE_HELP = ".ktrace bundle, nsys .sqlite[.gz], nsys parquetdir, .nsys-rep, or torch.profiler .json[.gz]."
TracePath = Annotated[Path, typer.Argument(metavar="TRACE", help=TRACE_HELP, show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout (docs/json.md).")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Comma-separated rows on stdout.")]
Batch = Annotated[list[str] | None, typer.Option("--batch", metavar="N[,N...]", help="Only steps of these batch sizes.")]
Kind = Annotated[str | None, typer.Option("--kind", help="Only steps of this kind: decode, prefill, mixed, empty, unknown.")]
Device = Annotated[int | None, typer.Option("--device", help="CUDA device to account for, where a trace has several.")]
Pid = Annotated[int | None, typer.Option("--pid", help="Process to account for, where a trace has several.")]
TimelineSteps = Annotated[
    str | None,
    typer.Option("--steps", metavar="N|A-B|A:B", help="Steps that the timeline shows: A-B with B, A:B without."),
]
StepRows = Annotated[
    str | None,
    typer.Option("--steps", metavar="N|A-B|A:B", help="Steps to list: A-B with B, A:B without; headline figures stay."),
]
StepRange = Annotated[
    str | None,
    typer.Option(
        "--step-range", metavar="REGEX", help="A step is a range whose name matches; groups batch and prefill_tokens."
    ),
]
JsonLimit = Annotated[
    str, typer.Option("--json-limit", metavar="SIZE", help="Most bytes of JSON to read, decompressed, e.g. 4GiB.")
]
JSON_LIMIT = "1GiB"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of one


def open_trace(path: Path, json_limit: str, *, verify: bool = False) -> Trace:
    """Open a trace of any kind.

    Raises:
        UsageError: if the limit is not a size.
        UnreadableError: if the file is not a trace.
    """
    from kerntrace.ingest.open_any import OpenOptions, open_any
    from kerntrace.units import parse_size

    try:
        limit = parse_size(json_limit)
    except ValueError as error:
        raise UsageError(f"--json-limit: {error}", "Write it as 512M or 4GiB.") from None
    with working(f"reading {path.name}"):
        return open_any(path, OpenOptions(json_limit_bytes=limit, verify=verify))


def analyse_file(
    path: Path,
    device: int | None,
    pid: int | None,
    step_range: str | None,
    json_limit: str,
    *,
    with_ledger: bool = True,
    verify: bool = False,
) -> Analysis:
    """Open a trace and analyse the part asked about."""
    from kerntrace.accounting.analysis import Question, analyse

    trace = open_trace(path, json_limit, verify=verify)
    with working(f"accounting for {path.name}"):
        return analyse(trace, Question(device, pid, step_range), with_ledger=with_ledger)


def read_batches(texts: Sequence[str] | None) -> list[int]:
    """The batch sizes that `--batch 1,16 --batch 32` names, each once.

    Raises:
        UsageError: if one is not a positive whole number.
    """
    parts = [part.strip() for text in texts or () for part in text.split(",")]
    wrong = [part for part in parts if not (part.isascii() and part.isdecimal() and 0 < int(part[:10]) < 10**9)]
    if wrong:
        raise UsageError(f"--batch {','.join(texts or ())!r} is not a list of sizes", "Write it as 1 or 1,16.")
    return list(dict.fromkeys(int(part) for part in parts))


def known_kind(kind: str | None) -> str | None:
    """The kind asked for.

    Raises:
        UsageError: if there is no such kind.
    """
    from kerntrace.steps.names import KINDS

    if kind is not None and kind not in KINDS:
        raise UsageError(f"--kind {kind!r} is not a kind of step", f"Kinds: {', '.join(KINDS)}.")
    return kind


def asked_for(batch: list[int] | None, kind: str | None) -> str:
    """What --batch and --kind ask for, for a message."""
    parts = [f"of kind {kind}"] if kind is not None else []
    parts += [f"of batch {', '.join(map(str, batch))}"] if batch else []
    return " and ".join(parts)


def chosen_steps(analysis: Analysis, batch: list[int] | None, kind: str | None, numbers: str | None = None) -> list[int]:
    """The steps that --batch, --kind and --steps ask for.

    Raises:
        UsageError: if there is no such kind, batch or number; the message lists those there are.
    """
    import numpy as np

    from kerntrace.steps.chosen import steps_within
    from kerntrace.steps.names import KINDS

    known_kind(kind)
    if analysis.steps is None:
        return []
    said = analysis.steps.boundaries
    keep = np.ones(len(said), dtype=bool)
    if batch:
        keep &= np.isin(said.batch, batch)
    if kind is not None:
        keep &= said.kind == KINDS.index(kind)
    if not keep.any() and (batch or kind is not None):
        there = sorted({(KINDS[k], int(b)) for k, b in zip(said.kind.tolist(), said.batch.tolist())})
        listed = ", ".join(f"{k} of batch {b}" if b > 0 else k for k, b in there) or "none"
        raise UsageError(f"no step {asked_for(batch, kind)} is in this trace", f"There are: {listed}.")
    if numbers is not None:
        first, last = steps_within(numbers, len(said))
        keep[:first] = keep[last:] = False
        if not keep.any():
            raise UsageError(f"--steps {numbers}: none of these is {asked_for(batch, kind)}", "Leave one of the two out.")
    return [int(i) for i in np.flatnonzero(keep)]


def chosen_cells(cells: list[Cell], batch: list[int] | None, kind: str | None) -> list[Cell]:
    """The cells that --batch and --kind ask for."""
    return [c for c in cells if (not batch or c.batch in batch) and (kind is None or c.kind == kind)]


def one_format(as_json: bool, as_csv: bool) -> None:
    if as_json and as_csv:
        raise UsageError("--json and --csv cannot both have stdout", "Choose one.")


def print_json(document: Any) -> None:
    """The document on stdout, in UTF-8 whatever the terminal's encoding, and nothing else."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # a caller that took stdout over
        sys.stdout.write(text.decode())
    else:
        sys.stdout.flush()
        binary.write(text)


def print_csv(rows: list[dict[str, Any]], columns: Sequence[str] = ()) -> None:
    """Rows as CSV with a header. A cell that a spreadsheet would run as a formula is quoted with an apostrophe.

    Args:
        columns: the header of a table that may have no rows; any others that rows have follow.
    """
    import csv

    flat = [_flat(row) for row in rows]
    header = list(dict.fromkeys([*columns, *(key for row in flat for key in row)]))
    writer = csv.DictWriter(sys.stdout, header, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)


def _flat(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            value = "; ".join(map(str, value)) if isinstance(value, list) else value
            flat[prefix + key] = "'" + value if isinstance(value, str) and value.startswith(_FORMULA) else value
    return flat


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner on stderr while something takes time; nothing where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
