"""Serialised ids of Nsight Systems: hardware << 56 | virtual machine << 48 | process << 24 | thread. Room: ingest."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

_LOW_24 = 0xFFFFFF


def pid_of(serialised: Any) -> Any:
    """The process of each `globalTid` or `globalPid`; null where it is null, None where the export has no such column."""
    return None if serialised is None else pc.bit_wise_and(pc.shift_right(serialised, 24), _LOW_24)


def tid_of(serialised: Any) -> Any:
    """The thread of each `globalTid`; null where it is null, None where the export has no such column."""
    return None if serialised is None else pc.bit_wise_and(serialised, _LOW_24)
