"""Data for a page's scripts: columns as base64 of the narrowest type, and JSON that no markup breaks out of. Room: report."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import msgspec
import numpy as np
from markupsafe import Markup

from kerntrace.trace.table import Ints

_TYPES = (("u1", 0, 2**8), ("i2", -(2**15), 2**15), ("i4", -(2**31), 2**31))
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def packed(values: Ints) -> dict[str, str]:
    """Integers as `{"type", "data"}`: the narrowest of uint8, int16, int32 and float64 that holds them all, little-endian.

    Whole numbers below 2**53 are exact in a float64; ns since a strip's beginning reach that after 104 days.
    """
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    fitting = next((name for name, least, beyond in _TYPES if least <= low and high < beyond), "f8")
    return {"type": fitting, "data": b64encode(values.astype(np.dtype(fitting).newbyteorder("<")).tobytes()).decode()}


def script_json(document: Any) -> Markup:
    """A document as JSON for a `<script type="application/json">` element: no character in it means anything to HTML."""
    text = msgspec.json.encode(document).decode()
    for character, escape in _UNSAFE.items():
        text = text.replace(character, escape)
    return Markup(text)
