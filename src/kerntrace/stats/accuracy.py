"""How far predictions are from measurements, each metric with its denominator named. Room: stats | hardware | workload.

"33 % off" means two things: 33 % of the measured value, or of the predicted one. A prediction 49 % above a measurement is one
whose measurement is 33 % below it. So there are two relative errors here, and a symmetric one, the log ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean, median


def ape_of_measured(predicted: float, measured: float) -> float:
    """|predicted - measured| / measured.

    Raises:
        ValueError: if a value is not above zero.
    """
    _positive(predicted, measured)
    return abs(predicted - measured) / measured


def ape_of_predicted(predicted: float, measured: float) -> float:
    """|predicted - measured| / predicted.

    Raises:
        ValueError: if a value is not above zero.
    """
    _positive(predicted, measured)
    return abs(predicted - measured) / predicted


def signed_error(predicted: float, measured: float) -> float:
    """(predicted - measured) / measured: above zero where the prediction is too long.

    Raises:
        ValueError: if a value is not above zero.
    """
    _positive(predicted, measured)
    return (predicted - measured) / measured


def log_ratio(predicted: float, measured: float) -> float:
    """ln(predicted / measured): equal in size for twice and for half.

    Raises:
        ValueError: if a value is not above zero.
    """
    _positive(predicted, measured)
    return log(predicted / measured)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Errors over cells or kernels, as fractions.

    Attributes:
        mape_of_measured: mean of |p - m| / m.
        mape_of_predicted: mean of |p - m| / p.
        bias: mean of (p - m) / m.
        median_log_ratio: median of ln(p / m); `median_factor` is its exponential.
        median_absolute_log_ratio: median of |ln(p / m)|.
        weighted_mape: sum of |p - m| / sum of m, so that long kernels count by their time.
        worst: the pair with the largest |p - m| / m, by position.
    """

    count: int
    mape_of_measured: float
    mape_of_predicted: float
    bias: float
    median_log_ratio: float
    median_absolute_log_ratio: float
    weighted_mape: float
    worst: int

    @property
    def median_factor(self) -> float:
        return exp(self.median_log_ratio)


def accuracy(predicted: Sequence[float], measured: Sequence[float]) -> Accuracy:
    """The errors of predictions, pair by pair.

    Raises:
        ValueError: if there are none, their numbers differ, or a value is not above zero.
    """
    if len(predicted) != len(measured) or not predicted:
        raise ValueError(f"{len(predicted)} predictions for {len(measured)} measurements")
    pairs = list(zip(predicted, measured, strict=True))
    of_measured = [ape_of_measured(p, m) for p, m in pairs]
    logs = [log_ratio(p, m) for p, m in pairs]
    return Accuracy(
        count=len(pairs),
        mape_of_measured=fmean(of_measured),
        mape_of_predicted=fmean(ape_of_predicted(p, m) for p, m in pairs),
        bias=fmean(signed_error(p, m) for p, m in pairs),
        median_log_ratio=median(logs),
        median_absolute_log_ratio=median(abs(ratio) for ratio in logs),
        weighted_mape=sum(abs(p - m) for p, m in pairs) / sum(measured),
        worst=max(range(len(pairs)), key=of_measured.__getitem__),
    )


def _positive(*values: float) -> None:
    for value in values:
        if not value > 0:
            raise ValueError(f"{value} is not a time above zero")
