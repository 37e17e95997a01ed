"""Makes small traces: rows by hand, or a host and a device that play forward."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kerntrace.trace.builder import TraceBuilder
from kerntrace.trace.manifest import Capture, Environment
from kerntrace.trace.model import Trace

Row = dict[str, Any]


def decode_range(batch: int) -> str:
    """The name that vLLM gives the range of a decode step."""
    return f"execute_context_0(0)_generation_{batch}({batch})"


def prefill_range(tokens: int) -> str:
    return f"execute_context_1({tokens})_generation_0(0)"


class Recording:
    """Rows of a trace, as a recorder would leave them: in any order, times in ns from any origin."""

    def __init__(self, pid: int = 7, tid: int = 70) -> None:
        self.pid = pid
        self.tid = tid
        self.rows: dict[str, list[Row]] = {t: [] for t in ("kernels", "memops", "api_calls", "ranges", "overheads", "walls")}

    def __repr__(self) -> str:
        shown = ("start_ns", "end_ns", "name", "kind", "tid", "correlation_id", "stream_id")
        told = [f"{t}: " + " ".join(str(r[c]) for c in shown if c in r) for t, rows in self.rows.items() for r in rows]
        return "\n".join(["Recording", *told])

    def add(self, table: str, **row: Any) -> Row:
        self.rows[table].append(row)
        return row

    def kernel(self, start: int | None, end: int | None, id: int | None = None, name: str = "k", **more: Any) -> Row:
        row = {"start_ns": start, "end_ns": end, "pid": self.pid, "device_id": 0, "stream_id": 7, "correlation_id": id}
        return self.add("kernels", **row | {"graph_id": None, "graph_node_id": None, "name": name} | more)

    def memop(self, start: int | None, end: int | None, id: int | None = None, kind: str = "HtoD", **more: Any) -> Row:
        row = {"start_ns": start, "end_ns": end, "pid": self.pid, "device_id": 0, "stream_id": 7, "correlation_id": id}
        return self.add("memops", **row | {"graph_id": None, "graph_node_id": None, "kind": kind, "bytes": 64} | more)

    def call(
        self, start: int | None, end: int | None, id: int | None = None, name: str = "cudaLaunchKernel", **more: Any
    ) -> Row:
        domain = "driver" if name.startswith("cu") and name[2:3].isupper() else "runtime"
        row = {"start_ns": start, "end_ns": end, "pid": self.pid, "tid": self.tid, "correlation_id": id, "name": name}
        return self.add("api_calls", **row | {"domain": domain} | more)

    def range(self, start: int | None, end: int | None, name: str | None, **more: Any) -> Row:
        row = {
            "start_ns": start,
            "end_ns": end,
            "pid": self.pid,
            "tid": self.tid,
            "domain": None,
            "name": name,
            "payload": None,
        }
        return self.add("ranges", **row | more)

    def overhead(self, start: int, end: int, **more: Any) -> Row:
        row = {"start_ns": start, "end_ns": end, "pid": self.pid, "tid": self.tid, "kind": "buffer flush"}
        return self.add("overheads", **row | more)

    def build(self, *, epoch_ns: int | None = None, gpu: str | None = None, **capture: Any) -> Trace:
        builder = TraceBuilder(
            producer="test 1",
            epoch_ns=epoch_ns,
            clock="test clock",
            environment=Environment(gpu=gpu),
            capture=Capture(**{"collector": "synthetic"} | capture),
        )
        for table, rows in self.rows.items():
            if rows:
                builder.add(
                    table, {name: [row.get(name) for row in rows] for name in dict.fromkeys(k for r in rows for k in r)}
                )
        return builder.build()


class Playing(Recording):
    """A host thread and a device, played forward: each call takes host time, each stream runs its work in order.

    Args:
        host: the time at which the host begins, in ns.
    """

    def __init__(self, host: int = 1_000, **ids: int) -> None:
        super().__init__(**ids)
        self.host = host
        self.free: dict[int, int] = {}  # when each stream has run what it was given
        self.last_id = 0

    def wait(self, ns: int) -> None:
        self.host += ns

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """A range around what is played inside."""
        begin = self.host
        yield
        self.range(begin, self.host, name)

    def next_id(self) -> int:
        self.last_id += 1
        return self.last_id

    def calls(self, function: str, ns: int) -> tuple[int, int]:
        """A call of the host; returns its beginning and its id."""
        begin, id = self.host, self.next_id()
        self.host += ns
        self.call(begin, self.host, id, function)
        return begin, id

    def starts(self, stream: int, earliest: int, ns: int) -> tuple[int, int]:
        """When a stream runs work of this length, at the earliest from a time."""
        begin = max(earliest, self.free.get(stream, 0))
        self.free[stream] = begin + ns
        return begin, begin + ns

    def launch(self, name: str, ns: int, *, call: int = 10, latency: int = 15, stream: int = 7, **more: Any) -> None:
        begin, id = self.calls("cudaLaunchKernel", call)
        self.kernel(*self.starts(stream, begin + latency, ns), id, name, stream_id=stream, **more)

    def copy(self, ns: int, *, call: int = 10, latency: int = 15, stream: int = 7, kind: str = "DtoH") -> None:
        begin, id = self.calls("cudaMemcpyAsync", call)
        self.memop(*self.starts(stream, begin + latency, ns), id, kind, stream_id=stream)

    def replay(
        self, nodes: list[tuple[str, int]], *, graph: int = 3, call: int = 20, latency: int = 30, apart: int = 1
    ) -> None:
        begin, id = self.calls("cudaGraphLaunch", call)
        earliest = begin + latency
        for place, (name, ns) in enumerate(nodes):
            start, end = self.starts(7, earliest, ns)
            self.kernel(start, end, id, name, graph_id=graph, graph_node_id=(graph << 32) + place)
            earliest = end + apart

    def synchronise(self) -> None:
        """Wait until the device has run everything."""
        begin, id = self.host, self.next_id()
        self.host = max(self.host + 5, *self.free.values())
        self.call(begin, self.host, id, "cudaStreamSynchronize")


LAYER = (("norm_kernel", 20), ("gemm_kernel", 60), ("attention_kernel", 40), ("act_kernel", 15))


def play_step(play: Playing, batch: int, *, graph: bool, layers: int = 3, prepare: int = 200) -> None:
    """One decode step: prepare, an embedding, layers, a sampler, a copy back; the host then waits for the device."""
    play.wait(prepare)
    with play.within(decode_range(batch)):
        play.wait(50)
        play.launch("embed_kernel", 10 + batch)
        if graph:
            play.replay([(name, ns + batch) for _ in range(layers) for name, ns in LAYER], graph=batch)
        else:
            for _ in range(layers):
                for name, ns in LAYER:
                    play.wait(70)
                    play.launch(name, ns + batch)
        with play.within("sample"):
            play.wait(30)
            play.launch("argmax_kernel", 8)
            play.copy(5)
    play.synchronise()


def decode_run(*, steps: int = 6, batches: tuple[int, ...] = (4,), graph: bool = False, layers: int = 3) -> Playing:
    """Some steps of each batch size, each size after a prefill step with one kernel more."""
    play = Playing()
    for batch in batches:
        with play.within(prefill_range(128)):
            for name, ns in LAYER:
                play.launch(name, 10 * ns)
            play.launch("prefill_only_kernel", 30)
        play.synchronise()
        for _ in range(steps):
            play_step(play, batch, graph=graph, layers=layers)
    return play
