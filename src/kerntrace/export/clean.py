"""Names, which anyone may have chosen, made fit for a format. Room: export. Arrow texts are valid UTF-8 already."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of one
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def without_nul(text: str) -> str:
    """The text for programs that take a NUL for its end."""
    return text.replace("\0", REPLACEMENT)


def one_line(text: str, longest: int) -> str:
    """The text on one line and no longer than that: control characters and those that turn text around become a space."""
    line = _CONTROL.sub(" ", text[: 2 * longest]).strip() or "(unnamed)"
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def cell(text: str) -> str:
    """The text for a cell of a spreadsheet, which must not take it for a formula; an apostrophe before it says so."""
    text = without_nul(text)
    return f"'{text}" if text.startswith(_FORMULA) else text
