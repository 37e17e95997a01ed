"""libkerntrace.so through ctypes: the C interface of native/include/kerntrace/capi.h. Room: capture."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from kerntrace.errors import KerntraceError

LIBRARY = "libkerntrace.so"
_PLACE = Path(__file__).parent.parent / "_native" / LIBRARY
_OK = 0
_PROBE_BYTES = 4096
_STOP_MS = 60_000
_HINTS = {
    "no-cupti": "Install nvidia-cuda-cupti (torch brings it), or name libcupti in KERNTRACE_CUPTI.",
    "old-cupti": "Install CUDA 12 or newer.",
    "no-driver": "Run it on a machine with an NVIDIA GPU and driver.",
    "cupti-taken": "Stop the other profiler (nsys, ncu, torch.profiler), then record in a fresh process.",
    "no-permission": "Ask the administrator to allow profiling (NVreg_RestrictProfilingToAdminUsers=0).",
    "disk": "Free some space, or set TMPDIR to a larger disk.",
}


def library_path() -> Path:
    """The recorder's library: the one installed with the package, or the one that KERNTRACE_LIBRARY names.

    Raises:
        KerntraceError: if it is not there.
    """
    path = Path(os.environ.get("KERNTRACE_LIBRARY") or _PLACE)
    if not path.is_file():
        raise KerntraceError(
            f"{path.name} is not installed: this kerntrace was built without its recorder",
            "Reinstall it on Linux with a C++ compiler, or use --collector nsys.",
        )
    return path


class Native:
    """The loaded library. One recording a process."""

    def __init__(self, path: Path) -> None:
        try:
            self._library: Any = ctypes.CDLL(str(path))
            # Without letting the GIL go: a call takes a fraction of a microsecond, and getting it back may take milliseconds.
            self._quick: Any = ctypes.PyDLL(str(path))
            self._declare()
        except (OSError, AttributeError) as error:
            raise KerntraceError(f"{path.name} cannot be loaded: {error}", "Reinstall kerntrace.") from None

    def _declare(self) -> None:
        library, text, number = self._library, ctypes.c_char_p, ctypes.c_uint32
        library.kt_start.argtypes = [text]
        library.kt_stop.argtypes = library.kt_flush.argtypes = [number]
        self._quick.kt_push.argtypes = [text, ctypes.c_int64]
        self._quick.kt_push.restype = self._quick.kt_pop.restype = None
        library.kt_timestamp.restype = ctypes.c_uint64
        library.kt_probe.argtypes = [text, ctypes.c_char_p, ctypes.c_size_t]
        library.kt_code_name.argtypes = [ctypes.c_int]
        for name in ("kt_error", "kt_shard", "kt_code_name", "kt_version", "kt_layout"):
            getattr(library, name).restype = text
        library.kt_open_window.argtypes = library.kt_close_window.argtypes = []

    def start(self, settings: Mapping[str, str]) -> None:
        """Record this process.

        Args:
            settings: as capi.h lists them; `directory` at least.

        Raises:
            KerntraceError: if it cannot be recorded; the message names the reason, and the tool in the way if there is one.
        """
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        self._check(self._library.kt_start(lines.encode()), "this process cannot be recorded")

    def open_window(self) -> None:
        self._check(self._library.kt_open_window(), "the capture window cannot be opened")

    def close_window(self) -> None:
        self._check(self._library.kt_close_window(), "the capture window cannot be closed")

    def stop(self) -> None:
        """Write everything and close the shard. Synchronise the device first."""
        self._check(self._library.kt_stop(_STOP_MS), "the recording was not finished")

    def recording(self) -> bool:
        return bool(self._library.kt_recording())

    def push(self, name: str, payload: int) -> None:
        self._quick.kt_push(name.encode(), payload)

    def pop(self) -> None:
        self._quick.kt_pop()

    def version(self) -> str:
        return str(self._library.kt_version().decode())

    def probe(self) -> dict[str, str]:
        """What a recording would meet in this process: path, version, code, message of libcupti."""
        text = ctypes.create_string_buffer(_PROBE_BYTES)
        paths = os.environ.get("KERNTRACE_CUPTI")
        self._library.kt_probe(paths.encode() if paths else None, text, len(text))
        lines = text.value.decode("utf-8", "replace").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def _check(self, code: int, what: str) -> None:
        if code != _OK:
            name = self._library.kt_code_name(code).decode()
            reason = self._library.kt_error().decode("utf-8", "replace") or name
            raise KerntraceError(f"{what}: {reason}", _HINTS.get(name, "Run `kerntrace doctor`."))


@lru_cache(maxsize=1)
def native() -> Native:
    """The library, loaded once.

    Raises:
        KerntraceError: if it is not installed or cannot be loaded.
    """
    return Native(library_path())
