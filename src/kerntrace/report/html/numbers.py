"""Numbers of a page, each looked up in a document by its place and written with that place beside it. Room: report.

A number is `<data value="4909123" data-key="a.steps:summary.0.busy_ns.median">4.909</data>`: the value is the document's own,
the text is for people. So no number of a page can differ from `--json`, and a test reads both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup

from kerntrace.report.roofline_document import KINDS
from kerntrace.units import duration, ms, share

Json = dict[str, Any]

NUMBER_KINDS = ("measured", "derived", "predicted", "simulated", "reference")


def look_up(document: Any, path: str) -> Any:
    """What stands at `summary.0.wall_ns.median`: names and places, joined by dots."""
    for part in path.split("."):
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


class Numbers:
    """Writes numbers of some documents.

    Args:
        documents: by name, e.g. `a.steps`, `compare`.
    """

    def __init__(self, documents: Mapping[str, Json]) -> None:
        self.documents = documents

    def value(self, name: str, path: str) -> Any:
        """The value itself, for arithmetic on the way to a share or a width."""
        return look_up(self.documents[name], path)

    def ms(self, name: str, path: str) -> Markup:
        return self._written(name, path, ms)

    def duration(self, name: str, path: str) -> Markup:
        return self._written(name, path, duration)

    def count(self, name: str, path: str) -> Markup:
        return self._written(name, path, lambda value: f"{value:,g}" if value < 1e6 else f"{value:,.0f}")

    def percent(self, name: str, path: str) -> Markup:
        return self._written(name, path, lambda value: f"{100 * value:.1f} %")

    def signed_percent(self, name: str, path: str) -> Markup:
        return self._written(name, path, lambda value: f"{100 * value:+.1f} %")

    def number(self, name: str, path: str, digits: int = 1) -> Markup:
        return self._written(name, path, lambda value: f"{value:,.{digits}f}")

    def p(self, name: str, path: str) -> Markup:
        """A probability."""
        return self._written(name, path, lambda value: "< 0.0001" if value < 1e-4 else f"{value:.4f}")

    def share(self, name: str, part: str, whole: str) -> Markup:
        """A share of two places' values; derived."""
        found = share(self.value(name, part), self.value(name, whole))
        return Markup('<span data-kind="derived">{}</span>').format(found)

    def _written(self, name: str, path: str, form: Callable[[float], str]) -> Markup:
        value = self.value(name, path)
        key = f"{name}:{path}"
        if value is None:
            return Markup('<data value="" data-key="{}">\N{EN DASH}</data>').format(key)
        return Markup('<data value="{}" data-key="{}" data-kind="{kind}" title="{kind}">{}</data>').format(
            value, key, form(value).replace("-", "\N{MINUS SIGN}"), kind=kind_of(name, path, self.documents[name])
        )


def kind_of(name: str, path: str, document: Any) -> str:
    """Whether a number is measured, derived, predicted, simulated or a reference: what the document says nearest to it."""
    parts = path.split(".")
    if name.endswith("roofline"):
        return next((KINDS[part] for part in reversed(parts) if part in KINDS), "measured")
    found = "derived" if ".delta." in path or parts[-1].startswith("share") else "measured"
    for part in parts:
        document = document[int(part)] if isinstance(document, list) else document[part]
        if isinstance(document, dict) and document.get("kind") in NUMBER_KINDS:
            found = document["kind"]
    return found
