"""Predictions beside a study's measured steps and gaps, each error with its denominator named. Room: evidence.

The table of predictions is of `prediction_table`. It is never fitted to the study.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kerntrace.evidence.effects import GAP, CellFigures
from kerntrace.evidence.prediction_table import Predicted
from kerntrace.stats.accuracy import Accuracy, accuracy
from kerntrace.stats.bootstrap import stream
from kerntrace.stats.interval import Floats, Interval, of_draws, two_sided_p

METHOD = "bootstrap over cells"
POOLED = "pooled"


@dataclass(frozen=True, slots=True)
class AccuracyFigures:
    """One source's errors for one mode or gap, over the cells of one GPU or of all.

    Attributes:
        mape_interval: of the mean of |p - m| / m. bias_interval: of the mean of (p - m) / m.
        draws: (resamples,) of the former.
        worst: (gpu, batch, context) of the largest |p - m| / m.
        left_out: cells whose measured or predicted time is not above zero, where no ratio can be had.
    """

    gpu: str
    of: str
    source: str
    accuracy: Accuracy
    mape_interval: Interval | None
    bias_interval: Interval | None
    draws: Floats
    worst: tuple[str, int, int]
    left_out: int


def study_accuracy(
    cells: Mapping[str, Sequence[CellFigures]], predictions: Sequence[Predicted], seed: int, resamples: int
) -> tuple[AccuracyFigures, ...]:
    """The errors of every source, by GPU and pooled.

    Args:
        cells: by GPU name, those of the study reported.
    """
    table = {(one.gpu, one.of, one.batch, one.context, one.source): one.ns for one in predictions}
    pairs: dict[tuple[str, str, str], list[tuple[float, float, tuple[str, int, int]]]] = defaultdict(list)
    several = len(cells) > 1
    for source, of in dict.fromkeys((one.source, one.of) for one in predictions):
        for gpu, mine in cells.items():
            for cell in mine:
                place = (gpu, cell.place.batch, cell.place.context)
                predicted, measured = table.get((gpu, of, *place[1:], source)), _measured(cell, of)
                if predicted is not None and measured is not None:
                    for name in (gpu, POOLED) if several else (gpu,):
                        pairs[name, of, source].append((predicted, measured, place))
    found = (_figures(*key, group, seed, resamples) for key, group in pairs.items())
    return tuple(one for one in found if one is not None)


def _measured(cell: CellFigures, of: str) -> float | None:
    if of.startswith(GAP):
        return cell.effects[GAP].estimate if GAP in cell.effects else None
    return cell.arms[of].median if of in cell.arms else None


def _figures(
    gpu: str, of: str, source: str, pairs: list[tuple[float, float, tuple[str, int, int]]], seed: int, resamples: int
) -> AccuracyFigures | None:
    good = [pair for pair in pairs if pair[0] > 0 and pair[1] > 0]
    if not good:
        return None
    predicted, measured = (np.array([pair[i] for pair in good]) for i in (0, 1))
    signed = (predicted - measured) / measured
    drawn = stream(seed, "accuracy", gpu, of, source).integers(0, len(good), (resamples, len(good)))
    draws: Floats = np.abs(signed)[drawn].mean(axis=1)
    whole = accuracy(predicted.tolist(), measured.tolist())
    several = len(good) > 1
    return AccuracyFigures(
        gpu,
        of,
        source,
        whole,
        of_draws(draws, METHOD) if several else None,
        of_draws(signed[drawn].mean(axis=1), METHOD) if several else None,
        draws,
        good[whole.worst][2],
        len(pairs) - len(good),
    )


def p_beyond(figures: AccuracyFigures, level: float) -> float | None:
    """The two-sided p value of a mean error other than `level`."""
    return two_sided_p(figures.draws, level) if figures.mape_interval else None
