"""What this machine lacks for recording, a line a thing. Room: capture.

Each look is a function that returns findings and raises nothing: a doctor that dies of what it finds is of no use.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kerntrace.capture.cupti_bugs import bugs_of, version_name
from kerntrace.errors import KerntraceError
from kerntrace.units import size

OK, WARNING, FIX = "ok", "warning", "fix"
_LITTLE_DISK = 2 * 10**9  # bytes: a long graph run writes about 100 bytes a kernel
_LIBRARY_NAMES = {"libdw.so.1": "the importer of the nsys inside Nsight Compute needs it"}
_ENTRY_GROUP, _ENTRY_NAME = "vllm.general_plugins", "kerntrace"
_INJECTIONS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line.

    Attributes:
        what: the thing looked at.
        state: ok; warning, where something works less well; or fix, where something does not work.
        told: what was found.
        advice: what to do about it; empty where nothing is to be done.
    """

    what: str
    state: str
    told: str
    advice: str = ""


def examine() -> list[Finding]:
    """Everything, in the order in which a recording needs it."""
    looks = (_gpu, _recorder, _engines, _plugin, _nvtx, _nsys, _disk)
    return [finding for look in looks for finding in look()]


def _gpu() -> Iterator[Finding]:
    from kerntrace.capture.machine import cpu_name, look

    try:
        machine = look()
    except KerntraceError as error:
        yield Finding("GPU", FIX, error.what, "Traces from elsewhere can be read all the same: kerntrace steps TRACE.")
        return
    for index, gpu in enumerate(machine.gpus):
        yield Finding(f"GPU {index}", OK, f"{gpu.name}, {size(gpu.free_bytes)} of {size(gpu.memory_bytes)} free")
    yield Finding("driver", OK, f"{machine.driver}, serves CUDA up to {machine.cuda}")
    yield Finding("CPU", OK, f"{cpu_name() or 'unknown'}, {os.cpu_count()} threads")


def _recorder() -> Iterator[Finding]:
    from kerntrace.capture.native import native

    try:
        library = native()
    except KerntraceError as error:
        yield Finding("recorder", FIX, error.what, error.hint)
        return
    yield Finding("recorder", OK, f"libkerntrace.so {library.version()}")
    said = library.probe()
    version = int(said.get("version") or 0)
    if said.get("path"):
        yield Finding("CUPTI", OK, f"{version_name(version)} at {said['path']}")
    code = said.get("code", "unknown")
    if code != "ok":
        advice = {
            "no-cupti": "pip install nvidia-cuda-cupti (torch brings it), or name libcupti in KERNTRACE_CUPTI.",
            "cupti-taken": "Another profiler holds CUPTI: stop it, and unset what injects it.",
        }.get(code, "")
        yield Finding("CUPTI session", FIX, said.get("message") or code, advice)
    else:
        yield Finding("CUPTI session", OK, "free: no other tool holds it")
    for bug in bugs_of(version) if version else ():
        yield Finding("CUPTI bug", WARNING, f"{version_name(version)}: {bug.about}")
    for name in _INJECTIONS:
        if os.environ.get(name):
            yield Finding(name, WARNING, f"names {Path(os.environ[name]).name}", f"Unset {name} before kerntrace record.")


def _engines() -> Iterator[Finding]:
    for package, extra, use in (
        ("torch", "torch", "--engine torch"),
        ("vllm", "vllm", "--engine vllm"),
        ("cupti-python", "cupti", "--collector cupti-python"),
    ):
        version = _version(package)
        if version is None:
            yield Finding(package, WARNING, f"not installed, so {use} does not work", f"pip install 'kerntrace[{extra}]'")
        else:
            yield Finding(package, OK, version)


def _plugin() -> Iterator[Finding]:
    """vLLM finds the step ranges' plugin by its entry point, which only an installed kerntrace has."""
    found = [e for e in importlib.metadata.entry_points(group=_ENTRY_GROUP) if e.name == _ENTRY_NAME]
    if not found:
        advice = "pip install kerntrace in vLLM's own environment; `kerntrace profile` works without."
        yield Finding("vLLM plugin", WARNING, "not registered: `kerntrace record -- vllm ...` marks no steps", advice)
    elif os.environ.get("VLLM_PLUGINS") is not None and _ENTRY_NAME not in os.environ["VLLM_PLUGINS"].split(","):
        yield Finding("vLLM plugin", WARNING, "VLLM_PLUGINS leaves it out", f"Add {_ENTRY_NAME} to VLLM_PLUGINS, or unset it.")
    else:
        yield Finding("vLLM plugin", OK, f"{found[0].value}")


def _nvtx() -> Iterator[Finding]:
    version = _version("nvtx")
    if version is None:
        yield Finding("nvtx", WARNING, "not installed: --nvtx-scopes gives nothing", "pip install 'kerntrace[nvtx]'")
    elif os.environ.get("NVTX_DISABLE"):
        yield Finding("nvtx", WARNING, f"{version}, switched off by NVTX_DISABLE", "Unset NVTX_DISABLE.")
    else:
        yield Finding("nvtx", OK, version)


def _nsys() -> Iterator[Finding]:
    from kerntrace.capture.nsys import find_nsys, importer_beside, nsys_version

    nsys = find_nsys()
    if nsys is None:
        yield Finding("nsys", WARNING, "not found: no --collector nsys, no reading of .nsys-rep", "Install nsight-systems.")
        return
    version = nsys_version(nsys)
    yield Finding("nsys", OK if version else WARNING, f"{version or 'does not say its version'} at {nsys}")
    if version and _numbers(version) < (2023, 4) and _numbers(_version("nvtx") or "0") >= (0, 2, 12):
        told = f"nsys {version} does not see ranges of nvtx {_version('nvtx')}"
        yield Finding("nsys and nvtx", WARNING, told, "Use nsys 2023.4 or newer.")
    if "nsight-compute" in nsys:
        importer = importer_beside(nsys)
        missing = [name for name in _LIBRARY_NAMES if not _loadable(name)]
        if importer is None:
            yield Finding("nsys importer", WARNING, "not found: this nsys makes no report", "Install nsight-systems.")
        elif missing:
            yield Finding("nsys importer", FIX, f"{missing[0]} is missing; {_LIBRARY_NAMES[missing[0]]}", "Install libdw1.")
        else:
            yield Finding("nsys importer", OK, importer)


def _disk() -> Iterator[Finding]:
    for what, place in (("disk here", Path.cwd()), ("scratch disk", Path(tempfile.gettempdir()))):
        try:
            free = shutil.disk_usage(place).free
        except OSError as error:
            yield Finding(what, FIX, f"{place} cannot be looked at: {error.strerror}", "")
            continue
        advice = "" if free >= _LITTLE_DISK else "Free some, or set TMPDIR to a larger disk."
        yield Finding(what, OK if free >= _LITTLE_DISK else WARNING, f"{size(free)} free", advice)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _loadable(library: str) -> bool:
    import ctypes

    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
