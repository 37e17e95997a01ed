"""The figures of a study by name. Room: report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kerntrace.report.figures.chart import Chart
from kerntrace.report.figures.study_batch_charts import crosscheck_chart, exposure_charts, prediction_charts, rival_charts
from kerntrace.report.figures.study_charts import benefit_chart, gap_chart

Json = dict[str, Any]


def _one(chart: Chart | None) -> list[Chart]:
    return [] if chart is None else [chart]


STUDY_FIGURES: dict[str, tuple[Callable[[Json, Sequence[Json]], list[Chart]], str]] = {
    "benefit": (lambda study, _: _one(benefit_chart(study)), "share of the step that graphs remove, against bandwidth"),
    "gap": (lambda study, _: _one(gap_chart(study)), "eager less graphed step, by GPU"),
    "rivals": (lambda study, _: rival_charts(study), "the gap against N, with the fits of rival models"),
    "exposure": (lambda study, _: exposure_charts(study), "host-exposed time within and between steps, against N"),
    "predictions": (prediction_charts, "predicted against measured steps"),
    "crosscheck": (lambda study, _: _one(crosscheck_chart(study)), "ledger less subtraction, a cell at a time"),
}
