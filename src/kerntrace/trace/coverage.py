"""How much of each graph replay is on record. Room: trace.

A replay is held against the union of nodes seen over all replays of its graph: a profiler's list of node creations also names
nodes, such as event records, that leave nothing behind when they run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerntrace.trace.api_names import is_graph_launch
from kerntrace.trace.launches import Launches
from kerntrace.trace.model import Trace, pids
from kerntrace.trace.operations import Operations
from kerntrace.trace.table import Ints, Mask

Index = npt.NDArray[np.intp]

_DENSE = 1 << 20  # numbers below this are used as places of a table
_SPARSE = 8  # a table may have this many places a value before sorting is the better way


@dataclass(frozen=True, slots=True)
class Coverage:
    """Replays inside the recording. Arrays of one length.

    Attributes:
        call: row of `trace.api_calls` of the graph launch.
        seen, expected: nodes on record, and nodes that its graph has.
    """

    call: Index
    seen: Ints
    expected: Ints

    def share(self) -> float:
        """Nodes seen of those expected, over all replays."""
        return float(self.seen.sum() / self.expected.sum()) if self.expected.sum() else 0.0


def replay_coverage(trace: Trace, launches: Launches, ops: Operations) -> Coverage:
    """The coverage of every graph launch but those that the recording's head or tail cut off, in the middle perhaps."""
    graph = graph_launches(trace, launches) & recorded_stretch(ops)
    rows = np.flatnonzero(graph)
    if not len(rows):
        return Coverage(rows, np.zeros(0, np.int64), np.zeros(0, np.int64))
    number = np.full(len(graph) + 1, -1, np.int64)  # the last place takes operations without a launch
    number[rows] = np.arange(len(rows))
    replays, nodes, ids = [], [], []
    for table, of in ((trace.kernels, launches.of_kernels), (trace.memops, launches.of_memops)):
        replay = number[of]
        chosen = np.flatnonzero(replay >= 0)
        replays.append(replay[chosen])
        nodes.append(table.ints("graph_node_id", null=-1)[chosen])
        ids.append(table.ints("graph_id", null=-1)[chosen])
    seen, expected = _nodes(np.concatenate(replays), np.concatenate(nodes), np.concatenate(ids), len(rows))
    launched = np.flatnonzero(ops.first >= 0)
    cut = (seen < expected) & np.isin(rows, [launched[0], launched[-1]] if len(launched) else [])
    return Coverage(rows[~cut], seen[~cut], expected[~cut])


def graph_launches(trace: Trace, launches: Launches) -> Mask:
    """API calls that launch a graph, in the processes whose work ran on a device."""
    calls = trace.api_calls
    if not len(calls):
        return np.zeros(0, dtype=bool)
    graph = calls.names("name").where(is_graph_launch)
    if not graph.any():
        return graph
    chosen: Mask = graph & launches.is_outermost & np.isin(calls.ints("pid", null=-1), pids(trace))
    return chosen


def recorded_stretch(ops: Operations) -> Mask:
    """Calls from the first to the last one whose work is on record; what lies outside was cut off by the recording's ends."""
    launched = np.flatnonzero(ops.first >= 0)
    if not len(launched):
        return np.ones(len(ops.first), dtype=bool)
    inside = np.zeros(len(ops.first), dtype=bool)
    inside[launched[0] : launched[-1] + 1] = True
    return inside


def _nodes(replay: Ints, node: Ints, graph: Ints, replays: int) -> tuple[Ints, Ints]:
    """For each replay, the nodes recorded and those expected. A replay of which nothing is known is held to the median one."""
    count = np.bincount(replay, minlength=replays)
    if not np.any(node >= 0):  # without node ids, only a replay of which nothing is on record can be told
        return count, np.where(count > 0, count, int(np.median(count[count > 0])) if count.any() else 1)
    graph_of = np.full(replays, -1, np.int64)
    graph_of[replay] = np.where(graph >= 0, graph, node >> 32)  # CUPTI: a node id's upper half is its executable graph's
    code = _compact(node)
    seen = _distinct_a_row(replay, code, replays)
    graphs, graph_code = np.unique(graph_of, return_inverse=True)
    expected = _distinct_a_row(graph_code[replay], code, len(graphs))[graph_code]
    known = graph_of >= 0
    return seen, np.where(known, expected, int(np.median(expected[known])) if known.any() else 1)


def _compact(node: Ints) -> Ints:
    """Node ids as small numbers: their lower halves, which count from 0 in each graph, or else places among the distinct."""
    low = node & 0xFFFFFFFF
    if int(low.max()) < _DENSE:
        return low
    return np.unique(node, return_inverse=True)[1].astype(np.int64)


def _distinct_a_row(row: Ints, code: Ints, rows: int) -> Ints:
    """How many distinct codes each row has."""
    width = int(code.max()) + 1
    if rows * width <= _SPARSE * len(code) + _DENSE:
        present = np.zeros(rows * width, dtype=bool)
        present[row * width + code] = True
        count: Ints = present.reshape(rows, width).sum(axis=1)
        return count
    return np.bincount(np.unique(row * width + code) // width, minlength=rows)
