"""The attribution of a study's document: lines, rivals, phases and the errors of predictions. Room: report."""

from __future__ import annotations

from kerntrace.evidence.attribution import Regression
from kerntrace.evidence.phase_trend import PhaseTrend
from kerntrace.evidence.rivals import FORMULAS, LABELS, Contest, RivalFit
from kerntrace.evidence.study_accuracy import AccuracyFigures
from kerntrace.evidence.study_evidence import Evidence
from kerntrace.report.study_figures import Json, fraction, interval_json, ns


def regression_rows(evidence: Evidence) -> list[Json]:
    """A row a target and predictor; slopes in ms a ms of S, or ms a sequence."""
    return [_regression(one) for one in evidence.regressions]


def _regression(one: Regression) -> Json:
    target, claim, robust, plane, repeated = one.target, one.claim, one.robust, one.with_time, one.by_repetitions
    return {
        "kind": target.kind,
        "host": target.host,
        "target": target.name,
        "predictor": one.predictor,
        "unit": "ms/sequence" if one.predictor == "N" else "ms/ms",
        "cells": len(target.values),
        "distinct": one.distinct,
        "slope": fraction(one.line.slope),
        "slope_over_groups": interval_json(one.by_groups.slope, fraction),
        "slope_over_repetitions": interval_json(repeated.slope, fraction) if repeated else None,
        "intercept_ms": fraction(one.line.intercept),
        "intercept_over_groups": interval_json(one.by_groups.intercept, fraction),
        "r": fraction(one.line.r),
        "r_over_groups": interval_json(one.by_groups.r, fraction),
        "r2": fraction(one.line.r2),
        "theil_sen": fraction(robust.theil_sen) if robust else None,
        "theil_sen_interval": interval_json(robust.theil_sen_interval, fraction) if robust else None,
        "siegel": fraction(robust.siegel) if robust else None,
        "claim_slope_1_intercept_0": {
            "slope": interval_json(claim.slope, fraction),
            "intercept_ms": interval_json(claim.intercept, fraction),
            "p_slope": claim.p_slope(1.0),
            "p_flat": claim.p_slope(0.0),
            "p_both": claim.p,
        }
        if claim
        else None,
        "with_gpu_time": {
            "gpu_time": target.time_of,
            "slope": fraction(plane.first),
            "slope_interval": interval_json(plane.first_interval, fraction),
            "gpu_time_slope": fraction(plane.second),
            "gpu_time_slope_interval": interval_json(plane.second_interval, fraction),
            "r2": fraction(plane.r2),
        }
        if plane
        else None,
        "by_context": {
            str(context): {"slope": fraction(line.slope), "intercept_ms": fraction(line.intercept), "r2": fraction(line.r2)}
            for context, line in one.by_context.items()
        },
    }


def contest_rows(evidence: Evidence) -> list[Json]:
    """A row a target and form of S, with all rivals."""
    return [_contest(one) for one in evidence.contests]


def _contest(one: Contest) -> Json:
    return {
        "kind": "derived",
        "host": one.target.host,
        "target": one.target.name,
        "gpu_time": one.target.time_of,
        "s_form": one.form,
        "cells": len(one.target.values),
        "chosen": LABELS[one.chosen],
        "sure": one.sure,
        "fits": [_fit(fit) for fit in one.fits],
    }


def _fit(fit: RivalFit) -> Json:
    return {
        "rival": LABELS[fit.rival],
        "formula": FORMULAS[fit.rival],
        "constant_ms": fraction(fit.constant),
        "floor_ms": fraction(fit.floor),
        "floor_interval": interval_json(fit.floor_interval, fraction),
        "slope": fraction(fit.slope),
        "slope_interval": interval_json(fit.slope_interval, fraction),
        "rmse_ms": fraction(fit.rmse),
        "left_out_rmse_ms": fraction(fit.left_out_rmse),
        "worst": {"batch": fit.worst[0], "context": fit.worst[1]},
        "chosen_share": fraction(fit.chosen_share),
    }


def trend_rows(evidence: Evidence) -> list[Json]:
    """A row a host, mode and part of the iteration."""
    return [_trend(one) for one in evidence.trends]


def _trend(one: PhaseTrend) -> Json:
    return {
        "kind": "measured",
        "host": one.host,
        "mode": one.mode,
        "part": one.part,
        "cells": [{"batch": n, "context": c, "exposed_ns": ns(value)} for (n, c), value in sorted(one.ns.items())],
        "us_a_sequence": fraction(one.us_a_sequence),
        "at_no_sequence_ms": fraction(one.line.intercept) if one.line else None,
        "phases": list(one.phases),
    }


def accuracy_rows(evidence: Evidence) -> list[Json]:
    """A row a GPU (or all, pooled), mode or gap, and source of predictions."""
    return [_accuracy(one) for one in evidence.accuracy]


def _accuracy(one: AccuracyFigures) -> Json:
    found = one.accuracy
    return {
        "kind": "derived",
        "gpu": one.gpu,
        "of": one.of,
        "source": one.source,
        "cells": found.count,
        "left_out": one.left_out,
        "mape_over_measured": fraction(found.mape_of_measured),
        "mape_over_measured_interval": interval_json(one.mape_interval, fraction),
        "mape_over_predicted": fraction(found.mape_of_predicted),
        "signed_mean": fraction(found.bias),
        "signed_mean_interval": interval_json(one.bias_interval, fraction),
        "median_log_ratio": fraction(found.median_log_ratio),
        "median_factor": fraction(found.median_factor),
        "median_absolute_log_ratio": fraction(found.median_absolute_log_ratio),
        "worst": {"gpu": one.worst[0], "batch": one.worst[1], "context": one.worst[2]},
    }
