"""Where steps begin on the host. Room: steps.

Looked for in this order: a pattern the user gave, kerntrace's ranges, vLLM's ranges, else the period of the kernel sequence.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.errors import KerntraceError, UsageError
from kerntrace.steps.names import KERNTRACE, KINDS, UNKNOWN, VLLM, StepName, read_step_name
from kerntrace.trace.model import Trace, pids
from kerntrace.trace.table import Ints, Mask


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Steps as the host tells them apart, in time order. Arrays of one length.

    Attributes:
        method: kerntrace, vllm, regex or periodic.
        begins: host time (ns) from which a launch call belongs to the step.
        kind: index into `kerntrace.steps.names.KINDS`.
        batch, prefill_tokens: -1 where not said.
        detail: how they were found, for people; empty where the method says all.
        on_host: whether `begins` is host time; False where no API call is on record and device time must serve.
    """

    method: str
    begins: Ints
    kind: npt.NDArray[np.int8]
    batch: Ints
    prefill_tokens: Ints
    detail: str = ""
    on_host: bool = True

    def __len__(self) -> int:
        return len(self.begins)


def compile_pattern(text: str) -> re.Pattern[str]:
    """The user's pattern for step ranges.

    Raises:
        UsageError: if it is not a regular expression.
    """
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(
            f"--step-range {text!r} is not a regular expression: {error}", "Quote it, and escape ( and )."
        ) from None


def find_ranges(trace: Trace, pattern: re.Pattern[str] | None) -> Boundaries | None:
    """Steps by NVTX ranges, or None where no range is a step's.

    Raises:
        KerntraceError: if the user's pattern matches no range; the message names some that are there.
    """
    if pattern is not None:
        found = _by_name(trace, lambda name: pattern.search(name) is not None)
        if not found.any():
            raise KerntraceError(f"no range matches --step-range {pattern.pattern!r}", some_names(trace))
        return _boundaries(trace, "regex", found, pattern)
    for method, form in (("kerntrace", KERNTRACE), ("vllm", VLLM)):
        found = _by_name(trace, lambda name, form=form: form.search(name) is not None)  # type: ignore[misc]
        if found.any():
            return _boundaries(trace, method, found, None)
    return None


def _by_name(trace: Trace, predicate: Callable[[str], bool]) -> Mask:
    """Ranges with such a name; of several processes that have some, only those whose work ran on the device."""
    found = trace.ranges.names("name").where(predicate) & trace.ranges.valid("start_ns")
    if found.any():
        working = found & np.isin(trace.ranges.ints("pid", null=-1), pids(trace))
        if working.any():
            return working
    return found


def _boundaries(trace: Trace, method: str, found: Mask, pattern: re.Pattern[str] | None) -> Boundaries:
    rows = np.flatnonzero(found)  # ranges are in order of start already
    names = trace.ranges.names("name")
    codes = names.codes[rows]
    used = np.unique(codes)
    said = [read_step_name(names.values[code], pattern) for code in used]
    which = np.searchsorted(used, codes)

    def column(value: Callable[[StepName], int], kind: npt.DTypeLike) -> npt.NDArray[np.generic]:
        return np.array([value(s) for s in said], dtype=kind)[which]

    return Boundaries(
        method,
        trace.ranges.ints("start_ns")[rows].astype(np.int64),
        column(lambda s: KINDS.index(s.kind), np.int8),  # type: ignore[arg-type]
        column(lambda s: UNKNOWN if s.batch is None else s.batch, np.int64),  # type: ignore[arg-type]
        column(lambda s: UNKNOWN if s.prefill_tokens is None else s.prefill_tokens, np.int64),  # type: ignore[arg-type]
    )


def some_names(trace: Trace) -> str:
    """The commonest range names of a trace, as a hint for people."""
    names = trace.ranges.names("name")
    if not names.values:
        return "This trace holds no ranges; record with NVTX on (nsys profile -t cuda,nvtx)."
    counts = np.bincount(names.codes[names.codes >= 0], minlength=len(names.values))
    common = [repr(names.values[i][:60]) for i in np.argsort(-counts, kind="stable")[:4]]
    return f"Ranges in this trace: {', '.join(common)}{', ...' if len(names.values) > 4 else ''}."
