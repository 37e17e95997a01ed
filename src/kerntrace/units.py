"""Numbers for people: times, sizes and shares, each with its unit. Room: units | errors (imports nothing of ours).

Analysis computes in integer nanoseconds and bytes; these functions are for display and for reading sizes off a command line.
"""

from __future__ import annotations

import re

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000

_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def ms(ns: float) -> str:
    """`ns` nanoseconds in milliseconds with three decimals, no unit: `4.909`."""
    return f"{ns / NS_PER_MS:.3f}"


def duration(ns: float) -> str:
    """`ns` nanoseconds with the unit that keeps three or four digits: `4.909 ms`, `12.3 us`, `850 ns`."""
    size = abs(ns)
    if size >= NS_PER_S:
        return f"{ns / NS_PER_S:.3f} s"
    if size >= NS_PER_MS:
        return f"{ns / NS_PER_MS:.3f} ms"
    if size >= NS_PER_US:
        return f"{ns / NS_PER_US:.1f} us"
    return f"{ns:.0f} ns"


def share(part: float, whole: float) -> str:
    """`part` of `whole` in percent with one decimal, or a dash where there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def size(count: float) -> str:
    """`count` bytes with a decimal prefix: `3.4 GB`."""
    for prefix in ("", "k", "M", "G"):
        if abs(count) < 1000:
            return f"{count:.0f} B" if not prefix else f"{count:.1f} {prefix}B"
        count /= 1000
    return f"{count:.1f} TB"


def parse_size(text: str) -> int:
    """Bytes that `512M`, `2GB` or `1.5GiB` stands for.

    Raises:
        ValueError: if the text is not a number followed by at most one such suffix.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", text.lower())
    if not found or found[2] == "i":
        raise ValueError(f"{text!r} is not a size such as 512M or 2GiB")
    return int(float(found[1]) * _SIZES[found[2]])
