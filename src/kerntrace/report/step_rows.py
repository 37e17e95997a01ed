"""The rows of `kerntrace.steps/1`, one a step. Room: report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kerntrace.accounting.analysis import Analysis
from kerntrace.accounting.ledger import GAP_TERMS, Ledger, cause_of, largest_gap
from kerntrace.accounting.summary import TERMS, Delays, delays_of, graph_coverage
from kerntrace.steps.names import KINDS
from kerntrace.steps.steady import why_left_out

Json = dict[str, Any]

STEP_COLUMNS = (
    "index",
    "kind",
    "batch",
    "prefill_tokens",
    "steady",
    "excluded",
    "kernels",
    "launches",
    "graph_launches",
    "graph_coverage",
    "queue_delay_mean_ns",
    "start_latency_mean_ns",
    *(f"{name}_ns" for name in (*TERMS, "overlap")),
    *(f"{side}.{name}_ns" for side in ("within", "between") for name in GAP_TERMS),
    "largest_gap_ns",
    "largest_gap_cause",
)


def brief_step_rows(analysis: Analysis, shown: list[int]) -> list[Json]:
    """As `step_rows`, without the delays of launches, the coverage of replays and the longest gap."""
    return _rows(analysis, shown, None)


def step_rows(analysis: Analysis, shown: list[int]) -> list[Json]:
    """A row a step. Where no later work closes a step's window, its terms stand under `open_window` and not in the row."""
    if analysis.steps is None or not analysis.ok:
        return []
    return _rows(analysis, shown, _details(analysis))


@dataclass(frozen=True, slots=True)
class _Details:
    """What only rows of single steps say: of each step its launches' delays, its replays' coverage and its longest gap."""

    delays: Delays
    covered: npt.NDArray[np.float64]
    longest: list[int]

    def launches(self, i: int) -> Json:
        return {
            "graph_coverage": _number(float(self.covered[i])),
            "queue_delay_mean_ns": _number(float(self.delays.queue_delay[i])),
            "start_latency_mean_ns": _number(float(self.delays.launch_latency[i])),
        }

    def gap(self, i: int, ledger: Ledger) -> Json:
        gap = self.longest[i]
        if gap < 0:
            return {}
        length = int(ledger.gaps.end[gap] - ledger.gaps.start[gap])
        return {"largest_gap_ns": length, "largest_gap_cause": cause_of(ledger.gaps, gap)}


def _details(analysis: Analysis) -> _Details:
    ledger, count = analysis.ledger, len(analysis.steps or ())
    longest = largest_gap(ledger.gaps, count).tolist() if ledger else []
    return _Details(delays_of(analysis), graph_coverage(analysis), longest)


def _rows(analysis: Analysis, shown: list[int], details: _Details | None) -> list[Json]:
    steps, ledger = analysis.steps, analysis.ledger
    if steps is None or not analysis.ok:
        return []
    said, reasons = steps.boundaries, why_left_out(steps, analysis.steady)
    columns = _lists(ledger) if ledger else {}
    rows = []
    for i in shown:
        row: Json = {
            "index": i,
            "kind": KINDS[said.kind[i]],
            "batch": _known(int(said.batch[i])),
            "prefill_tokens": _known(int(said.prefill_tokens[i])),
            "steady": bool(analysis.steady[i]),
            "excluded": reasons[i] or None,
            "kernels": int(steps.kernels[i]),
            "launches": int(steps.launches[i]),
            "graph_launches": int(steps.graph_launches[i]),
        } | (details.launches(i) if details else {})
        if ledger is not None and steps.operations[i]:
            account: Json = {f"{name}_ns": columns[name][i] for name in (*TERMS, "overlap")}
            for side in ("within", "between"):
                account[side] = {f"{name}_ns": columns[f"{side} {name}"][i] for name in GAP_TERMS}
            account |= details.gap(i, ledger) if details else {}
            row |= account if ledger.complete[i] else {"open_window": account}
        rows.append(row)
    return rows


def _lists(ledger: Ledger) -> dict[str, list[int]]:
    """Every term as a list of Python integers, which is much faster than one at a time."""
    columns = {name: ledger.term(name).tolist() for name in TERMS}
    columns["overlap"] = ledger.overlap.tolist()
    for side, terms in (("within", ledger.within), ("between", ledger.between)):
        columns |= {f"{side} {name}": terms[name].tolist() for name in GAP_TERMS}
    return columns


def _known(value: int) -> int | None:
    return None if value < 0 else value


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
