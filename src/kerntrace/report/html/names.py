"""Names from traces, which are hostile input, made fit to be read in a page. Room: report.

Escaping is the template's and the chart library's work; here a name becomes one line of printable text of bounded length.
"""

from __future__ import annotations

from hashlib import sha256

LONGEST = 400  # characters; the longest real kernel names are near 1500, and their ends differ
_TAIL = 100
_LONGEST_TEXT = 4_000


def shown_name(name: str) -> str:
    """The name on one line without control characters; one too long keeps both ends, its length and the hash of the whole."""
    if len(name) <= LONGEST:
        return _printable(name) or "(no name)"
    mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    head, tail = _printable(name[: LONGEST - _TAIL]), _printable(name[-_TAIL:])
    return f"{head} \N{HORIZONTAL ELLIPSIS} {tail} [{len(name)} characters, sha256 {mark}]"


def shown_text(text: str) -> str:
    """A sentence about a trace, which may quote names from it: printable, and cut where it is longer than any we write."""
    return shown_name(text) if len(text) > _LONGEST_TEXT else _printable(text)


def _printable(text: str) -> str:
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text.strip()
