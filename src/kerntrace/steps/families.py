"""Families of kernels: one short, stable name for the same work, however it was compiled or launched. Room: steps.

A family joins the template instantiations and tile sizes of one kernel, which change with batch size and version, and keeps
different work apart. It is a label for people and for comparing two traces; it is not a measurement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from hashlib import blake2s

from kerntrace.steps.cxx_names import function_family
from kerntrace.steps.family_rules import RULES

LONGEST = 80
NAMELESS = "(no name)"
_INSPECTED = 4096  # characters of a name that count; the longest real ones are near 1500
_HASH = 8


def family_of(name: str) -> str:
    """The family of a kernel: one printable line of 1 to 80 characters.

    Args:
        name: the kernel's name as recorded; any text. Only its first 4096 characters count.
    """
    return _family(name[:_INSPECTED])


def families(values: Sequence[str]) -> tuple[list[int], list[str]]:
    """The families of many names.

    Returns:
        For each name the number of its family, and the families by number, in order of first appearance.
    """
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(family_of(value), len(numbers)) for value in values]
    return codes, list(numbers)


@lru_cache(maxsize=1 << 14)
def _family(name: str) -> str:
    line = _one_line(name)
    if not line:
        return NAMELESS
    return _fitting(next(_by_rule(line), None) or function_family(line) or line)


def _one_line(text: str) -> str:
    """Text with control characters, line breaks and other unprintable ones as single spaces."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text.split())


def _by_rule(line: str) -> Iterator[str]:
    for needle, family, pattern in _rules():
        if needle not in line:
            continue
        if pattern is None:
            yield family
        elif found := pattern.search(line):
            yield _filled(family, found)


def _filled(family: str, found: re.Match[str]) -> str:
    return re.sub(r"\\(\d)", lambda group: _small(found[int(group[1])]), family)


def _small(word: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower()


def _fitting(family: str) -> str:
    """The family, or if it is too long, its beginning and a hash of the whole so that long ones stay apart."""
    if len(family) <= LONGEST:
        return family
    mark = blake2s(family.encode("utf-8", "replace"), digest_size=_HASH // 2).hexdigest()
    return f"{family[: LONGEST - _HASH - 1]}~{mark}"


@cache
def _rules() -> tuple[tuple[str, str, re.Pattern[str] | None], ...]:
    return tuple((rule.needle, rule.family, re.compile(rule.pattern) if rule.pattern else None) for rule in RULES)
