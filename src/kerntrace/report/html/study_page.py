"""The page of a study: verdicts first, then its figures, each from the `kerntrace.study/1` document. Room: report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kerntrace.errors import KerntraceError
from kerntrace.report.figures.chart import Chart
from kerntrace.report.figures.study_charts import grid_of, grid_text, machines_of, short_gpu
from kerntrace.report.figures.study_figures import STUDY_FIGURES
from kerntrace.report.html.draw import draw
from kerntrace.report.html.names import shown_name, shown_text
from kerntrace.report.html.numbers import Numbers
from kerntrace.report.html.render import render
from kerntrace.units import NS_PER_MS, ms

if TYPE_CHECKING:
    from kerntrace.evidence.study_evidence import Evidence

Json = dict[str, Any]

_MOST_CHECKS = 400
_TITLES = {
    "benefit": "Relative benefit against HBM bandwidth",
    "gap": "Absolute gap by GPU",
    "rivals": "The gap against N, with rival models",
    "exposure": "Host-exposed time within and between steps, against N",
    "predictions": "Predicted against measured",
    "crosscheck": "Cross-check: ledger against subtraction",
}
_SHORT = {
    "benefit": "Benefit",
    "gap": "Gap",
    "rivals": "Gap by N",
    "exposure": "Exposure by N",
    "predictions": "Predictions",
    "crosscheck": "Cross-check",
}


def predictions_of(evidence: Evidence) -> list[Json]:
    """What the model predicts for every step of the study's grid, as rows; none for a GPU or model that it does not know."""
    from kerntrace.evidence.prediction_table import predict_study

    given = evidence.question.predictions
    found = list(given)
    for gpu in dict.fromkeys(machine.host.gpu for machine in evidence.own) if not given else ():
        with suppress(KerntraceError):  # the document's notes say which and why
            found += predict_study(evidence.study.plan, gpu, evidence.question.s_form, evidence.question.s_table)
    return [
        {"gpu": p.gpu, "of": p.of, "source": p.source, "batch": p.batch, "context": p.context, "predicted_ns": p.ns}
        for p in found
        if not p.of.startswith("gap")
    ]


def study_page(study: Json, predictions: Sequence[Json]) -> str:
    """The HTML file of a study.

    Args:
        study: `kerntrace.study/1`.
        predictions: as `predictions_of` gives them.
    """
    charts = {name: drawn(study, predictions) for name, (drawn, _) in STUDY_FIGURES.items()}
    figures = {f"figure-{name}-{i}": draw(chart) for name, found in charts.items() for i, chart in enumerate(found)}
    machines = machines_of(study)
    context: Json = {
        "title": f"kerntrace: study {shown_name(study['study']['name'])}",
        "study": study,
        "n": Numbers({"study": study}),
        "ms": ms,
        "shown": shown_text,
        "short": short_gpu,
        "machines": machines,
        "names": {machine["host"]: machine["name"] for machine in machines},
        "grid": grid_text(grid_of(study)),
        "charts": [_Section(name, _TITLES[name], found) for name, found in charts.items()],
        "skus": _medians(study),
        "rivals": _deciding(study),
        "parts": _parts(study),
        "checks": list(enumerate(study["crosscheck"]))[:_MOST_CHECKS],
        "verdict_class": {"supports": "good", "contradicts": "bad"},
        "interval_text": _interval_text,
    }
    context["sections"] = [
        ("verdicts", "Verdicts"),
        ("machines", "Medians"),
        *((one.name, one.short) for one in context["charts"] if one.charts),
        ("provenance", "Provenance"),
    ]
    return render("study.html.j2", context, figures, {}, ["report.js"])


class _Section:
    """A figure's place on the page."""

    def __init__(self, name: str, title: str, charts: Sequence[Chart]) -> None:
        self.name = name
        self.title = title
        self.short = _SHORT[name]
        self.charts = list(enumerate(charts))


def _medians(study: Json) -> list[tuple[int, Json]]:
    """Rows of `skus` of the grid shown, each with its place."""
    grid = grid_of(study)
    return [(i, row) for i, row in enumerate(study["skus"]) if row["grid"] in (grid, "published 5x3")]


def _deciding(study: Json) -> list[tuple[int, Json]]:
    """Contests on the gap by the form of S that decides, each with its place."""
    form = study["statistics"]["s_form"]
    rows = enumerate(study["attribution"]["rivals"])
    return [(i, row) for i, row in rows if row["s_form"] == form]


def _parts(study: Json) -> Json:
    """Exposed host time by part of the iteration: the shapes of its columns, and each row with its places."""
    rows = []
    for i, row in enumerate(study["attribution"]["phases"]):
        places = {(cell["batch"], cell["context"]): j for j, cell in enumerate(row["cells"])}
        if any(cell["exposed_ns"] for cell in row["cells"]):
            rows.append((i, row, places))
    shapes = sorted({shape for _, _, places in rows for shape in places}, key=lambda shape: (shape[1], shape[0]))
    return {"shapes": shapes, "rows": rows}


def _interval_text(interval: Json | None, scale: float = 1 / NS_PER_MS, digits: int = 3) -> str:
    """An interval's ends in brackets, or nothing where there is none."""
    if not interval:
        return ""
    return f"[{interval['low'] * scale:.{digits}f}, {interval['high'] * scale:.{digits}f}]".replace("-", "\N{MINUS SIGN}")
