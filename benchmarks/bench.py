"""Time kerntrace on traces of a known size, and HolisticTraceAnalysis beside it on the same file.

    python benchmarks/bench.py                                    everything but the comparison, about five minutes
    python benchmarks/bench.py --only kineto --hta-python /path/to/venv/bin/python
    python benchmarks/bench.py --json > bench.json

Every measurement is a fresh process of the installed command. Wall and CPU time are medians of the runs, peak memory is the
largest resident set of them (from wait4). Nothing passes or fails here; docs/measurements.md keeps the results.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

TRACES = Path(__file__).parent.parent / "traces"
SYNTHETIC = Path(__file__).with_name("synthetic.py")
HTA = Path(__file__).with_name("hta_idle.py")
MODES = ("eager", "graph")
QUICK_RUNS = 10


@dataclass(frozen=True, slots=True)
class Run:
    """A finished process: wall and CPU seconds, peak resident bytes, exit status, its stdout and the end of its stderr."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    status: int
    out: bytes
    err: str


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the result: median wall seconds, their least, median CPU seconds, peak bytes, and what else there is to say."""

    case: str
    wall_s: float
    least_s: float
    cpu_s: float
    peak_bytes: int
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for: repetitions, sizes in steps of 438 kernels, and the interpreter that has HTA."""

    runs: int
    bundle_steps: int
    nsys_steps: int
    kineto_steps: int
    hta_python: str | None


