"""How single figures of a study are written in its document. Room: report."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

from kerntrace.evidence.cells import Place
from kerntrace.stats.interval import Interval
from kerntrace.stats.sessions import SessionEstimate

Json = dict[str, Any]


def ns(value: float | None) -> float | None:
    """Nanoseconds to a tenth; None for what is not known."""
    return round(value, 1) if value is not None and isfinite(value) else None


def fraction(value: float | None) -> float | None:
    """A pure number to six decimals; None for what is not known."""
    return round(value, 6) if value is not None and isfinite(value) else None


def interval_json(one: Interval | None, rounded: Callable[[float | None], float | None] = ns) -> Json | None:
    """An interval with its level and method."""
    if one is None:
        return None
    return {"low": rounded(one.low), "high": rounded(one.high), "level": one.level, "method": one.method}


def session_json(one: SessionEstimate | None) -> Json | None:
    """The 95 % interval over sessions with its centre and degrees of freedom."""
    if one is None:
        return None
    found = interval_json(one.interval())
    assert found is not None  # made of an interval
    return {"centre": ns(one.centre), "degrees_of_freedom": fraction(one.free), **found}


def decisive_json(estimate: float, session: SessionEstimate | None, *others: Interval | None) -> Json:
    """The estimate that stands for an effect, with the interval around that estimate.

    Over sessions, where there are several, each session counts as one: the estimate is then another than that of all
    repetitions as one sample, and may lie outside its interval.

    Args:
        estimate: of all repetitions. others: intervals around it, the first known one is taken.
    """
    found = interval_json(session.interval()) if session else next((interval_json(one) for one in others if one), None)
    return {"estimate_ns": ns(session.centre if session else estimate), "interval": found}


def at(place: Place) -> Json:
    """Where a figure belongs."""
    return {"host": place.host, "batch": place.batch, "context": place.context}
