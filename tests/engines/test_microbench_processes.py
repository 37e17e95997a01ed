"""Groups of microbenchmarks run in a process that may die, hang or be cut short: what was measured before counts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

import kerntrace
from kerntrace.engines.microbench import processes as microbench_processes
from kerntrace.engines.microbench.bench import measure
from kerntrace.engines.microbench.groups import GROUPS
from kerntrace.errors import KerntraceError

ALL = [group.name for group in GROUPS]
SOURCES = str(Path(kerntrace.__file__).parents[1])

CHILD = """
import json, os, sys, time
path, deadline, *names = sys.argv[1:]
file = open(path, "a")

def emit(**line):
    file.write(json.dumps(line) + "\\n")
    file.flush()

emit(machine={{"gpu": "NVIDIA H200", "process": str(os.getpid())}})
for name in names:
    emit(begin=name)
    emit(point={{"what": name, "times_ns": [1.0]}})
    if name == "attention":
{misbehaves}
    emit(end=name)
"""


def child(path: Path, misbehaves: str = "pass") -> tuple[str, ...]:
    """A program in place of the one that measures: a point a group, and something else in the midst of attention."""
    script = path / "child.py"
    script.write_text(CHILD.format(misbehaves=textwrap.indent(textwrap.dedent(misbehaves), 8 * " ")))
    return sys.executable, str(script)


def whats(document: dict[str, Any]) -> list[str]:
    return [point["what"] for point in document["points"]]


def test_all_groups_run_in_one_process_and_what_is_measured_is_saved_after_each(tmp_path: Path) -> None:
    said: list[str] = []
    saved: list[int] = []
    document = measure(said.append, lambda so_far: saved.append(len(so_far["points"])), 60, child(tmp_path))
    assert said == whats(document) == ALL
    assert document["warnings"] == []
    assert document["machine"]["gpu"] == "NVIDIA H200"
    assert saved == sorted(saved)
    assert saved[-1] == len(ALL)


@pytest.mark.parametrize(
    ("misbehaves", "warning"),
    [
        ("os.abort()", "attention: its process ended with status -6"),
        ("sys.exit(1)", "attention: its process ended with status 1"),
        # As the real one does: it names the failure itself and asks for a fresh process.
        ("emit(warning='attention: RuntimeError: CUDA error'); os._exit(3)", "attention: RuntimeError: CUDA error"),
        ("file.write('{'); file.flush(); os._exit(9)", "attention: its process ended with status 9"),
    ],
)
def test_a_group_that_kills_its_process_is_named_and_the_others_run_in_a_fresh_one(
    tmp_path: Path, misbehaves: str, warning: str
) -> None:
    pids: list[str] = []
    command = child(tmp_path, misbehaves)
    document = measure(save=lambda so_far: pids.append(so_far["machine"]["process"]), budget_s=60, command=command)
    assert whats(document) == ALL
    assert document["warnings"] == [warning]
    assert len(set(pids)) == 2


def test_a_group_that_hangs_is_ended_and_the_others_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microbench_processes, "_GRACE_S", 0.3)
    monkeypatch.setattr(microbench_processes, "deadline_of", lambda group, began, deadline: began + 0.2)
    hangs = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    monkeypatch.setattr(microbench_processes, "_TO_END_S", 0.5)  # it does not heed being asked
    document = measure(budget_s=60, command=child(tmp_path, hangs))
    assert whats(document) == ALL
    assert document["warnings"] == ["attention: its process did not answer in time and was ended"]


def test_a_process_that_never_begins_is_tried_twice() -> None:
    document = measure(budget_s=60, command=(sys.executable, "-c", "raise SystemExit(7)"))
    assert document["points"] == []
    first, second, others = document["warnings"]
    assert (first, second) == tuple(f"{name}: its process ended with status 7 before it began" for name in ALL[:2])
    assert others == f"not measured, no process begins: {'; '.join(ALL[2:])}"


def test_groups_that_no_time_is_left_for_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microbench_processes, "deadline_of", lambda group, began, deadline: deadline)
    slow = "time.sleep(1.0); os._exit(9)"
    document = measure(budget_s=0.5, command=child(tmp_path, slow))
    assert whats(document) == ALL[: ALL.index("attention") + 1]
    assert document["warnings"][-1] == f"not measured, no time was left: {'; '.join(ALL[ALL.index('attention') + 1 :])}"


def test_interrupted_it_keeps_what_was_measured_and_leaves_no_process_behind(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import json, sys\n"
        "from kerntrace.engines.microbench.bench import measure\n"
        "save = lambda document: open(sys.argv[1], 'w').write(json.dumps(document))\n"
        "measure(save=save, budget_s=60, command=sys.argv[2:])\n"
    )
    saved = tmp_path / "points.json"
    command = [sys.executable, str(program), str(saved), *child(tmp_path, "time.sleep(600)")]
    environment = os.environ | {"PYTHONPATH": SOURCES}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 30
        while not (saved.exists() and '"products"' in saved.read_text()) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)  # attention is under way
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in said
    text = saved.read_text()
    assert '"attention"' in text
    measuring = int(text.partition('"process": "')[2].partition('"')[0])
    with pytest.raises(ProcessLookupError):
        os.kill(measuring, 0)


@pytest.mark.parametrize(
    ("torch", "said"),
    [
        ("raise ImportError('no such thing')", "needs PyTorch, which cannot be imported: no such thing"),
        ("class cuda:\n    is_available = staticmethod(lambda: False)\n", "PyTorch sees none"),
    ],
)
def test_without_pytorch_or_a_gpu_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch: str, said: str) -> None:
    (tmp_path / "torch.py").write_text(torch)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{SOURCES}")
    with pytest.raises(KerntraceError, match=said):
        measure(budget_s=60)


def test_the_real_process_measures_with_what_torch_it_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text(
        "import sys\nfrom unittest.mock import MagicMock\n"
        "fake = MagicMock(name='torch', __version__='2.11.0')\n"
        "fake.cuda.get_device_properties.return_value = MagicMock(L2_cache_size=1, total_memory=10**11)\n"
        "fake.cuda.Event.return_value.elapsed_time.return_value = 1.0\n"
        "sys.modules['torch'] = fake\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{SOURCES}")
    monkeypatch.setattr(microbench_processes, "GROUPS", [group for group in GROUPS if group.name.startswith("memory")])
    document = measure(budget_s=60)
    assert document["warnings"] == []
    assert whats(document) == ["dram_read", "dram_copy", "l2", "l2", "l2", "l2", "gemm_peak", "dram_read_again"]
    assert document["points"][0]["bytes"] == 4 << 30
