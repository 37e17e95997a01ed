"""Marks of one kind as columns: steps, API calls, gaps, replays, kernels and memops. Room: report.

The `id` of an API call is its row. A mark's `by` is the `id` of its launch call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kerntrace.accounting.analysis import Analysis
from kerntrace.report.html.names import shown_name
from kerntrace.steps.families import family_of
from kerntrace.steps.names import KINDS
from kerntrace.steps.steady import why_left_out
from kerntrace.trace.api_names import is_graph_launch, is_synchronising
from kerntrace.trace.model import Trace
from kerntrace.trace.table import Ints

Index = npt.NDArray[np.intp]

CLASSES = (
    "step",
    "range",
    "launch",
    "graph launch",
    "synchronising call",
    "other call",
    "host_wait",
    "launch_call",
    "launch_latency",
    "device_gap",
    "profiler",
    "unattributed",
    "replay",
    "matrix product",
    "attention",
    "other kernel",
    "copy or memset",
)
_GAP_CLASSES = ("profiler", "host_wait", "launch_call", "launch_latency", "device_gap", "unattributed")
_NO = -1


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks of a lane, in order of start. Arrays of one length.

    Attributes:
        start, length: ns.
        kind: place in `CLASSES`.
        name: place in the strip's strings.
        id: of an API call, -1 for others.
        by: id of the launch call that a gap, replay or operation answers to, -1 for none.
        more: API call: operations it launched; gap: ns of the whole gap; replay: its operations; step: place in the strip's
            strings of why headline figures leave it out, -1 for one that they are taken over; kernel: graph node or -1;
            copy: bytes or -1.
    """

    start: Ints
    length: Ints
    kind: Ints
    name: Ints
    id: Ints
    by: Ints
    more: Ints

    def __len__(self) -> int:
        return len(self.start)


class Strings:
    """Texts of a strip, each once, fit to be shown."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        if text not in self._places:
            self._places[text] = len(self.values)
            self.values.append(shown_name(text))
        return self._places[text]

    def of_column(self, codes: npt.NDArray[np.int32], values: tuple[str, ...]) -> Ints:
        """Places of a text column's rows; the text of each distinct code is looked at once."""
        used, which = np.unique(codes, return_inverse=True)
        places = np.array([self.place(values[code] if code >= 0 else "(no name)") for code in used.tolist()], np.int64)
        return places[which.reshape(-1)] if len(used) else np.zeros(0, np.int64)


def _marks(start: Ints, length: Ints, kind: Ints | int, name: Ints | int, **more: Ints | int) -> Marks:
    order = np.argsort(start, kind="stable")

    def column(value: Ints | int) -> Ints:
        return np.broadcast_to(np.asarray(value, np.int64), start.shape)[order]

    rest = {key: column(more.get(key, _NO)) for key in ("id", "by", "more")}
    return Marks(column(start), column(length), column(kind), column(name), **rest)


def step_marks(analysis: Analysis, first: int, last: int, strings: Strings) -> Marks:
    """The windows of steps, on the device's clock."""
    steps = analysis.steps
    assert steps is not None
    some = np.flatnonzero(steps.operations[first : last + 1]) + first
    names = [strings.place(_step_name(analysis, i)) for i in some.tolist()]
    reasons = why_left_out(steps, analysis.steady)[some].tolist()
    why = np.array([strings.place(reason) if reason else _NO for reason in reasons], np.int64)
    start, end = steps.window_begin[some], steps.window_end[some]
    return _marks(start, end - start, CLASSES.index("step"), np.array(names, np.int64), more=why)


def _step_name(analysis: Analysis, i: int) -> str:
    assert analysis.steps is not None
    said = analysis.steps.boundaries
    batch = f", batch {said.batch[i]}" if said.batch[i] >= 0 else ""
    kind = KINDS[said.kind[i]]
    return f"step {i}: {kind}{batch}"


def api_marks(analysis: Analysis, rows: Index, strings: Strings) -> Marks:
    """API calls of one thread."""
    calls = analysis.trace.api_calls
    names = calls.names("name")
    text = replace(names, codes=names.codes[rows])
    launched = _launched(analysis, rows)
    start = calls.ints("start_ns")[rows]
    end = calls.ints("end_ns", null=np.iinfo(np.int64).max)[rows]
    latest = int(analysis.ops.end.max()) if len(analysis.ops) else int(start.max(initial=0))
    kind = np.full(len(rows), CLASSES.index("other call"))
    for label, chosen in (
        ("synchronising call", text.where(is_synchronising)),
        ("launch", calls.mask("is_launch")[rows]),
        ("graph launch", text.where(is_graph_launch)),
    ):
        kind[chosen] = CLASSES.index(label)
    length = np.minimum(end, np.maximum(start, latest)) - start
    return _marks(start, length, kind, strings.of_column(text.codes, text.values), id=rows, more=launched)


