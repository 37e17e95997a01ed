"""The kernel table: the kernels document's rows, with the roofline's figures where one carries one operation. Room: report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kerntrace.report.html.names import shown_name
from kerntrace.report.html.side import Side

Json = dict[str, Any]

COLUMNS = (
    ("a step", True),
    ("ms a step", True),
    ("of busy", True),
    ("median", True),
    ("family", False),
    ("kernel", False),
)
ROOFLINE_COLUMNS = (("operation", False), ("GB/s", True), ("of roof", True), ("error", True))


@dataclass(frozen=True, slots=True)
class KernelRow:
    """A kernel name of a cell.

    Attributes:
        batch: its batch, or "unknown".
        doc, at: where its figures stand.
        operation: what it carries by the model, several joined; empty where not known.
        roof_doc, roof_at: where its operation's figures stand; `roof_at` is empty unless it carries just one, alone.
    """

    letter: str
    batch: int | str
    use: Json
    doc: str
    at: str
    family: str
    name: str
    operation: str
    roof_doc: str
    roof_at: str


MOST_ROWS = 400  # of a cell; real steps run some dozens of kernels


def rows_left_out(sides: Sequence[Side]) -> int:
    """How many kernels the table has no room for."""
    cells = (cell for side in sides for cell in side.documents["kernels"]["cells"])
    return sum(max(0, len(cell["kernels"]) - MOST_ROWS) for cell in cells)


def kernel_rows(sides: Sequence[Side]) -> list[KernelRow]:
    """Of every cell the kernels with most time, `MOST_ROWS` at most; the one with most time first."""
    rows = []
    for side in sides:
        for c, cell in enumerate(side.documents["kernels"]["cells"]):
            carried = _carried(side, cell["batch"])
            for k, use in enumerate(cell["kernels"][:MOST_ROWS]):
                operation, roof_at = carried.get(use["name"], ("", ""))
                rows.append(
                    KernelRow(
                        side.letter,
                        cell["batch"] if cell["batch"] is not None else "unknown",
                        use,
                        f"{side.letter}.kernels",
                        f"cells.{c}.kernels.{k}.",
                        shown_name(use["family"]),
                        shown_name(use["name"]),
                        operation,
                        f"{side.letter}.roofline",
                        roof_at,
                    )
                )
    return sorted(rows, key=lambda row: -row.use["total_mean_ns_per_step"])


def _carried(side: Side, batch: int | None) -> dict[str, tuple[str, str]]:
    """For each recorded name of a cell: the operations it carries, and where the figures stand if they are one's alone."""
    roofline = side.documents.get("roofline")
    found: dict[str, list[tuple[str, str]]] = {}
    for c, cell in enumerate(roofline["cells"] if roofline else ()):
        if cell["batch"] != batch:
            continue
        for k, row in enumerate(cell["kernels"]):
            for name in row["recorded"]:
                found.setdefault(name, []).append((row["name"], f"cells.{c}.kernels.{k}." if len(row["recorded"]) == 1 else ""))
    return {name: (", ".join(op for op, _ in ops), ops[0][1] if len(ops) == 1 else "") for name, ops in found.items()}
