"""NVIDIA's own programs on what is exported: their figures are ours. Skipped where there is no nsys (KERNTRACE_NSYS, PATH)."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.export.roundtrip import exported
from tests.support.bundles import hostile_run

from kerntrace.accounting.analysis import Question, analyse
from kerntrace.accounting.intervals import union
from kerntrace.capture.nsys import find_nsys, nvtxt_importer
from kerntrace.errors import UsageError
from kerntrace.export.findings import find, total_by_name
from kerntrace.export.formats import Export
from kerntrace.export.nsys_report import make_report
from kerntrace.export.write import Order, write_export, write_merged
from kerntrace.trace.bundle import read_bundle
from kerntrace.trace.model import Trace

pytestmark = [pytest.mark.nsys, pytest.mark.skipif(find_nsys() is None, reason="no nsys on PATH or in KERNTRACE_NSYS")]
needs_importer = pytest.mark.skipif(
    find_nsys() is None or nvtxt_importer(find_nsys()) is None, reason="this nsys has no ImportNvtxt"
)

TRACES = Path(__file__).parents[2] / "traces"
REPORTS = [
    "cuda_gpu_kern_sum",
    "cuda_kern_exec_sum",
    "cuda_api_sum",
    "nvtx_sum",
    "nvtx_kern_sum",
    "nvtx_gpu_proj_sum",
    "cuda_gpu_trace",
]
BUNDLES = ["h200-native-eager", "h200-native-graph", "h200-eager", "h200-graph"]

Table = list[dict[str, str]]


def nsys(*arguments: str | Path, cwd: Path) -> str:
    command = [find_nsys() or "", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=cwd)
    said = done.stdout + done.stderr
    assert not re.search(r"SKIPPED|ERROR", said), said[-2000:]
    return done.stdout


def report(name: str, path: Path) -> Table:
    """A report of `nsys stats` as rows."""
    out = nsys("stats", "--format=csv", "--force-export=false", "-r", name, path, cwd=path.parent)
    lines = out.splitlines()
    first = next(at for at, line in enumerate(lines) if "," in line and not line.startswith("Processing"))
    return list(csv.DictReader(io.StringIO("\n".join(lines[first:]))))


@pytest.fixture(scope="module", params=BUNDLES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, Path]:
    trace = read_bundle(TRACES / f"{request.param}.ktrace")
    return trace, exported(trace, "nsys-sqlite", tmp_path_factory.mktemp("nsys") / "t.sqlite")


def by_name(trace: Trace) -> dict[str, tuple[int, int]]:
    """Instances and total time of each kernel."""
    names = trace.kernels.names("name")
    length = trace.kernels.ints("end_ns") - trace.kernels.ints("start_ns")
    found = {}
    for code, name in enumerate(names.values):
        mine = names.codes == code
        if mine.any():
            found[name] = (int(mine.sum()), int(length[mine].sum()))
    return found


def test_every_report_runs(case: tuple[Trace, Path]) -> None:
    for name in REPORTS:
        assert report(name, case[1]), name


def test_kernels_are_as_many_and_take_as_long(case: tuple[Trace, Path]) -> None:
    trace, path = case
    told = {row["Name"]: (int(row["Instances"]), int(row["Total Time (ns)"])) for row in report("cuda_gpu_kern_sum", path)}
    assert told == by_name(trace)
    assert sum(int(row["Count"]) for row in report("cuda_kern_exec_sum", path)) == len(trace.kernels)
    assert len(report("cuda_gpu_trace", path)) == len(trace.kernels) + len(trace.memops)
    in_ranges = report("nvtx_kern_sum", path)
    steps = [row for row in in_ranges if "step decode=" in row["NVTX Range"] or "execute_context" in row["NVTX Range"]]
    assert sum(int(row["Kern Inst"]) for row in steps) > 0


def test_calls_and_ranges_are_as_many(case: tuple[Trace, Path]) -> None:
    trace, path = case
    calls = report("cuda_api_sum", path)
    assert sum(int(row["Num Calls"]) for row in calls) == int(trace.api_calls.valid("end_ns").sum())
    names, counts = np.unique(trace.api_calls.names("name").codes, return_counts=True)
    told = {row["Name"]: int(row["Num Calls"]) for row in calls}
    assert told == {trace.api_calls.names("name").values[n]: int(c) for n, c in zip(names, counts)}


def test_ranges_of_the_findings_sum_to_the_ledger(case: tuple[Trace, Path]) -> None:
    trace, path = case
    found = find(analyse(trace, Question()))
    told = {row["Range"]: int(row["Total Time (ns)"]) for row in report("nvtx_sum", path)}
    for name, total in total_by_name(found.gaps).items():
        assert told[f"kerntrace:gap {name}"] == total
    for name, total in total_by_name(found.steps).items():
        assert told[f"kerntrace:{name}"] == total


def test_gpu_gaps_is_our_idle(case: tuple[Trace, Path]) -> None:
    trace, path = case
    out = nsys("analyze", "--format=csv", "--force-export=false", "-r", "gpu_gaps:gap=0:rows=-1", path, cwd=path.parent)
    lines = out.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("Row#"))
    gaps = list(csv.DictReader(io.StringIO("\n".join(lines[first:]))))
    start, end = (np.concatenate([t.ints(c) for t in (trace.kernels, trace.memops)]) for c in ("start_ns", "end_ns"))
    order = np.argsort(start, kind="stable")
    busy = union(start[order], end[order])
    idle = busy.start[1:] - busy.end[:-1]
    assert sorted(int(row["Duration (ns)"]) for row in gaps) == sorted(idle.tolist())


@needs_importer
def test_a_report_and_its_sqlite_are_a_pair(tmp_path: Path) -> None:
    trace = read_bundle(TRACES / "h200-native-graph.ktrace")
    analysis = analyse(trace, Question())
    written = write_export(Order("nsys-rep", tmp_path / "t.nsys-rep"), Export(trace, find(analysis), analysis))
    assert [path.name for path in written] == ["t.nsys-rep", "t.sqlite"]
    assert written[1].stat().st_mtime_ns > written[0].stat().st_ctime_ns
    out = nsys("stats", "--format=csv", "-r", "cuda_gpu_kern_sum", written[0], cwd=tmp_path)
    assert "nvjet" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.nsys-rep", "t.sqlite"]


@needs_importer
def test_hostile_names_reach_the_report(tmp_path: Path) -> None:
    play = hostile_run()
    play.launch('x"\nRangePop, 1, 2\n, "{%s}\0\\', 5)
    text = exported(play.build(), "nvtxt", tmp_path / "t.nvtxt")
    make_report(text, tmp_path / "t.nsys-rep")
    pushes = sum(line.startswith("RangePush, ") for line in text.read_text().splitlines())
    assert (tmp_path / "t.nsys-rep").stat().st_size > 1000
    assert pushes > 100


@needs_importer
def test_nothing_is_merged_into_a_report_of_another_run(tmp_path: Path) -> None:
    trace = read_bundle(TRACES / "h200-native-graph.ktrace")
    analysis = analyse(trace, Question())
    export = Export(trace, find(analysis), analysis)
    command = [
        "profile",
        "-t",
        "nvtx",
        "-s",
        "none",
        "--cpuctxsw=none",
        "-o",
        tmp_path / "other",
        shutil.which("true") or "true",
    ]
    subprocess.run([find_nsys() or "", *map(str, command)], capture_output=True, timeout=120, check=False, cwd=tmp_path)
    if not (tmp_path / "other.nsys-rep").is_file():
        pytest.skip("this nsys records nothing here")
    with pytest.raises(UsageError, match="not a report of the run"):
        write_merged(Order("nsys-rep", tmp_path / "merged.nsys-rep"), export, tmp_path / "other.nsys-rep")
    assert not (tmp_path / "merged.nsys-rep").exists()
