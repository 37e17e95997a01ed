"""Runs kerntrace's cases on a GPU machine, each in its own time limit, and goes on when one fails.

Writes results.json (every case's document or its error) and bundles.tar into the output directory, after each case, so that a
call that runs out of time still leaves what was done. See device_profile.sh.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

KERNTRACE = [sys.executable, "-m", "kerntrace"]
MODES = ("eager", "graph", "graph-nocompile", "compile")
BUNDLES = "{bundles}"  # stands for the call's directory of bundles
BATCHES = os.environ.get("BATCHES", "1,16")
SHAPE = ["--batch", BATCHES, "--context", "512", "--tokens", "33"]
REPETITIONS = ["--repetitions", os.environ.get("REPETITIONS", "5")]


def cases() -> dict[str, tuple[list[str], int]]:
    """By name: kerntrace's arguments, and the seconds a case may take."""
    found: dict[str, tuple[list[str], int]] = {"doctor": (["doctor", "--json"], 60)}
    for mode in MODES:
        for name, where in (("in", "--in-process"), ("multi", "--multiprocess")):
            arguments = ["profile", "--mode", mode, where, *SHAPE, *REPETITIONS, "--recorded", "1", "--json"]
            found[f"{mode}-{name}"] = (arguments, 420)
    for mode in ("eager", "graph"):
        found[f"torch-{mode}"] = (
            ["profile", "--engine", "torch", "--mode", mode, *SHAPE, *REPETITIONS, "--recorded", "1", "--json"],
            240,
        )
        found[f"collectors-{mode}"] = (
            ["compare-collectors", "--mode", mode, "--batch", "1", *REPETITIONS, "--json"],
            520,
        )
        nsys = ["--in-process", "--collector", "nsys", *SHAPE]
        found[f"nsys-{mode}"] = (["profile", "--mode", mode, *nsys, *REPETITIONS, "--recorded", "1", "--json"], 240)
        report = f"{BUNDLES}/nsys-{mode}"
        merged = ["--format", "nsys-rep", "--merge", f"{report}.nsys-rep", "-o", f"{BUNDLES}/merged-{mode}.nsys-rep"]
        found[f"merge-{mode}"] = (["export", f"{report}.ktrace", *merged], 120)  # after nsys-MODE of the same call
    torch = ["--engine", "torch", "--mode", "eager", "--collectors", "native,cupti-python"]
    found["collectors-torch"] = (["compare-collectors", *torch, *REPETITIONS, "--json"], 120)
    return found


def run(name: str, out: Path, seconds: float) -> dict[str, Any]:
    """One case: its document, or what it said."""
    arguments, limit = cases()[name]
    command = [*KERNTRACE, *(part.replace(BUNDLES, str(out / "bundles")) for part in arguments)]
    if arguments[0] == "profile":
        command += ["-o", str(out / "bundles" / f"{name}.ktrace"), "--force"]
    if arguments[0] == "compare-collectors":
        command += ["--keep", str(out / "bundles")]
    begin = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=min(limit, seconds), check=False)
        status: int | str = done.returncode
        said, talk = done.stdout, done.stderr
    except subprocess.TimeoutExpired as error:
        status, said = "timeout", ""
        talk = str(error.stderr or b"", "utf-8", "replace")
    result: dict[str, Any] = {"status": status, "seconds": round(time.monotonic() - begin, 1), "talk": talk[-3000:]}
    try:
        result["document"] = json.loads(said)
    except ValueError:
        result["output"] = said[-3000:]
    return result


def line(name: str, result: dict[str, Any]) -> str:
    """A case in short."""
    told = f"{name:24} status {result['status']}  {result['seconds']:6.1f} s"
    document = result.get("document")
    if not isinstance(document, dict):
        return told + "  " + " | ".join(result["talk"].strip().splitlines()[-2:])[:400]
    for row in document.get("rows") or document.get("times") or []:
        cell = next((c for c in document.get("summary") or [] if c["batch"] == row.get("batch")), row)
        counted = [f"{key} {cell[key]['median']:g}" for key in ("kernels", "launches") if key in cell]
        timed = [
            f"{key[:-3]} {cell[key]['median'] / 1e6:.3f}" for key in ("wall_ns", "busy_ns", "host_exposed_ns") if key in cell
        ]
        ratio = row.get("dilation")
        dilated = f"dilation {ratio['ratio']:.3f} ({ratio['min']:.3f}-{ratio['max']:.3f})" if ratio else ""
        untraced = sorted(row.get("untraced_step_ns", []))
        base = f"untraced {untraced[len(untraced) // 2] / 1e6:.3f}" if untraced else ""
        who = row.get("collector", f"batch {row.get('batch')}")
        told += "\n    " + "  ".join([str(who), *counted, *timed, base, dilated, str(row.get("error", ""))])
    refused = [rule["rule"] for rule in document.get("integrity", {}).get("rules", []) if not rule["ok"]]
    return told + (f"\n    refused by {', '.join(refused)}" if refused else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    if given.list:
        print("\n".join(cases()))
        return 0
    deadline = time.monotonic() + given.seconds
    (given.out / "bundles").mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    for name in given.cases or list(cases()):
        left = deadline - time.monotonic()
        if left < 20:
            results[name] = {"status": "no time left", "seconds": 0.0, "talk": ""}
            continue
        print(f"=== {name}", flush=True)
        results[name] = run(name, given.out, left)
        print(line(name, results[name]), flush=True)
        (given.out / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    with tarfile.open(given.out / "bundles.tar", "w") as tar:
        tar.add(given.out / "bundles", "bundles")
    print("=== all")
    for name, result in results.items():
        print(line(name, result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
