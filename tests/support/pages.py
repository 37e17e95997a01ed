"""Reads an HTML page: its numbers with their places, its text, and the JSON it carries."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any


@dataclass
class Number:
    """A `<data>` element."""

    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page:
    """What a page holds.

    Attributes:
        held: documents in `<script type="application/json">` by id.
        text: everything that is shown.
        tags: names of the elements, in order.
    """

    numbers: list[Number] = field(default_factory=list)
    held: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self._open: Number | None = None
        self._script: dict[str, str] | None = None
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.page.tags.append(tag)
        self.page.attributes += [(tag, name, value) for name, value in given.items()]
        if tag == "data":
            self._open = Number(given)
        if tag == "script":
            self._script = given
        self._silent += tag == "style"
        if tag in ("td", "th"):
            self.page.text += " "

    def handle_endtag(self, tag: str) -> None:
        if tag == "data" and self._open is not None:
            self.page.numbers.append(self._open)
            self._open = None
        if tag == "script":
            self._script = None
        self._silent -= tag == "style"

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            if self._script.get("type") == "application/json":
                self.page.held[self._script["id"]] = json.loads(data)
            return
        if self._open is not None:
            self._open.text += data
        if not self._silent:
            self.page.text += data


def read_page(path: Path) -> Page:
    """Parse a page."""
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    return reader.page
