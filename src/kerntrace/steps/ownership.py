"""Which step owns which work: by the launch call, never by a CPU window. Room: steps.

With asynchronous scheduling the GPU runs a step behind the host, so that no kernel of a step need run inside its range. A step
owns the device operations whose launch call began between its own beginning and the next step's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kerntrace.steps.boundaries import Boundaries
from kerntrace.trace.api_names import is_graph_launch
from kerntrace.trace.blocks import Part, summed_in_blocks
from kerntrace.trace.launches import Launches, Rows
from kerntrace.trace.model import Trace, pids
from kerntrace.trace.operations import Operations
from kerntrace.trace.table import Ints, Mask, distinct

NEVER = np.iinfo(np.int64).max
_FEW = 4  # steps whose operations are looked for one step at a time


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps with what they own. Arrays of one length, a value a step, except `owner`.

    Attributes:
        boundaries: how and where they were told apart.
        owner: for each operation the step that owns it, -1 for none.
        kernels, operations: kernels, and kernels and memops, that it owns.
        launches, graph_launches: kernel-launch calls begun in it; a nested runtime and driver pair counts once.
        signature: equal for steps that own the same kernels, whatever their order.
        window_begin, window_end: device time from its first operation to the next step's that owns any or, where no later
            work closes the window, to the end of its own last operation.
        complete: whether a later step's work closes the window; the last step's has none.
    """

    boundaries: Boundaries
    owner: Rows
    kernels: Ints
    operations: Ints
    launches: Ints
    graph_launches: Ints
    signature: Ints
    window_begin: Ints
    window_end: Ints
    complete: Mask

    def __len__(self) -> int:
        return len(self.boundaries)


def own(trace: Trace, launches: Launches, ops: Operations, boundaries: Boundaries) -> Steps:
    """Give each step the work it launched, and its window on the device."""
    count = len(boundaries)
    step_of_call = _step_at(boundaries, trace.api_calls.ints("start_ns"))
    owner = _owners(ops, step_of_call) if boundaries.on_host else _step_at(boundaries, ops.start)
    begin, end, complete = _windows(_first_starts(ops, owner, count))
    end = np.where(complete, end, _last_ends(ops, owner, ~complete))
    operations, kernels, signature = _owned(trace, ops, owner, count)
    launches_begun, graphs_begun = _begun(trace, launches, step_of_call, count)
    return Steps(boundaries, owner, kernels, operations, launches_begun, graphs_begun, signature, begin, end, complete)


def _step_at(boundaries: Boundaries, time: Ints) -> Rows:
    """The step that times which ascend fall into, -1 before the first."""
    edges = np.searchsorted(time, boundaries.begins, side="left")
    return np.repeat(np.arange(-1, len(edges), dtype=np.int32), np.diff(edges, prepend=0, append=len(time)))


def _owners(ops: Operations, step_of_call: Rows) -> Rows:
    """The step of each operation's launch call; an operation without one on record belongs to no step."""
    if not len(step_of_call):
        return np.full(len(ops), -1, np.int32)
    return np.where(ops.launch >= 0, step_of_call[ops.launch], np.int32(-1))


def _owned(trace: Trace, ops: Operations, owner: Rows, count: int) -> tuple[Ints, Ints, Ints]:
    """Each step's operations, its kernels, and a number for its multiset of kernel names.

    That is the sum of a random 32-bit number a name, exact in a double.
    """
    names = trace.kernels.names("name")
    number = np.random.default_rng(0).integers(1, 2**32, len(names.values) + 1).astype(np.float64)

    def parts(rows: slice) -> list[Part]:
        step = owner[rows]
        kernel = np.flatnonzero((step >= 0) & ops.is_kernel[rows])
        weights = number[names.codes[ops.row[rows][kernel]]]
        return [(step[step >= 0], None), (step[kernel], None), (step[kernel], weights)]

    operations, kernels, signature = (total.astype(np.int64) for total in summed_in_blocks(len(ops), count, parts))
    return operations, kernels, signature


def _begun(trace: Trace, launches: Launches, step_of_call: Rows, count: int) -> tuple[Ints, Ints]:
    """Each step's kernel-launch calls, and those of them that launch graphs."""
    launch, graph = launch_calls(trace, launches)

    def parts(rows: slice) -> list[Part]:
        step = step_of_call[rows]
        return [(step[chosen[rows] & (step >= 0)], None) for chosen in (launch, graph)]

    begun, graphs = (total.astype(np.int64) for total in summed_in_blocks(len(step_of_call), count, parts))
    return begun, graphs


def launch_calls(trace: Trace, launches: Launches) -> tuple[Mask, Mask]:
    """Calls that count as kernel launches, and those of them that launch graphs, in the processes that ran device work."""
    calls = trace.api_calls
    launch = calls.mask("is_launch") & launches.is_outermost
    working = pids(trace)
    if len(calls) and not np.array_equal(distinct(calls.ints("pid", null=-1)), working):
        launch &= np.isin(calls.ints("pid", null=-1), working)
    return launch, launch & calls.names("name").where(is_graph_launch)


def _first_starts(ops: Operations, owner: Rows, count: int) -> Ints:
    """Device time of each step's first operation, NEVER where it owns none."""
    first = np.full(count + 1, NEVER, np.int64)  # the last place takes the operations of no step
    begun = np.flatnonzero(np.diff(owner, prepend=-2))[::-1]  # of operations of one step that follow on each other, the first
    first[owner[begun]] = ops.start[begun]  # the last value assigned stays: here the earliest operation
    return first[:-1]


def _last_ends(ops: Operations, owner: Rows, wanted: Mask) -> Ints:
    """Device time at which the last operation of each wanted step ends, NEVER for the others and where it owns none."""
    last = np.full(len(wanted), np.iinfo(np.int64).min, np.int64)
    few = np.flatnonzero(wanted)
    if len(few) <= _FEW:
        chosen = np.concatenate([np.zeros(0, np.intp), *(np.flatnonzero(owner == step) for step in few)])
    else:
        chosen = np.flatnonzero(np.append(wanted, False)[owner])
    np.maximum.at(last, owner[chosen], ops.end[chosen])
    return np.where(last == np.iinfo(np.int64).min, NEVER, last)


def _windows(first: Ints) -> tuple[Ints, Ints, Mask]:
    """Each step's window: up to the first operation of the next step that owns any, since an empty one closes no window."""
    following = np.full(len(first), NEVER, np.int64)
    busy = np.flatnonzero(first != NEVER)
    if len(busy):
        place = np.searchsorted(busy, np.arange(len(first)), side="right")
        later = place < len(busy)
        following[later] = first[busy[place[later]]]
    return first, following, (first != NEVER) & (following != NEVER) & (first < following)
