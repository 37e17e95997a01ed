"""A traced cell's trace reduced to what a study keeps of it: step kinds, ledger, phases, kernels. Room: study."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kerntrace.accounting.analysis import Analysis, Question, analyse
from kerntrace.accounting.ledger import GAP_TERMS
from kerntrace.accounting.summary import cells_of, phase_shares, phases_of
from kerntrace.engines.protocol import EngineSpec
from kerntrace.errors import KerntraceError
from kerntrace.steps.families import family_of
from kerntrace.steps.names import KERNTRACE, KINDS
from kerntrace.steps.ownership import Steps
from kerntrace.steps.work import owned_kernels
from kerntrace.study.records import KernelShare, TracedCell
from kerntrace.trace.model import Trace

Index = npt.NDArray[np.intp]
_Pairs = tuple[tuple[int, int], ...]
TERMS = ("wall", "busy", *GAP_TERMS)


def reduced(trace: Trace, spec: EngineSpec, host: str, traced: _Pairs, untraced: _Pairs) -> TracedCell:
    """What a study keeps of a cell.

    Args:
        trace: the cell's records only.
        spec: of the cell: its mode, one batch, context and tokens.
        traced, untraced: walls of its calls.
    """
    batch = spec.batches[0]
    empty = TracedCell(host, spec.mode, batch, spec.context, spec.tokens, 0, traced, untraced, {}, (), {}, {}, {}, {}, (), {})
    try:
        analysis = analyse(trace, Question())
    except KerntraceError as error:
        return _with(empty, rules={"analysis": error.what})
    kinds = step_kinds(trace, analysis)
    failed = {rule.rule: rule.detail for rule in analysis.rules if not rule.ok}
    cell = next((cell for cell in cells_of(analysis) if cell.batch == batch and cell.kind == "decode"), None)
    steps, ledger, phases = analysis.steps, analysis.ledger, phases_of(analysis)
    if failed or cell is None or steps is None or ledger is None or phases is None:
        return _with(empty, step_kinds=kinds, rules=failed or {"steady-steps": f"no steady decode step of batch {batch}"})
    rows = cell.steps
    return _with(
        empty,
        step_kinds=kinds,
        kernels=tuple(steps.kernels[rows].tolist()),
        terms={name: tuple(ledger.term(name)[rows].tolist()) for name in TERMS},
        within={name: tuple(ledger.within[name][rows].tolist()) for name in GAP_TERMS},
        between={name: tuple(ledger.between[name][rows].tolist()) for name in GAP_TERMS},
        phases={share.name: share.host_wait + share.launch_call for share in phase_shares(phases, cell)},
        work=kernel_shares(analysis, steps, rows),
    )


def step_kinds(trace: Trace, analysis: Analysis) -> dict[str, int]:
    """Recorded steps by kind and sequences, e.g. {"decode 16": 31, "prefill 16": 1, "mixed 12+4": 2}."""
    names = trace.ranges.names("name")
    own = [KERNTRACE.match(names.text(row) or "") for row in range(len(names))]
    said = [dict(re.findall(r"(\w+)=(\d+)", found[1])) for found in own if found]
    if said:
        return dict(Counter(_kind(int(one.get("decode", 0)), int(one.get("prefill", 0))) for one in said))
    if analysis.steps is None:
        return {}
    boundaries = analysis.steps.boundaries
    pairs = zip(boundaries.kind.tolist(), boundaries.batch.tolist())
    return dict(Counter(KINDS[kind] + (f" {batch}" if batch >= 0 else "") for kind, batch in pairs))


def kernel_shares(analysis: Analysis, steps: Steps, rows: Index) -> tuple[KernelShare, ...]:
    """Every kernel name of the steady steps, the one with most time first."""
    trace = analysis.trace
    owned, step = owned_kernels(analysis.ops, steps, rows)
    names = trace.kernels.names("name")
    code = names.codes[owned]
    length = trace.kernels.ints("end_ns")[owned] - trace.kernels.ints("start_ns")[owned]
    shares = []
    for one in np.unique(code):
        mine = code == one
        name = names.values[one] if one >= 0 else ""
        count = np.bincount(step[mine], minlength=len(rows))
        time = np.bincount(step[mine], weights=length[mine], minlength=len(rows))
        shares.append(KernelShare(name, family_of(name), float(np.median(count)), float(np.median(time))))
    return tuple(sorted(shares, key=lambda share: (-share.time_ns, share.name)))


def _kind(decode: int, prefill: int) -> str:
    if prefill:
        return f"mixed {decode}+{prefill}" if decode else f"prefill {prefill}"
    return f"decode {decode}" if decode else "empty"


def _with(cell: TracedCell, **changes: object) -> TracedCell:
    return replace(cell, **changes)  # type: ignore[arg-type]
