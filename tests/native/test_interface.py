"""The library's interfaces: its C functions, its record layout, and our declarations of CUPTI's and NVTX's."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kerntrace.trace.shard_file import HEADER, RECORDS

Native = Any
NATIVE = Path(__file__).parents[2] / "native"
CUDA = Path("/usr/local/cuda/include")
needs_toolkit = pytest.mark.skipif(not (CUDA / "cupti.h").is_file(), reason="needs the CUDA toolkit's headers")


@pytest.fixture
def library(native: Native) -> ctypes.CDLL:
    if native.sanitized:
        pytest.skip("Python itself is not built with the sanitizer")
    return ctypes.CDLL(str(native.library))


def test_the_reader_mirrors_the_records(library: ctypes.CDLL) -> None:
    library.kt_layout.restype = ctypes.c_char_p
    layout: dict[str, tuple[int, dict[str, int]]] = {}
    for line in library.kt_layout().decode().splitlines():
        head, *fields = line.split()
        name, size = head.split(":")
        layout[name] = int(size), {f.split("=")[0]: int(f.split("=")[1]) for f in fields}
    ours = {
        name: (dtype.itemsize, {n: dtype.fields[n][1] for n in dtype.names or () if n != "reserved"})
        for name, dtype in (RECORDS | {"header": HEADER}).items()
        if dtype.fields is not None
    }
    assert ours == layout


@needs_toolkit
@pytest.mark.skipif(not shutil.which("g++"), reason="needs a C++ compiler")
def test_our_declarations_agree_with_the_real_headers(tmp_path: Path) -> None:
    check = NATIVE / "tests" / "abi_check.cpp"
    done = subprocess.run(
        ["g++", "-std=c++17", "-fsyntax-only", f"-I{CUDA}", f"-I{NATIVE}/include", check],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@needs_toolkit
@pytest.mark.parametrize(
    ("ours", "header"), [("kRuntimeCalls", "cupti_runtime_cbid.h"), ("kDriverCalls", "cupti_driver_cbid.h")]
)
def test_every_number_is_a_call_that_launches_copies_or_waits(ours: str, header: str) -> None:
    names = {int(n): name for name, n in re.findall(r"TRACE_CBID_(\w+)\s*=\s*(\d+)", (CUDA / header).read_text())}
    source = re.sub(r"//.*", "", (NATIVE / "src" / "cbids.h").read_text())
    listed = [int(n) for n in re.findall(r"\d+", source.split(ours + "[] = {")[1].split("}")[0])]
    assert len(listed) == len(set(listed))
    wanted = re.compile(
        r"(__)?cuda(Launch(Cooperative)?Kernel(ExC|MultiDevice)?|GraphLaunch|Mem(cpy|set)\w*|(Thread|Stream|Event|Device)Synchronize)"
        r"(_pt[sd][sz])?_v\d+"
        r"|cu(Launch(Cooperative)?Kernel(Ex|MultiDevice)?|GraphLaunch|Mem(cpy|set)\w*|(Ctx|Stream|Event)Synchronize)(_v2)?(_pt[sd][sz])?"
    )
    assert [(n, names.get(n)) for n in listed if not wanted.fullmatch(names.get(n, ""))] == []
    old = range(43, 96) if ours == "kDriverCalls" else range(0)  # replaced by second versions before CUDA 4
    assert {n: name for n, name in names.items() if wanted.fullmatch(name) and n not in old and n not in listed} == {}


def test_codes_have_names(library: ctypes.CDLL) -> None:
    library.kt_code_name.restype = ctypes.c_char_p
    header = (NATIVE / "include" / "kerntrace" / "capi.h").read_text()
    codes = {name: int(n) for name, n in re.findall(r"KT_(\w+) = (\d+)", header)}
    assert {name.lower().replace("_", "-"): n for name, n in codes.items()} == {
        library.kt_code_name(n).decode(): n for n in range(len(codes))
    }
    assert library.kt_code_name(len(codes)) == library.kt_code_name(-1) == b"unknown"


def test_only_the_interface_is_exported(native: Native) -> None:
    if not shutil.which("nm") or native.sanitized:
        pytest.skip("needs nm and a plain build")
    listed = subprocess.run(["nm", "-D", "--defined-only", native.library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in listed.splitlines()}
    header = (NATIVE / "include" / "kerntrace" / "capi.h").read_text()
    declared = set(re.findall(r"KT_API [\w *]+?(kt_\w+)\(", header))
    assert exported == declared | {"InitializeInjection", "InitializeInjectionNvtx2"}


PROBE = """
import ctypes, os, sys
kt = ctypes.CDLL(os.environ["KERNTRACE_LIBRARY"])
text = ctypes.create_string_buffer(1000)
code = kt.kt_probe(os.environ["MOCK_CUPTI"].encode(), text, len(text))
print(code); print(text.value.decode(), end="")
"""


@pytest.mark.parametrize(("trouble", "code", "message"), [({}, 0, ""), ({"MOCK_CUPTI_TAKEN": "CUPTI for X"}, 5, "CUPTI for X")])
def test_a_probe_tells_what_a_recording_would_meet(native: Native, trouble: dict[str, str], code: int, message: str) -> None:
    if native.sanitized:
        pytest.skip("Python itself is not built with the sanitizer")
    environment = native.environment(None, **trouble)
    done = subprocess.run([sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, check=True)
    printed, *lines = done.stdout.splitlines()
    found = dict(line.split("=", 1) for line in lines)
    assert int(printed) == code
    assert found["path"] == str(native.mock)
    assert found["version"] == "130001"
    assert found["code"] == ("ok" if code == 0 else "cupti-taken")
    assert found["message"].endswith(message)
