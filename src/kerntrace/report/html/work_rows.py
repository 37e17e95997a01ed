"""The same-work comparison as table rows, each figure by its place in the comparison. Room: report."""

from __future__ import annotations

from typing import Any

from kerntrace.report.html.names import shown_name

Json = dict[str, Any]

_MOST = 60
_SAID = {"count": "count differs", "time": "time differs", "kernels": "other kernels"}


def work_tables(compare: Json | None) -> list[Json]:
    """For each cell of a comparison its verdict and rows; none where there is no comparison."""
    if compare is None:
        return []
    tables = []
    for c, cell in enumerate(compare["cells"]):
        rows = _rows(cell["same_work"], f"cells.{c}.same_work.")
        tables.append(
            {"label": _label(cell), "work": cell["same_work"], "rows": rows[:_MOST], "more": max(0, len(rows) - _MOST)}
        )
    return tables


def _label(cell: Json) -> str:
    return f"batch {cell['batch']}" if cell["batch"] is not None else f"{cell['kind']} steps"


def _rows(work: Json, at: str) -> list[Json]:
    rows = []
    for side in ("only_a", "only_b"):
        for i, use in enumerate(work[side]):
            mine = [(f"{at}{side}.{i}.count", "count"), (f"{at}{side}.{i}.total_mean_ns", "ms")]
            none = [("", ""), ("", "")]
            paths = mine + none if side == "only_a" else none + mine
            rows.append({"what": f"only in {side[-1].upper()}", "family": shown_name(use["family"]), "paths": paths})
    for i, change in enumerate(work["changed"]):
        paths = [
            (f"{at}changed.{i}.{name}_{letter}", "count" if name == "count" else "ms")
            for letter in "ab"
            for name in ("count", "total_mean_ns")
        ]
        rows.append({"what": _SAID[change["what"]], "family": shown_name(change["family"]), "paths": paths})
    return rows
