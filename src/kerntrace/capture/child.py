"""The engine's process, `python -m kerntrace.capture.child JOB.json`, told over a socket what to generate. Room: capture.

A process of its own keeps what an engine does to a process (environment, CUDA, crashes) out of ours, and gives each recording
the fresh process that CUPTI needs. Messages are JSON, one a line; kerntrace.capture.remote is the other end.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path
from typing import IO, Any

from kerntrace.engines.protocol import Engine, EngineSpec
from kerntrace.errors import KerntraceError


def main() -> int:
    """Serve one parent until it closes the socket."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.connect(job["socket"])
        with link.makefile("r", encoding="utf-8") as orders, link.makefile("w", encoding="utf-8") as answers:
            try:
                _serve(job, orders, answers)
            except KerntraceError as error:
                _answer(answers, {"error": error.what, "hint": error.hint})
                return 1
            except Exception as error:
                _answer(answers, {"error": _line(error)})
                raise  # the traceback goes to this process's log
    return 0


def _serve(job: dict[str, Any], orders: IO[str], answers: IO[str]) -> None:
    said = job["engine"]
    engine = start_engine(EngineSpec(**said | {"batches": tuple(said["batches"])}))
    collector = job.get("collector")
    if collector is not None:
        _call(engine, "start", collector)
    _answer(answers, {"facts": engine.facts() | {"python": sys.version.split()[0]}})
    for line in orders:
        order = json.loads(line)
        if order["do"] == "stop":
            break
        if order["do"] == "ready":
            if collector is not None:
                _call(engine, "ready", {})
            continue
        _answer(answers, {"wall_ns": _generate(engine, order)})
    if collector is not None:
        _call(engine, "stop", {})
    _answer(answers, {"facts": engine.facts()})
    engine.close()


def start_engine(spec: EngineSpec) -> Engine:
    """The engine of a specification, started."""
    if spec.engine == "torch":
        from kerntrace.engines.torch_decode import TorchEngine

        return TorchEngine(spec)
    from kerntrace.engines.vllm_engine import VllmEngine

    return VllmEngine(spec)


def _generate(engine: Engine, order: dict[str, Any]) -> int:
    if order["record"]:
        _call(engine, "open", {})
    begin = time.perf_counter_ns()
    engine.generate(order["batch"], order["context"], order["tokens"])
    wall = time.perf_counter_ns() - begin
    if order["record"]:
        _call(engine, "close", {})
    return wall


def _call(engine: Engine, verb: str, argument: dict[str, Any]) -> None:
    for result in engine.call(verb, argument):
        if "error" in result:
            raise KerntraceError(result["error"], result["hint"])


def _answer(answers: IO[str], message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _line(error: Exception) -> str:
    text = (str(error).strip().splitlines() or [""])[0][:300]
    return f"{type(error).__name__}: {text}"


if __name__ == "__main__":
    sys.exit(main())
