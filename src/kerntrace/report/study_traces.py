"""The traced part of a study's document: cross-checks, and whether the modes ran the same kernels. Room: report."""

from __future__ import annotations

from kerntrace.evidence.crosscheck import CrossCheck, Difference
from kerntrace.evidence.gap_check import GapCheck
from kerntrace.evidence.same_kernels import WorkCheck
from kerntrace.evidence.study_evidence import Evidence
from kerntrace.report.study_figures import Json, at, fraction, interval_json, ns


def cross_check_rows(evidence: Evidence) -> list[Json]:
    """A row a traced cell and mode."""
    return [_check(one) for one in evidence.checks]


def _check(one: CrossCheck) -> Json:
    traced = one.traced
    return {
        "kind": "measured",
        **at(traced.place),
        "mode": traced.mode,
        "steady_steps": traced.steps,
        "kernels": {"median": traced.kernels[0], "min": traced.kernels[1], "max": traced.kernels[2]},
        "subtraction_ns": ns(one.subtraction),
        "subtraction_interval": interval_json(one.subtraction_interval),
        "subtraction_of": one.subtraction_of,
        "traced_wall_ns": ns(one.traced_wall),
        "traced_wall_interval": interval_json(traced.wall_interval),
        "ledger_ns": ns(one.ledger),
        "ledger_interval": interval_json(one.ledger_interval),
        "terms_ns": {name: ns(value) for name, value in traced.means.items()},
        "medians_ns": {name: ns(value) for name, value in traced.medians.items()},
        "within_share": fraction(traced.within_share),
        "traced_subtraction_ns": ns(one.traced_subtraction),
        "dilation": fraction(one.dilation),
        "dilation_interval": interval_json(one.dilation_interval, fraction),
        "against_untraced": _difference(one.against_untraced),
        "against_traced": _difference(one.against_traced),
        "leak": fraction(one.leak),
        "step_kinds": traced.step_kinds,
        "verdict": one.verdict,
        "causes": list(one.causes),
    }


def _difference(one: Difference | None) -> Json | None:
    if one is None:
        return None
    return {
        "ledger_less_subtraction_ns": ns(one.estimate),
        "interval": interval_json(one.interval),
        "tolerance_ns": ns(one.tolerance),
        "verdict": one.verdict,
    }


def gap_check_rows(evidence: Evidence) -> list[Json]:
    """A row a traced place and effect."""
    return [_gap(one) for one in evidence.gap_checks]


def _gap(one: GapCheck) -> Json:
    return {
        "kind": "derived",
        **at(one.a.traced.place),
        "effect": one.effect,
        "a": one.a.traced.mode,
        "b": one.b.traced.mode,
        "subtraction_ns": ns(one.subtraction),
        "traced_wall_ns": ns(one.traced_wall),
        "ledger_ns": ns(one.ledger),
        "terms_ns": {name: ns(value) for name, value in one.terms.items()},
        "difference": _difference(one.difference),
        "verdict": one.verdict,
        "causes": list(one.causes),
    }


def work_rows(evidence: Evidence) -> list[Json]:
    """A row a traced place and effect."""
    return [_work(one) for one in evidence.works]


def _work(one: WorkCheck) -> Json:
    return {
        "kind": "measured",
        **at(one.place),
        "effect": one.effect,
        "a": one.a,
        "b": one.b,
        "verdict": "same" if one.same else "different",
        "same_names": one.same_names,
        "kernels_a": one.kernels_a,
        "kernels_b": one.kernels_b,
        "executions_that_differ": one.moved,
        "changes": [
            {
                "family": change.family,
                "count_a": change.count_a,
                "count_b": change.count_b,
                "time_a_ns": ns(change.time_a),
                "time_b_ns": ns(change.time_b),
            }
            for change in one.changes
        ],
    }
