"""What is called inside the process that launches an engine's kernels: start, open, close and stop a recorder. Room: capture.

vLLM adds WorkerHooks to its worker class (`worker_extension_cls`) and calls it through its own RPC, so it works alike with
the engine in this process and in one of its own. The torch engine calls it directly.
"""

from __future__ import annotations

import os
from typing import Any

from kerntrace.capture.recorders import Recorder, make_recorder
from kerntrace.errors import KerntraceError

HOOKS = "kerntrace.capture.hooks.WorkerHooks"

_recorder: Recorder | None = None  # a process has one


class WorkerHooks:
    """The one method that kerntrace adds to a worker. An error is returned, not raised: it must cross a process."""

    def kerntrace_call(self, verb: str, argument: dict[str, Any], worker: Any = None) -> dict[str, Any]:
        """Do `verb`: start, ready, open, close or stop."""
        try:
            _do(self if worker is None else worker, verb, argument)
        except KerntraceError as error:
            return {"error": error.what, "hint": error.hint}
        return {"pid": os.getpid()}


def _do(worker: Any, verb: str, argument: dict[str, Any]) -> None:
    global _recorder
    _synchronize()
    if verb == "start":
        recorder = make_recorder(str(argument["collector"]), argument["settings"])
        recorder.start()
        _recorder = recorder
        _watch(worker, recorder)
        return
    if _recorder is None:
        raise KerntraceError("no recorder was started in this process")
    if verb == "ready":
        _recorder.ready()
    elif verb == "open":
        _recorder.open()
    elif verb == "close":
        _recorder.close()
    elif verb == "stop":
        _recorder.stop()


def _watch(worker: Any, recorder: Recorder) -> None:
    """Mark the steps of a worker: vLLM's by its execute_model, the torch engine where it says."""
    if hasattr(worker, "step_ranges"):
        worker.step_ranges = recorder
        return
    import vllm

    from kerntrace.engines.vllm_phases import wanted, watch_phases
    from kerntrace.engines.vllm_steps import version_of, watch_worker

    watch_worker(worker, version_of(vllm), recorder)
    if wanted():
        watch_phases(worker, recorder)


def _synchronize() -> None:
    """Wait for the device, so that a window neither cuts work off nor takes in what came before."""
    import sys

    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()
