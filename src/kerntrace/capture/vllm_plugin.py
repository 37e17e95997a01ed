"""vLLM's plugin: step ranges in a vLLM that somebody else starts, such as `kerntrace record -- vllm serve ...`. Room: capture.

Entry point of the group `vllm.general_plugins`; vLLM loads it in every process of an engine. It does nothing unless
KERNTRACE_STEP_RANGES is set, which `kerntrace record` does. The recorder itself is injected by the CUDA driver.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

WANTED = "KERNTRACE_STEP_RANGES"
_WORKER_MODULE = "vllm.v1.worker.gpu_worker"
_WORKER_CLASS = "Worker"


def register() -> None:
    """Watch the worker's steps, now or as soon as its module is imported: importing it here would start CUDA too early."""
    if not os.environ.get(WANTED):
        return
    module = sys.modules.get(_WORKER_MODULE)
    if module is not None:
        _watch(module)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _watch(module: ModuleType) -> None:
    """Watch the worker class of a module. A vLLM that cannot be watched runs on; the reason goes to its log."""
    import logging

    from kerntrace.capture.native import native
    from kerntrace.engines.vllm_steps import EngineChangedError, version_of, watch_class
    from kerntrace.errors import KerntraceError

    try:
        version = version_of(sys.modules["vllm"])
        worker = getattr(module, _WORKER_CLASS, None)
        if worker is None:
            raise EngineChangedError(version, f"{_WORKER_MODULE}.{_WORKER_CLASS}")
        watch_class(worker, version, native())
    except KerntraceError as error:
        logging.getLogger("kerntrace").warning("steps are not marked: %s", error)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the worker's module as Python would, and watches its class right after the import."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _WORKER_MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _watch(module)
