"""The `kerntrace.study/1` document: a study's report for programs. Its keys are described in docs/json.md. Room: report.

Times end in `_ns` unless a regression's unit is given beside it. `kind` says how a block's numbers came about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kerntrace.evidence.cells import Missing
from kerntrace.evidence.effects import ArmFigures, CellFigures, EffectFigures
from kerntrace.evidence.finding import Finding
from kerntrace.evidence.machines import MachineFigures
from kerntrace.evidence.published import Reference
from kerntrace.evidence.study_evidence import Evidence, Machine
from kerntrace.report.study_attribution import accuracy_rows, contest_rows, regression_rows, trend_rows
from kerntrace.report.study_figures import at, decisive_json, fraction, interval_json, ns, session_json
from kerntrace.report.study_traces import cross_check_rows, gap_check_rows, work_rows

Json = dict[str, Any]


def study_document(evidence: Evidence, findings: Sequence[Finding]) -> Json:
    """The whole report."""
    plan = evidence.study.plan
    return {
        "schema": "kerntrace.study/1",
        "study": {
            "name": plan.name,
            "model": plan.model,
            "plan_sha256": evidence.study.plan_sha256,
            "replayed": evidence.study.replayed,
            "batches": list(plan.batches),
            "contexts": list(plan.contexts),
            "modes": list(plan.modes),
            "tokens": plan.tokens,
            "repetitions": plan.repetitions,
            "sessions": plan.sessions,
            "margin_ns": plan.margin_ns,
        },
        "statistics": statistics_json(evidence),
        "hosts": [host_json(machine) for machine in evidence.machines],
        "missing": [missing_json(one) for one in evidence.missing],
        "notes": list(evidence.notes),
        "cells": cell_rows(evidence),
        "skus": [machine_json(one) for one in evidence.figures],
        "reference": [reference_json(one) for one in evidence.references],
        "crosscheck": cross_check_rows(evidence),
        "gap_crosscheck": gap_check_rows(evidence),
        "same_work": work_rows(evidence),
        "attribution": {
            "regressions": regression_rows(evidence),
            "rivals": contest_rows(evidence),
            "phases": trend_rows(evidence),
        },
        "accuracy": accuracy_rows(evidence),
        "hypotheses": [finding_json(one) for one in findings],
    }


def statistics_json(evidence: Evidence) -> Json:
    how = evidence.how
    return {
        "seed": how.seed,
        "resamples": how.resamples,
        "level": 0.95,
        "generator": "PCG64, a stream for each arm from the seed and its name",
        "quantile": "linear",
        "numpy": np.__version__,
        "s_form": evidence.question.s_form,
    }


def host_json(machine: Machine) -> Json:
    host = machine.host
    return {
        "kind": "measured",
        "store": machine.store or None,
        "host": host.key,
        "gpu": host.gpu,
        "cpu": host.cpu,
        "versions": host.versions,
        "settings": host.settings,
        "cells": len(machine.cells),
    }


def missing_json(one: Missing) -> Json:
    return {
        "what": one.what,
        "host": one.host,
        "mode": one.mode,
        "batch": one.batch,
        "context": one.context,
        "have": one.have,
        "asked": one.asked,
        "reason": one.reason or None,
    }


def cell_rows(evidence: Evidence) -> list[Json]:
    """Every cell of every machine with its modes and effects."""
    return [cell_json(machine, cell) for machine in evidence.machines for cell in machine.cells]


def cell_json(machine: Machine, cell: CellFigures) -> Json:
    return {
        "kind": "derived",
        "store": machine.store or None,
        "gpu": machine.host.gpu,
        **at(cell.place),
        "steps": {mode: arm_json(arm) for mode, arm in cell.arms.items()},
        "effects": {name: effect_json(one) for name, one in cell.effects.items()},
    }


def arm_json(arm: ArmFigures) -> Json:
    spread = arm.spread
    return {
        "sessions": arm.sessions,
        "repetitions": arm.repetitions,
        "median_ns": ns(arm.median),
        "percentile": interval_json(arm.percentile),
        "hierarchical": interval_json(arm.hierarchical),
        "session_medians_ns": [ns(value) for value in arm.session_medians.values()],
        "sigma_sessions_ns": ns(spread.between_sessions),
        "sigma_repetitions_ns": ns(spread.between_repetitions),
        "mad_ns": ns(spread.mad),
        "outliers": spread.outliers,
    }


def effect_json(one: EffectFigures) -> Json:
    return {
        "a": one.a,
        "b": one.b,
        "difference_of_medians_ns": ns(one.estimate),
        "percentile": interval_json(one.percentile),
        "hierarchical": interval_json(one.hierarchical),
        "session": session_json(one.session),
        "decisive": decisive_json(one.estimate, one.session, one.hierarchical, one.percentile),
        "hodges_lehmann_ns": ns(one.hodges_lehmann),
        "hodges_lehmann_interval": interval_json(one.hodges_lehmann_interval),
        "benefit": fraction(one.benefit),
        "benefit_interval": interval_json(one.benefit_interval, fraction),
        "benefit_median_of_pairs": fraction(one.benefit_of_pairs),
        "outcome": one.outcome,
        "decided_by": one.decided_by or None,
    }


def machine_json(one: MachineFigures) -> Json:
    return {
        "kind": "derived",
        "store": one.store or None,
        "host": one.host,
        "gpu": one.gpu,
        "grid": one.grid,
        "effect": one.effect,
        "cells": one.cells,
        "median_a_ns": ns(one.median_a),
        "median_b_ns": ns(one.median_b),
        "gap_median_ns": ns(one.gap),
        "percentile": interval_json(one.percentile),
        "hierarchical": interval_json(one.hierarchical),
        "session": session_json(one.session),
        "decisive": decisive_json(one.gap, one.session, one.hierarchical, one.percentile),
        "over_cells": interval_json(one.over_cells),
        "benefit_median_of_ratios": fraction(one.benefit_median_of_ratios),
        "benefit_median_of_ratios_interval": interval_json(one.benefit_median_of_ratios_interval, fraction),
        "benefit_ratio_of_medians": fraction(one.benefit_ratio_of_medians),
        "benefit_ratio_of_medians_interval": interval_json(one.benefit_ratio_of_medians_interval, fraction),
        "least": {"batch": one.least[0], "context": one.least[1]},
        "greatest": {"batch": one.greatest[0], "context": one.greatest[1]},
    }


def reference_json(one: Reference) -> Json:
    return {
        "kind": "reference",
        "gpus": list(one.gpus),
        "gap_median_ns": ns(1e6 * one.gap_ms),
        "benefit": one.gap_share,
    }


def finding_json(one: Finding) -> Json:
    interval = one.interval
    return {
        "id": one.hypothesis.id,
        "claim": one.hypothesis.claim,
        "test": one.hypothesis.test,
        "settings": one.hypothesis.settings,
        "verdict": one.verdict.value,
        "kind": one.kind,
        "estimate": fraction(one.estimate),
        "unit": one.unit or None,
        "interval": [fraction(interval.low), fraction(interval.high)] if interval else None,
        "interval_method": f"{interval.method}, {100 * interval.level:g} %" if interval else None,
        "p": one.p,
        "p_holm": one.p_holm,
        "reason": one.reason,
        "details": list(one.details),
    }


def flat_cells(rows: Iterable[Json]) -> list[Json]:
    """Cells as rows for CSV: one for each effect, and one for each mode."""
    flat = []
    for row in rows:
        about = {key: row[key] for key in ("store", "gpu", "host", "batch", "context")}
        flat += [about | {"figure": mode} | arm for mode, arm in row["steps"].items()]
        flat += [about | {"figure": name} | effect for name, effect in row["effects"].items()]
    return flat
