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


def at(place: Place) -> Json:
    """Where a figure belongs."""
    return {"host": place.host, "batch": place.batch, "context": place.context}
