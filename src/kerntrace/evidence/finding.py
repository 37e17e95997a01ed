"""What is said of a claim: the verdict, the figure it rests on, and why. Room: evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from kerntrace.stats.interval import Interval
from kerntrace.study.records import Hypothesis

ALPHA = 0.05


class Verdict(str, Enum):
    """What the study says of a claim."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    INCONCLUSIVE = "inconclusive"
    NOT_TESTABLE = "not testable"


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim with its verdict.

    Attributes:
        estimate: the figure that decides, in `unit`; None where nothing could be estimated.
        kind: derived or measured.
        p: of the decision; None where it rests on a count or an interval alone. p_holm: adjusted for all claims with one.
        reason: why this verdict, in words.
        details: further figures that were looked at.
    """

    hypothesis: Hypothesis
    verdict: Verdict
    estimate: float | None
    unit: str
    kind: str
    interval: Interval | None
    reason: str
    p: float | None = None
    p_holm: float | None = None
    details: tuple[str, ...] = field(default=())


def not_testable(hypothesis: Hypothesis, reason: str, details: tuple[str, ...] = ()) -> Finding:
    """A claim that this study cannot decide."""
    return Finding(hypothesis, Verdict.NOT_TESTABLE, None, "", "derived", None, reason, details=details)


def by_interval(low_supports: bool, high_contradicts: bool) -> Verdict:
    """Supports, contradicts, or neither."""
    if low_supports:
        return Verdict.SUPPORTS
    return Verdict.CONTRADICTS if high_contradicts else Verdict.INCONCLUSIVE
