"""Ranges that a trace gives as two events, a begin and an end, put together. Room: ingest.

The two have only process and thread in common: an end closes what began last on its thread.
"""

from __future__ import annotations

import msgspec

from kerntrace.ingest.kineto_events import BEGIN, KINDS, RANGES, Event

Pair = tuple[Event, Event]  # the event that begins a range, and the one that ends it

UNENDED = Event()  # in place of the second where the file ended first


class OpenRanges:
    """What has begun and not ended, by thread."""

    def __init__(self) -> None:
        self._stacks: dict[tuple[str, str], list[Event | None]] = {}

    def closed_by(self, halves: list[Event]) -> list[Pair]:
        """Take in begins and ends in the file's order and return the ranges that are now whole."""
        pairs = []
        for event in halves:
            thread = str(event.pid), str(event.tid)
            if event.ph == BEGIN:
                self._stacks.setdefault(thread, []).append(_kept(event) if KINDS.get(event.cat or "") == RANGES else None)
                continue
            stack = self._stacks.get(thread)
            if stack is None:
                continue
            begun = stack.pop()
            if not stack:
                del self._stacks[thread]
            if begun is not None:
                pairs.append((begun, event))
        return pairs

    def left(self) -> list[Pair]:
        """The ranges that no event has ended."""
        return [(event, UNENDED) for stack in self._stacks.values() for event in stack if event is not None]


def _kept(event: Event) -> Event:
    """The event without the text around it, which its raw field would keep in memory."""
    return msgspec.structs.replace(event, ts=event.ts.copy(), dur=msgspec.Raw(b""))
