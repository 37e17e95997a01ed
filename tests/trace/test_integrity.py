"""One rule at a time: what it lets pass and what it refuses, on either side of its edge."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.recording import Playing, Recording, decode_range, decode_run

from kerntrace.accounting.analysis import Question, analyse
from kerntrace.trace.integrity import Rule
from kerntrace.trace.model import Trace

DAY = 24 * 3600 * 10**9
NAMES = {
    "kernels-recorded",
    "graph-node-granularity",
    "replay-coverage",
    "timestamps",
    "duplicate-records",
    "dropped-records",
} | {
    "clock-skew",
    "correlation-ids",
    "one-device",
    "one-process",
    "kernel-count",
    "cut-head-and-tail",
}


def rules(trace: Trace | Recording, **asked: int) -> dict[str, Rule]:
    built = trace.build() if isinstance(trace, Recording) else trace
    return {rule.rule: rule for rule in analyse(built, Question(asked.get("device"), asked.get("pid"))).rules}


def refusing(trace: Trace | Recording, **asked: int) -> set[str]:
    """The names of the rules that refuse."""
    return {name for name, rule in rules(trace, **asked).items() if not rule.ok}


@pytest.mark.parametrize("graph", [False, True])
def test_a_sound_trace_passes_every_rule(graph: bool) -> None:
    found = rules(decode_run(graph=graph, batches=(1, 4)))
    assert set(found) == NAMES
    assert all(rule.ok and rule.detail and not rule.fix for rule in found.values())


def test_a_rule_that_refuses_says_what_to_do_in_a_line() -> None:
    made = decode_run()
    made.rows["kernels"].append(dict(made.rows["kernels"][3]))
    rule = rules(made)["duplicate-records"]
    assert rule.fix
    assert "\n" not in rule.detail + rule.fix


def test_a_refused_trace_gives_no_ledger() -> None:
    assert analyse(decode_run().build(), Question()).ledger is not None
    assert analyse(decode_run().build(dropped_records=1), Question()).ledger is None


# ---- kernels-recorded


def test_no_kernel_is_refused() -> None:
    assert refusing(Recording()) == {"kernels-recorded"}
    made = decode_run()
    count = sum(call["name"] == "cudaLaunchKernel" for call in made.rows["api_calls"])
    made.rows["kernels"].clear()
    found = rules(made)["kernels-recorded"]
    assert not found.ok
    assert f"{count} kernel launch calls" in found.detail


def test_one_kernel_is_enough() -> None:
    made = Recording()
    made.kernel(1, 2)
    assert rules(made)["kernels-recorded"].ok


# ---- graphs


def without_nodes(play: Playing, keep: int = 0) -> Playing:
    """The same, with the nodes of all replays but the first `keep` missing."""
    replays = [call["correlation_id"] for call in play.rows["api_calls"] if call["name"] == "cudaGraphLaunch"]
    gone = set(replays[keep:])
    play.rows["kernels"] = [k for k in play.rows["kernels"] if k["correlation_id"] not in gone]
    return play


def test_graph_launches_without_one_kernel_are_whole_graph_granularity() -> None:
    assert "graph-node-granularity" in refusing(without_nodes(decode_run(graph=True)))
    assert "graph-node-granularity" in refusing(without_nodes(decode_run(graph=True)).build(whole_graph_replays=6))
    assert "graph-node-granularity" in refusing(Recording().build(whole_graph_replays=6))


def test_replays_with_nodes_beside_spans_pass() -> None:
    assert refusing(decode_run(graph=True).build(whole_graph_replays=6)) == set()


def test_a_graph_launch_after_all_recorded_work_is_only_cut_off() -> None:
    play = decode_run()
    play.wait(1000)
    play.calls("cudaGraphLaunch", 20)
    assert refusing(play) == set()


def test_a_replay_that_lost_a_node_is_under_recorded() -> None:
    play = decode_run(graph=True)
    nodes = [n for n, kernel in enumerate(play.rows["kernels"]) if kernel["graph_node_id"] is not None]
    del play.rows["kernels"][nodes[len(nodes) // 2]]
    found = rules(play)["replay-coverage"]
    assert not found.ok
    assert "1 of 6 graph replays" in found.detail
    assert "1 kernels missing" in found.detail


def test_a_replay_lost_whole_between_others_is_under_recorded() -> None:
    play = decode_run(graph=True)
    replays = [call["correlation_id"] for call in play.rows["api_calls"] if call["name"] == "cudaGraphLaunch"]
    play.rows["kernels"] = [k for k in play.rows["kernels"] if k["correlation_id"] != replays[2]]
    assert "replay-coverage" in refusing(play)


def test_the_same_without_node_ids() -> None:
    play = decode_run(graph=True)
    for kernel in play.rows["kernels"]:
        kernel["graph_id"] = kernel["graph_node_id"] = None
    assert refusing(play) == set()
    replays = [call["correlation_id"] for call in play.rows["api_calls"] if call["name"] == "cudaGraphLaunch"]
    play.rows["kernels"] = [k for k in play.rows["kernels"] if k["correlation_id"] != replays[2]]
    assert "replay-coverage" in refusing(play)


def cut_after(play: Playing, nodes: int) -> Playing:
    """The recording ends when this many nodes of the last replay have run."""
    last = max(c["correlation_id"] for c in play.rows["api_calls"] if c["name"] == "cudaGraphLaunch")
    mine = sorted((k for k in play.rows["kernels"] if k["correlation_id"] == last), key=lambda k: k["start_ns"])
    end = mine[nodes]["start_ns"]
    for table in ("kernels", "memops"):
        play.rows[table] = [row for row in play.rows[table] if row["start_ns"] < end]
    play.rows["api_calls"] = [call for call in play.rows["api_calls"] if call["start_ns"] < end]
    return play


@pytest.mark.parametrize("nodes", [0, 1, 11])
def test_a_recording_that_ends_in_a_replay_is_cut_and_not_under_recorded(nodes: int) -> None:
    assert refusing(cut_after(decode_run(graph=True), nodes)) == set()


def test_a_replay_that_lost_its_end_while_recording_went_on_is_under_recorded() -> None:
    play = decode_run(graph=True)
    first = min(c["correlation_id"] for c in play.rows["api_calls"] if c["name"] == "cudaGraphLaunch")
    mine = [k for k in play.rows["kernels"] if k["correlation_id"] == first]
    play.rows["kernels"].remove(max(mine, key=lambda k: k["start_ns"]))
    assert "replay-coverage" in refusing(play)


@pytest.mark.parametrize("ids", ["graph", "node"])
def test_graphs_of_different_sizes_are_held_to_their_own_nodes(ids: str) -> None:
    play = Playing()
    for size in (3, 5):
        for _ in range(4):
            with play.within(decode_range(size)):
                play.replay([(f"k{n}", 20) for n in range(size)], graph=size)
            play.synchronise()
    if ids == "node":  # the graph is then told by the upper half of its nodes' ids
        for kernel in play.rows["kernels"]:
            kernel["graph_id"] = None
    assert refusing(play) == set()
    play.rows["kernels"].remove(next(k for k in play.rows["kernels"] if k["name"] == "k4"))
    assert "replay-coverage" in refusing(play)


# ---- timestamps


@pytest.mark.parametrize("table", ["kernels", "memops"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"start_ns": 0, "end_ns": 0}, "zero"),
        ({"start_ns": None}, "zero"),
        ({"end_ns": None}, "zero"),
        ({"end_ns": 1}, "negative"),
        ({"end_ns": 2 * DAY}, "absurd"),
        ({"start_ns": 40 * DAY, "end_ns": 40 * DAY + 5}, "absurd"),
        ({"start_ns": -40 * DAY, "end_ns": -40 * DAY + 5}, "absurd"),
        ({"start_ns": 30 * DAY + 10**9, "end_ns": 30 * DAY + 10**9 + 5}, "absurd"),
        ({"start_ns": 2**63 - 9, "end_ns": 2**63 - 2}, "absurd"),
        ({"start_ns": -(2**63), "end_ns": 2**63 - 1}, "absurd"),
        ({"end_ns": 2**63 - 1}, "absurd"),
        ({"start_ns": -(2**63)}, "absurd"),
    ],
)
def test_a_time_that_cannot_be(table: str, change: dict[str, Any], said: str) -> None:
    made = decode_run()
    made.rows[table][2] |= change
    found = rules(made)["timestamps"]
    assert not found.ok
    assert f"1 of {len(made.rows[table])} {table}" in found.detail
    assert said in found.detail


def test_work_of_no_length_and_a_call_still_open_pass() -> None:
    made = decode_run()
    kernel = made.rows["kernels"][3]
    kernel["end_ns"] = kernel["start_ns"]
    made.rows["api_calls"][-1]["end_ns"] = None
    assert refusing(made) == set()


def test_a_day_is_long_enough_for_anything() -> None:
    made = decode_run()
    last = max(made.rows["kernels"], key=lambda k: int(k["end_ns"]))
    last["end_ns"] = last["start_ns"] + DAY
    assert rules(made)["timestamps"].ok
    last["end_ns"] += 1
    assert not rules(made)["timestamps"].ok


@pytest.mark.parametrize(
    "change", [{"end_ns": 5}, {"end_ns": 3 * DAY}, {"start_ns": 40 * DAY, "end_ns": 40 * DAY}, {"start_ns": None}]
)
def test_a_calls_time_that_cannot_be(change: dict[str, Any]) -> None:
    made = decode_run()
    made.rows["api_calls"][5] |= change
    assert "timestamps" in refusing(made)


# ---- duplicate-records


@pytest.mark.parametrize("table", ["kernels", "memops", "api_calls"])
@pytest.mark.parametrize("row", [0, 3, -1])
def test_a_record_that_is_there_twice(table: str, row: int) -> None:
    made = decode_run()
    made.rows[table].append(dict(made.rows[table][row]))
    found = rules(made)["duplicate-records"]
    assert not found.ok
    assert f"1 of {len(made.rows[table])} {table}" in found.detail


@pytest.mark.parametrize(
    "change",
    [{"stream_id": 8}, {"correlation_id": 999}, {"name": "other_kernel"}, {"end_ns": 10**6}, {"graph_node_id": 77}, {"pid": 8}],
)
def test_records_that_differ_in_one_thing_are_two(change: dict[str, Any]) -> None:
    made = decode_run()
    made.rows["kernels"].append(dict(made.rows["kernels"][3]) | change)
    assert rules(made)["duplicate-records"].ok


def test_of_no_length_two_records_are_the_same_only_if_their_node_says_so() -> None:
    made = Recording()
    for _ in range(2):
        made.kernel(50, 50, 1)
    assert rules(made)["duplicate-records"].ok
    for kernel in made.rows["kernels"]:
        kernel["graph_node_id"] = 5
    assert not rules(made)["duplicate-records"].ok


def test_records_without_times_are_not_called_duplicates() -> None:
    made = decode_run()
    for _ in range(2):
        made.kernel(0, 0, 1)
    assert rules(made)["duplicate-records"].ok


# ---- dropped-records


@pytest.mark.parametrize(("dropped", "ok"), [(None, True), (0, True), (1, False), (10**6, False)])
def test_records_that_the_recorder_says_it_lost(dropped: int | None, ok: bool) -> None:
    found = rules(decode_run().build(dropped_records=dropped))["dropped-records"]
    assert found.ok is ok
    assert ok or f"lost {dropped} records" in found.detail


# ---- clock-skew


@pytest.mark.parametrize(("early", "ok"), [(-5, True), (0, True), (99, True), (100, True), (101, False), (10**6, False)])
def test_work_that_starts_before_its_call(early: int, ok: bool) -> None:
    made = decode_run()
    kernel = made.rows["kernels"][5]
    call = next(c for c in made.rows["api_calls"] if c["correlation_id"] == kernel["correlation_id"])
    kernel["start_ns"] = call["start_ns"] - early
    kernel["end_ns"] = kernel["start_ns"] + 1
    found = rules(made)["clock-skew"]
    assert found.ok is ok
    if not ok:
        assert "1 of" in found.detail


def test_of_a_replay_only_the_first_node_is_held_to_the_call() -> None:
    made = decode_run(graph=True)
    assert rules(made)["clock-skew"].ok
    node = next(k for k in made.rows["kernels"] if k["graph_node_id"] is not None)
    node["start_ns"] -= 500
    assert not rules(made)["clock-skew"].ok


def test_without_launches_there_is_no_clock_to_compare() -> None:
    made = Recording()
    made.kernel(1, 2)
    assert rules(made)["clock-skew"].ok


# ---- correlation-ids


def reused(start: int, end: int, **more: Any) -> Recording:
    """Two calls of one id, the first from 10 to 20, and one kernel with it."""
    made = Recording()
    made.call(10, 20, 5)
    made.call(start, end, 5, **more)
    made.kernel(30, 40, 5)
    made.kernel(50, 60, None)
    return made


def test_an_id_used_again_after_its_call_returned() -> None:
    assert "correlation-ids" in refusing(reused(21, 25))
    assert "correlation-ids" in refusing(reused(20, 25))


def test_a_call_inside_the_one_it_shares_its_id_with() -> None:
    assert rules(reused(12, 18, name="cuLaunchKernel"))["correlation-ids"].ok
    assert rules(reused(10, 20, name="cuLaunchKernel"))["correlation-ids"].ok


def test_an_id_used_by_two_threads_at_once() -> None:
    """Neither call is inside the other in any sense that counts: which of them launched the kernel cannot be told."""
    assert "correlation-ids" in refusing(reused(15, 25, tid=71))
    assert "correlation-ids" in refusing(reused(12, 18, tid=71))


def test_ids_of_other_processes_and_ids_without_work_do_not_matter() -> None:
    assert rules(reused(21, 25, pid=8))["correlation-ids"].ok
    made = reused(21, 25)
    made.rows["kernels"][0]["correlation_id"] = None
    assert rules(made)["correlation-ids"].ok


# ---- one-device and one-process


def test_work_of_two_devices_needs_a_choice() -> None:
    made = decode_run()
    made.kernel(made.host + 100, made.host + 110, None, device_id=1)
    found = rules(made)["one-device"]
    assert not found.ok
    assert "--device 1" in found.fix
    assert refusing(made, device=0) == set()
    made.rows["kernels"][-1]["device_id"] = 0
    assert refusing(made) == set()


def test_work_of_two_processes_needs_a_choice() -> None:
    made = decode_run()
    made.memop(made.host + 100, made.host + 110, None, pid=99)
    found = rules(made)["one-process"]
    assert not found.ok
    assert "--pid 99" in found.fix
    assert refusing(made, pid=7) == set()


def test_a_process_with_calls_alone_is_fine() -> None:
    made = decode_run()
    for n in range(50):
        made.call(1000 + n, 1001 + n, 500 + n, pid=99)
    assert refusing(made) == set()


# ---- kernel-count and cut-head-and-tail


def lose_kernel(play: Playing, step: int) -> Playing:
    """Drop one eager kernel that was launched in a step."""
    begins = [*sorted(r["start_ns"] for r in play.rows["ranges"] if r["name"] != "sample"), 10**12]
    ids = [c["correlation_id"] for c in play.rows["api_calls"] if begins[step] <= c["start_ns"] < begins[step + 1]]
    mine = [k for k in play.rows["kernels"] if k["correlation_id"] in ids]
    play.rows["kernels"].remove(mine[len(mine) // 2])
    return play


@pytest.mark.parametrize(("step", "steady"), [(0, False), (1, False), (2, True), (4, True), (6, False)])
def test_a_launch_without_its_kernel_matters_in_a_steady_step(step: int, steady: bool) -> None:
    """The run is a prefill step and six decode steps, of which all but the first and the last are steady."""
    assert ("kernel-count" in refusing(lose_kernel(decode_run(steps=6), step))) is steady


def replays_of(*sizes: int) -> Playing:
    """A decode step a size, each of one replay of so many kernels, with no node ids to tell what is missing."""
    play = Playing()
    for size in sizes:
        with play.within(decode_range(1)):
            play.replay([("k", 3)] * size)
        play.synchronise()
    for kernel in play.rows["kernels"]:
        kernel["graph_id"] = kernel["graph_node_id"] = None
    return play


@pytest.mark.parametrize(
    ("sizes", "ok"),
    [
        ((100,) * 14, True),
        ((100,) * 7 + (96,) * 7, True),
        ((100,) * 7 + (94,) * 7, False),
        ((94,) * 7 + (100,) * 7, True),  # more kernels than before are no loss
        ((100,) * 6 + (96,) + (100,) * 7, True),
        ((100,) * 6 + (94,) + (100,) * 7, False),
    ],
)
def test_a_count_that_falls_while_the_calls_stay_the_same(sizes: tuple[int, ...], ok: bool) -> None:
    assert ("kernel-count" not in refusing(replays_of(*sizes))) is ok


def test_two_batch_sizes_have_counts_of_their_own() -> None:
    play = decode_run(batches=(1, 4))
    for kernel in [k for k in play.rows["kernels"] if k["name"] == "act_kernel"][:18]:
        play.rows["kernels"].remove(kernel)
        play.rows["api_calls"] = [c for c in play.rows["api_calls"] if c["correlation_id"] != kernel["correlation_id"]]
    assert refusing(play) == set()
    detail = rules(play)["kernel-count"].detail
    assert "11 in 4 steps of batch 1" in detail
    assert "14 in 4 steps of batch 4" in detail


def test_a_cut_head_and_tail_are_told_and_never_refuse() -> None:
    play = decode_run(steps=4)
    begins = sorted(r["start_ns"] for r in play.rows["ranges"] if r["name"] != "sample")
    play.rows["kernels"] = [k for k in play.rows["kernels"] if k["start_ns"] > begins[1]]
    found = rules(play)["cut-head-and-tail"]
    assert found.ok
    assert "not closed for step 4" in found.detail
    assert "no kernel on record for step 0" in found.detail
