"""NVTXT, the text that NVIDIA's importer reads, and the rows of the timeline it makes."""

from __future__ import annotations

import re
from pathlib import Path

from tests.export.roundtrip import exported
from tests.support.bundles import HOSTILE, hostile_run
from tests.support.recording import Playing, decode_run

from kerntrace.accounting.analysis import Question, analyse
from kerntrace.export.nvtxt import quoted
from kerntrace.trace.model import Trace

_PUSH = re.compile(r'RangePush, (\d+), (\d+), (\d+), ([A-Za-z]+), (\d+), "([^"\\]*)"')
_POP = re.compile(r"RangePop, (\d+), (\d+), (\d+)")
_HEAD = re.compile(r'SetFileDisplayName, kerntrace|@Range(Push|Pop), [A-Za-z, ]+|TimeBase = Manual|Name\w+, \d+, .*"')

Told = dict[str, list[tuple[int, int, str, str]]]  # by title: begin, end, colour, message


def told(trace: Trace, folder: Path) -> Told:
    """The rows that the text makes, each line checked, each row checked to nest."""
    titles: dict[tuple[str, str], str] = {}
    stacks: dict[tuple[str, str], list[tuple[int, str, str]]] = {}
    found: Told = {}
    for line in exported(trace, "nvtxt", folder / "t.nvtxt").read_text().splitlines():
        if push := _PUSH.fullmatch(line):
            stacks.setdefault((push[2], push[3]), []).append((int(push[1]), push[4], push[6]))
        elif pop := _POP.fullmatch(line):
            begin, colour, message = stacks[pop[2], pop[3]].pop()
            assert begin <= int(pop[1])
            found.setdefault(titles[pop[2], pop[3]], []).append((begin, int(pop[1]), colour, message))
        else:
            assert _HEAD.fullmatch(line), line
            if named := re.fullmatch(r'NameOsThread, (\d+), (\d+), "(.*)"', line):
                titles[named[1], named[2]] = named[3]
    assert not any(stacks.values())
    return found


def test_every_row_is_there(tmp_path: Path) -> None:
    trace = decode_run(graph=True).build()
    rows = told(trace, tmp_path)
    assert set(rows) == {"steps", "idle, by cause", "idle, by phase", "stream 7", "NVTX 70", "CUDA API 70"}
    ledger = analyse(trace, Question()).ledger
    assert ledger is not None
    assert [end - begin for begin, end, _, _ in rows["steps"]] == [w for w in ledger.wall.tolist() if w]
    assert len(rows["stream 7"]) == len(trace.kernels) + len(trace.memops)
    assert {colour for _, _, colour, _ in rows["stream 7"]} == {"Blue", "Purple", "Teal"}
    causes = {message: colour for _, _, colour, message in rows["idle, by cause"]}
    assert causes["host_wait"] == "Red"
    assert causes["device_gap"] == "Gray"
    assert len(rows["CUDA API 70"]) == len(trace.api_calls)


def test_times_are_small_and_keep_their_distances(tmp_path: Path) -> None:
    trace = decode_run().build(epoch_ns=1_700_000_000_000_000_000)
    rows = told(trace, tmp_path)
    begins = sorted(begin for begin, _, _, _ in rows["stream 7"])
    starts = sorted([*trace.kernels.ints("start_ns").tolist(), *trace.memops.ints("start_ns").tolist()])
    assert [begin - begins[0] for begin in begins] == [start - starts[0] for start in starts]
    assert 0 < begins[0] < 10**9


def test_kernels_that_overlap_on_a_stream_get_lanes(tmp_path: Path) -> None:
    play = Playing()
    play.kernel(100, 200, None)
    play.kernel(150, 250, None)
    rows = told(play.build(), tmp_path)
    assert {title: len(row) for title, row in rows.items() if "stream" in title} == {"stream 7": 1, "stream 7 (2)": 1}


def test_hostile_names_stay_on_their_line(tmp_path: Path) -> None:
    play = hostile_run()
    play.launch('x"\nRangePop, 1, 9000000, 1000\nRangePush, 2, 9000000, 1000, Red, 0, "y\0\\', 5)
    rows = told(play.build(), tmp_path)  # checks every line
    assert len(rows["stream 7"]) == len(HOSTILE) * 5 + 1
    assert all(len(message) <= 400 and message.isprintable() for row in rows.values() for *_, message in row)


def test_what_a_text_becomes() -> None:
    assert quoted('a "b" \\ c') == "\"a 'b' / c\""
    assert quoted("\n") == '"(unnamed)"'
    assert len(quoted("x" * 100_000)) == 402