def run(command: list[str]) -> Run:
    """Run a command to its end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said = err.read().decode(errors="replace").strip().splitlines()
        cpu = usage.ru_utime + usage.ru_stime
        return Run(wall, cpu, usage.ru_maxrss * 1024, process.returncode, out.read(), said[-1] if said else "")


def measured(case: str, command: list[str], runs: int, more: Callable[[Run, float], dict[str, Any]] | None = None) -> Row:
    """The median of several runs of one command; `more` makes the further columns from the last run and the median."""
    done = [run(command) for _ in range(runs)]
    failed = next((r for r in done if r.status), None)
    walls = [r.wall_s for r in done]
    middle = statistics.median(walls)
    extra = {"failed": f"exit {failed.status}: {failed.err}"} if failed else more(done[-1], middle) if more else {}
    cpu = statistics.median(r.cpu_s for r in done)
    return Row(case, middle, min(walls), cpu, max(r.peak_bytes for r in done), extra)


def kerntrace(*arguments: str | Path) -> list[str]:
    beside = Path(sys.executable).with_name("kerntrace")
    command = str(beside) if beside.exists() else shutil.which("kerntrace")
    if command is None:
        raise SystemExit("kerntrace is not installed here: pip install .")
    return [command, *map(str, arguments)]


def made(path: Path, steps: int, *more: str) -> dict[str, Any]:
    """Make a trace; its size and truth. In a process of its own: a child's peak memory is never less than its parent's."""
    command = [sys.executable, str(SYNTHETIC), "--steps", str(steps), "-o", str(path), *more]
    facts: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return facts


def bundle(options: Options, folder: Path) -> Iterator[Row]:
    """Open, check, steps and ledger of a large bundle, eager and as a graph."""
    for mode in MODES:
        path = folder / f"{mode}.ktrace"
        facts = made(path, options.bundle_steps, "--mode", mode)
        size = {"kernels": facts["kernels"], "calls": facts["calls"]}
        stored = {"stored_bytes": sum(file.stat().st_size for file in path.iterdir())}
        yield measured(f"check, {mode} bundle", kerntrace("check", path), options.runs, partial(said, {**size, **stored}))
        answer = partial(answered, size, facts["closed_steps"])
        steps = kerntrace("steps", path, "--json")
        yield measured(f"steps --json (check, steps, ledger), {mode} bundle", steps, options.runs, answer)
        shutil.rmtree(path)


def nsys(options: Options, folder: Path) -> Iterator[Row]:
    """Import of an Nsight Systems export, in rows of kernels, memcpys, calls and ranges a second."""
    path = folder / "nsys.sqlite"
    facts = made(path, options.nsys_steps)
    command = kerntrace("import", path, "-o", folder / "imported.ktrace", "--force")
    yield measured("import, nsys SQLite", command, options.runs, partial(paced, facts["rows"]))
    answer = partial(answered, {"rows": facts["rows"]}, facts["closed_steps"])
    yield measured("steps --json, nsys SQLite", kerntrace("steps", path, "--json"), options.runs, answer)


def start(options: Options, folder: Path) -> Iterator[Row]:
    """What a user waits for at the prompt."""
    yield measured("kerntrace --help", kerntrace("--help"), QUICK_RUNS)
    for path in sorted(TRACES.glob("*.ktrace")):
        yield measured(f"steps, traces/{path.name}", kerntrace("steps", path), QUICK_RUNS)


def kineto(options: Options, folder: Path) -> Iterator[Row]:
    """Idle time from a torch.profiler file: kerntrace, and HTA as it comes and without its rounding to whole microseconds."""
    for mode in MODES:
        path = folder / f"{mode}.json"
        facts = made(path, options.kineto_steps, "--mode", mode, "--no-memops")
        size = {"kernels": facts["kernels"], "file_bytes": path.stat().st_size}
        answer = partial(answered, size, facts["closed_steps"])
        ours = measured(f"steps --json, Kineto {mode}", kerntrace("steps", path, "--json"), options.runs, answer)
        yield ours
        if options.hta_python:
            for setting, disable in (("as it comes", "0"), ("rounding off", "1")):
                theirs = ["env", f"HTA_DISABLE_NS_ROUNDING={disable}", options.hta_python, str(HTA), str(path)]
                beside = partial(compared, ours, facts["whole"])
                yield measured(f"HTA ({setting}), Kineto {mode}", theirs, options.runs, beside)
        path.unlink()


def said(what: dict[str, Any], _: Run, __: float) -> dict[str, Any]:
    return what


def paced(rows: int, _: Run, wall_s: float) -> dict[str, Any]:
    return {"rows": rows, "rows_per_s": round(rows / wall_s)}


def answered(size: dict[str, Any], truth: dict[str, int], done: Run, _: float) -> dict[str, Any]:
    """Busy and idle time summed over the steps that have a window, which follow on one another, and how far from the truth."""
    steps = [step for step in json.loads(done.out)["steps"] if step.get("wall_ns") is not None]
    wall, busy = (sum(step[key] for step in steps) for key in ("wall_ns", "busy_ns"))
    return {**size, **_against(truth, busy, wall - busy)}


def compared(ours: Row, truth: dict[str, int], done: Run, wall_s: float) -> dict[str, Any]:
    """HTA's answer, how far from the truth it is, and how long it took for each second of kerntrace's."""
    answer = json.loads(done.out)
    against = _against(truth, answer.pop("busy_ns"), answer.pop("idle_ns"))
    return {**against, "kerntrace_walls": round(wall_s / ours.wall_s, 2), **answer}


def _against(truth: dict[str, int], busy: int, idle: int) -> dict[str, Any]:
    return {
        "busy_ns": busy,
        "idle_ns": idle,
        "busy_error_ns": busy - truth["busy_ns"],
        "idle_error_ns": idle - truth["idle_ns"],
        "idle_error": f"{100 * (idle - truth['idle_ns']) / truth['idle_ns']:+.2f} %",
    }


SECTIONS = {"bundle": bundle, "nsys": nsys, "start": start, "kineto": kineto}


def line(row: Row) -> str:
    more = ", ".join(f"{key} {value:,}" if isinstance(value, int) else f"{key} {value}" for key, value in row.more.items())
    times = f"{row.wall_s:8.3f} s  (least {row.least_s:.3f}, CPU {row.cpu_s:.3f})"
    return f"{row.case:55} {times}  {row.peak_bytes / 1e6:8.0f} MB  {more}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="sections to run")
    parser.add_argument("--runs", type=int, default=3, help="of each command; the quick ones are run 10 times")
    parser.add_argument("--bundle-steps", type=int, default=22_832, help="steps of 438 kernels in the bundle (10 M kernels)")
    parser.add_argument("--nsys-steps", type=int, default=2_284, help="in the SQLite (1 M kernels)")
    parser.add_argument("--kineto-steps", type=int, default=457, help="in the JSON (200 k kernels)")
    parser.add_argument("--hta-python", help="a Python that has HolisticTraceAnalysis or traceinsight")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout; the table goes to stderr")
    asked = vars(parser.parse_args())
    only, as_json = asked.pop("only"), asked.pop("json")
    rows = []
    with tempfile.TemporaryDirectory(prefix="kerntrace-bench.") as folder:
        for name in only:
            for row in SECTIONS[name](Options(**asked), Path(folder)):
                print(line(row), file=sys.stderr if as_json else sys.stdout, flush=True)
                rows.append(row)
    if as_json:
        machine = {"cpus": os.cpu_count(), "python": sys.version.split()[0], "load_1min": os.getloadavg()[0]}
        print(json.dumps({"machine": machine, "options": asked, "rows": [asdict(row) for row in rows]}, indent=1))


if __name__ == "__main__":
    main()
