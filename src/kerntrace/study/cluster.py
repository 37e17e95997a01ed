"""A study on a Ray cluster: a task a session, on nodes that hold an accelerator, merged by host into one store. Room: study.

Every node with an accelerator says first which host it is. Nodes of one host key share that host's work in its order; a node
has one task at a time, so that sessions do not disturb each other. The driver alone writes, when a task has ended: what a kill
of the driver costs is the sessions under way.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerntrace.errors import KerntraceError
from kerntrace.study.plan import Asked
from kerntrace.study.records import Host, LeftOut, Record, Study
from kerntrace.study.replay import replay_sites
from kerntrace.study.runner import Outcome, Watch, keep, measure
from kerntrace.study.schedule import Work, remaining
from kerntrace.study.site import Site
from kerntrace.study.store import Store

MakeLive = Callable[[Asked, "Path | None"], Site]
_PREFIX = "accelerator_type:"
_SHARE = 0.001  # of the accelerator's resource: it chooses a node, and reserves nothing


@dataclass(frozen=True, slots=True)
class _Place:
    """An accelerator of a node."""

    node: str
    accelerator: str


@dataclass(frozen=True, slots=True)
class _Order:
    """What a task is given; it makes its own site."""

    asked: Asked
    make_live: MakeLive
    recorded: Study | None
    accelerator: str

    def site(self) -> Site:
        if self.recorded is None:
            return self.make_live(self.asked, None)
        for site in replay_sites(self.recorded, self.asked.plan):
            if is_of(site.host(), self.accelerator):
                return site
        raise KerntraceError(f"the recorded study has no host with a {self.accelerator}", "")


@dataclass(frozen=True, slots=True)
class _Introduced:
    host: Host
    out: list[LeftOut]


@dataclass(frozen=True, slots=True)
class _Failed:
    what: str
    hint: str


def is_of(host: Host, accelerator: str) -> bool:
    """Whether a host's GPU is of Ray's accelerator type, e.g. `NVIDIA A100-SXM4-40GB` of `A100` or `A100-40G`."""
    return accelerator.split("-")[0].casefold() in host.gpu.casefold()


def run_on_cluster(
    store: Store, make_live: MakeLive, recorded: Study | None, watch: Watch, address: str | None = None
) -> Outcome:
    """Do what is left on every accelerator of a cluster.

    Args:
        make_live: makes the site of the node it is called on.
        recorded: a study to replay; the nodes then need no GPU.
        address: of the cluster; None for the one this process is connected to, else for the one that is found.

    Raises:
        KerntraceError: if Ray is not installed, no cluster is found, or it has no accelerator.
    """
    ray = _connected(address)
    places = _places(ray)
    task = ray.remote(max_retries=0, num_gpus=0 if recorded else 1)(_task)
    orders = {one.accelerator: ray.put(_Order(store.asked, make_live, recorded, one.accelerator)) for one in places}

    def begin(place: _Place, work: Work | None) -> Any:
        strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(place.node, soft=False)
        wanted = {_PREFIX + place.accelerator: _SHARE}
        return task.options(resources=wanted, scheduling_strategy=strategy).remote(orders[place.accelerator], work)

    outcome = Outcome()
    queues = _introduced(ray, store, places, begin, outcome)
    flying: dict[Any, tuple[_Place, str, Work]] = {}
    free = deque(queues)
    while free or flying:
        while free:
            place = free.popleft()
            key, queue = queues[place]
            work = _next(queue, outcome)
            if work is not None:
                watch.begin(work)
                watch.say(f"{place.accelerator}: mode {work.mode}, {len(work.cells)} cells")
                flying[begin(place, work)] = place, key, work
        if flying:
            _collect(ray, store, flying, free, outcome, watch)
    return outcome


def _introduced(
    ray: Any, store: Store, places: Sequence[_Place], begin: Callable[[_Place, Work | None], Any], outcome: Outcome
) -> dict[_Place, tuple[str, deque[Work]]]:
    """Each place's host key and queue; places of one host share a queue."""
    queues: dict[str, deque[Work]] = {}
    found: dict[_Place, tuple[str, deque[Work]]] = {}
    for place, future in [(place, begin(place, None)) for place in places]:
        said = _got(ray, future)
        if isinstance(said, _Failed):
            outcome.failures.setdefault(place.accelerator, KerntraceError(said.what, said.hint))
            continue
        keep(store, [said.host, *(record for record in said.out if record not in store.records)])
        if said.host.key not in queues:
            queues[said.host.key] = deque(remaining(store.asked.plan, said.host.key, store.records))
        found[place] = said.host.key, queues[said.host.key]
    return found


def _collect(
    ray: Any, store: Store, flying: dict[Any, tuple[_Place, str, Work]], free: deque[_Place], outcome: Outcome, watch: Watch
) -> None:
    """Wait for one task, keep what it measured, and free its place."""
    done, _ = ray.wait(list(flying), num_returns=1)
    for future in done:
        place, _, work = flying.pop(future)
        said = _got(ray, future)
        if isinstance(said, _Failed):
            outcome.failures.setdefault(work.mode, KerntraceError(said.what, said.hint))
        else:
            keep(store, said)
            watch.kept(said)
        free.append(place)


def _next(queue: deque[Work], outcome: Outcome) -> Work | None:
    while queue:
        work = queue.popleft()
        if work.mode not in outcome.failures:
            return work
    return None


def _task(order: _Order, work: Work | None) -> _Introduced | list[Record] | _Failed:
    """In a worker: say which host it is, or do a piece of work. An error is returned, for it must cross a process."""
    try:
        site = order.site()
        if work is None:
            return _Introduced(site.host(), site.left_out())
        offered = site.offered(work)
        return [] if offered is None else [r for group in measure(site, order.asked.plan, offered) for r in group]
    except KerntraceError as error:
        return _Failed(error.what, error.hint)


def _got(ray: Any, future: Any) -> Any:
    try:
        return ray.get(future)
    except ray.exceptions.RayError as error:
        return _Failed(
            f"a task of the cluster was lost: {(str(error).splitlines() or [''])[0][:200]}", "Run it again to resume."
        )


def require_ray() -> Any:
    """Ray's module.

    Raises:
        KerntraceError: if it is not installed.
    """
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise KerntraceError(f"Ray cannot be imported: {error}", "Install it with `pip install 'kerntrace[ray]'`.") from None
    return ray


def _connected(address: str | None) -> Any:
    ray = require_ray()
    if not ray.is_initialized():
        try:
            ray.init(address=address or "auto", log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError, RuntimeError) as error:
            line = (str(error).splitlines() or [""])[0][:200]
            raise KerntraceError(f"no Ray cluster: {line}", "Start one (ray start --head), or give --ray-address.") from None
    return ray


def _places(ray: Any) -> list[_Place]:
    found = [
        _Place(node["NodeID"], name.removeprefix(_PREFIX))
        for node in ray.nodes()
        if node["Alive"]
        for name in sorted(node["Resources"])
        if name.startswith(_PREFIX)
    ]
    if not found:
        raise KerntraceError("the Ray cluster has no accelerator", "Add a node with a GPU; its type is found by Ray.")
    return found
