"""Events of a Kineto (Chrome) trace: the fields that are of interest, and which events are. Room: ingest.

Fields keep the type they have in the file wherever profilers differ; the columns made of them decide what is a number.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import msgspec

from kerntrace.ingest.json_stream import BrokenJsonError

KERNELS, MEMCPYS, MEMSETS, RUNTIME, DRIVER, RANGES, OVERHEADS = range(1, 8)

# Category to what the event is. Capitalised ones were written by the first versions of Kineto; AMD's builds file HIP calls
# under cuda_runtime, or under names of their own. gpu_user_annotation is left out: it repeats user_annotation on the GPU.
KINDS = {
    "kernel": KERNELS,
    "Kernel": KERNELS,
    "gpu_memcpy": MEMCPYS,
    "Memcpy": MEMCPYS,
    "gpu_memset": MEMSETS,
    "Memset": MEMSETS,
    "cuda_runtime": RUNTIME,
    "hip_runtime": RUNTIME,
    "Runtime": RUNTIME,
    "cuda_driver": DRIVER,
    "hip_driver": DRIVER,
    "user_annotation": RANGES,
    "overhead": OVERHEADS,
}
WHOLE, BEGIN, END = "X", "B", "E"  # phases: an event with its duration, and the two halves of one


_NO_TOKEN = msgspec.Raw(b"")


class Args(msgspec.Struct, gc=False, frozen=True):
    """The `args` of a device operation or an API call, in the order that Kineto writes them, which is found fastest.

    Lists stay JSON text, empty where missing, for many kernels have the same and one object each would burden the collector.
    """

    device: Any = None
    context: Any = None
    stream: Any = None
    correlation: Any = None
    bytes: Any = None
    registers: Any = msgspec.field(default=None, name="registers per thread")
    shared_memory: Any = msgspec.field(default=None, name="shared memory")
    grid: msgspec.Raw = _NO_TOKEN
    block: msgspec.Raw = _NO_TOKEN
    graph_id: Any = msgspec.field(default=None, name="graph id")
    graph_node_id: Any = msgspec.field(default=None, name="graph node id")
    in_device: Any = msgspec.field(default=None, name="inDevice")  # of a copy between two devices
    kind: Any = None  # of a copy, in AMD's traces


_NO_ARGS = Args()


class Event(msgspec.Struct, gc=False, frozen=True):
    """An event. `ts` and `dur` are JSON text, since a double would not hold every nanosecond; empty where missing."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = _NO_TOKEN
    dur: msgspec.Raw = _NO_TOKEN
    args: Args | None = _NO_ARGS


NOTHING = Event()  # stands for an element that is no event of interest


class EventDecoder:
    """Decodes runs of trace events quickly, and an odd one alone with more patience."""

    def __init__(self) -> None:
        self._run = msgspec.json.Decoder(list[Event | list[Any] | str | int | float | bool | None])
        self._one = msgspec.json.Decoder(Event)

    def run(self, text: bytes) -> list[Event]:
        try:
            elements = self._run.decode(text)
        except msgspec.MsgspecError as error:  # which is a ValueError in newer versions only
            raise ValueError(str(error)) from None
        return [e if isinstance(e, Event) else NOTHING for e in elements]

    def one(self, text: bytes, index: int) -> Event:
        """The event in the text; NOTHING where it is odd and of no interest.

        Raises:
            BrokenJsonError: if it is not JSON, or is of interest and a field of it has a type that it never has.
        """
        try:
            return self._one.decode(text)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return _patiently(text, f"traceEvents[{index}]")


def _patiently(text: bytes, where: str) -> Event:
    """An event that strict JSON rules or the types of Event refuse: NaN, control characters, broken UTF-8, foreign events."""
    try:
        value = json.loads(
            text.decode("utf-8", "replace"), strict=False, parse_float=Decimal, parse_constant=lambda constant: None
        )
    except RecursionError:
        raise BrokenJsonError(f"{where} is nested too deeply") from None
    except (ValueError, ArithmeticError):
        raise BrokenJsonError(f"{where} is not JSON") from None
    if not isinstance(value, dict):
        return NOTHING
    phase, category, args = value.get("ph"), value.get("cat"), value.get("args")
    category = category if isinstance(category, str) else None
    if phase == WHOLE and category in KINDS:
        if not isinstance(args, dict | None):
            raise BrokenJsonError(f"{where}, a {category}, has args that are no object")
    elif phase not in (BEGIN, END):
        return NOTHING
    return Event(
        ph=phase,
        cat=category,
        name=_text(value.get("name")),
        pid=value.get("pid"),
        tid=value.get("tid"),
        ts=_token(value.get("ts")),
        dur=_token(value.get("dur")),
        args=_arguments(args) if isinstance(args, dict) else None,
    )


def _arguments(args: dict[str, Any]) -> Args:
    known: dict[str, Any] = {}
    for field in msgspec.structs.fields(Args):
        value = args.get(field.encode_name)
        if field.type is msgspec.Raw:
            known[field.name] = msgspec.Raw(json.dumps(value, default=float).encode())
        else:
            known[field.name] = float(value) if isinstance(value, Decimal) else value
    return Args(**known)


def _text(value: Any) -> str | None:
    """A name; half a surrogate pair, which no encoding holds, becomes a question mark."""
    return None if value is None else str(value).encode("utf-8", "replace").decode()


def _token(value: Any) -> msgspec.Raw:
    if value is None:
        return _NO_TOKEN
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return msgspec.Raw(str(value))
    return msgspec.Raw(b'"?"')
