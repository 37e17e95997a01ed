"""An export written and read back, and what must be the same then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kerntrace.accounting.analysis import Analysis, Question, analyse
from kerntrace.accounting.ledger import GAP_TERMS
from kerntrace.export.findings import find
from kerntrace.export.formats import FORMATS, Export
from kerntrace.ingest.open_any import open_any
from kerntrace.trace.model import Trace

ENDINGS = {"nsys-sqlite": "sqlite", "chrome": "json.gz"}


def exported(trace: Trace, name: str, path: Path) -> Path:
    """Write a trace in a format."""
    analysis = analyse(trace, Question())
    write = FORMATS[name].write
    assert write is not None
    write(Export(analysis.trace, find(analysis), analysis), path)
    return path


def there_and_back(trace: Trace, name: str, folder: Path) -> Trace:
    """The trace after a round through a format that can be read."""
    path = folder / f"t.{ENDINGS[name]}"
    path.unlink(missing_ok=True)
    return open_any(exported(trace, name, path))


def account(trace: Trace) -> dict[str, Any]:
    """Everything that an analysis says, in plain values."""
    found: Analysis = analyse(trace, Question())
    said: dict[str, Any] = {"rules": [(rule.rule, rule.ok) for rule in found.rules], "steady": found.steady.tolist()}
    if found.steps is not None:
        columns = ("kernels", "operations", "launches", "graph_launches", "complete")
        said |= {name: getattr(found.steps, name).tolist() for name in columns}
        said |= {"kind": found.steps.boundaries.kind.tolist(), "batch": found.steps.boundaries.batch.tolist()}
    if found.ledger is not None:
        ledger = found.ledger
        said |= {name: getattr(ledger, name).tolist() for name in ("wall", "busy", "overlap")}
        for side in ("within", "between"):
            said |= {f"{side} {name}": getattr(ledger, side)[name].tolist() for name in GAP_TERMS}
    return said


def rows(trace: Trace) -> dict[str, list[dict[str, Any]]]:
    return {name: table.arrow_table().to_pylist() for name, table in trace.tables().items()}