def _launched(analysis: Analysis, rows: Index) -> Ints:
    """How many operations each of these calls, which ascend, launched."""
    if not len(rows):
        return np.zeros(0, np.int64)
    low, high = int(rows[0]), int(rows[-1])
    launch = analysis.ops.launch
    near = launch[(launch >= low) & (launch <= high)]
    return np.bincount(near - low, minlength=high - low + 1)[rows - low]


def gap_marks(analysis: Analysis, first: int, last: int, strings: Strings) -> Marks:
    """Gaps of the steps' windows, each cut into its terms in the order in which they come."""
    gaps = analysis.ledger.gaps if analysis.ledger else None
    if gaps is None:
        return _nothing()
    rows = np.flatnonzero((gaps.step >= first) & (gaps.step <= last))
    terms = np.stack([gaps.terms[name][rows] for name in _GAP_CLASSES], axis=1)
    ends = np.cumsum(terms, axis=1) + gaps.start[rows][:, None]
    gap, term = np.nonzero(terms)
    kinds = np.array([CLASSES.index(name) for name in _GAP_CLASSES])
    length = terms[gap, term]
    return _marks(
        ends[gap, term] - length,
        length,
        kinds[term],
        strings.place(""),
        by=gaps.call[rows][gap].astype(np.int64),
        more=(gaps.end - gaps.start)[rows][gap],
    )


def replay_marks(analysis: Analysis, ops: Index, strings: Strings) -> Marks:
    """Each graph launch as one mark from the start of its first node to the end of its last."""
    launch = analysis.ops.launch[ops]
    if not len(analysis.trace.api_calls):
        return _nothing()
    names = analysis.trace.api_calls.names("name")
    mine = ops[(launch >= 0) & replace(names, codes=names.codes[launch]).where(is_graph_launch)]
    if not len(mine):
        return _nothing()
    calls, which, count = np.unique(analysis.ops.launch[mine], return_inverse=True, return_counts=True)
    start, end = np.full(len(calls), np.iinfo(np.int64).max), np.full(len(calls), np.iinfo(np.int64).min)
    np.minimum.at(start, which, analysis.ops.start[mine])
    np.maximum.at(end, which, analysis.ops.end[mine])
    places = np.array([strings.place(f"graph replay of {n} nodes") for n in count.tolist()], np.int64)
    return _marks(start, end - start, CLASSES.index("replay"), places, by=calls.astype(np.int64), more=count)


class Names:
    """Names and classes of a trace's kernels, each distinct name looked at once."""

    def __init__(self, trace: Trace, strings: Strings) -> None:
        self.trace = trace
        self.strings = strings
        self._kinds: dict[int, int] = {}

    def kinds(self, codes: npt.NDArray[np.int32]) -> Ints:
        """Classes of kernels by their names' codes."""
        used, which = np.unique(codes, return_inverse=True)
        values = self.trace.kernels.names("name").values
        for code in used.tolist():
            if code not in self._kinds:
                self._kinds[code] = CLASSES.index(_class_of(values[code] if code >= 0 else ""))
        found = np.array([self._kinds[code] for code in used.tolist()], np.int64)
        return found[which.reshape(-1)] if len(used) else np.zeros(0, np.int64)


def _class_of(name: str) -> str:
    family = family_of(name)
    if family.startswith(("gemm", "gemv", "fused_moe", "triton_tem")):
        return "matrix product"
    return "attention" if family.startswith("attention") else "other kernel"


def operation_marks(analysis: Analysis, rows: Index, names: Names) -> Marks:
    """Kernels and memops of one stream."""
    ops, trace = analysis.ops, analysis.trace
    kernel = ops.is_kernel[rows]
    row = ops.row[rows]
    kind = np.full(len(rows), CLASSES.index("copy or memset"), np.int64)
    name, more = np.zeros(len(rows), np.int64), np.full(len(rows), _NO, np.int64)
    column = trace.kernels.names("name")
    kind[kernel] = names.kinds(column.codes[row[kernel]])
    name[kernel] = names.strings.of_column(column.codes[row[kernel]], column.values)
    more[kernel] = np.where(trace.kernels.valid("graph_node_id")[row[kernel]], 1, _NO)
    if not kernel.all():
        kinds = trace.memops.names("kind")
        name[~kernel] = names.strings.of_column(kinds.codes[row[~kernel]], kinds.values)
        more[~kernel] = trace.memops.ints("bytes", null=_NO)[row[~kernel]]
    return _marks(ops.start[rows], ops.end[rows] - ops.start[rows], kind, name, by=ops.launch[rows].astype(np.int64), more=more)


def _nothing() -> Marks:
    return Marks(*(np.zeros(0, np.int64) for _ in range(7)))
