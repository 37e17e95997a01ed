"""What an API function is, told by its name."""

from __future__ import annotations

import pytest

from kerntrace.trace.api_names import function_name, is_driver, is_graph_launch, is_launch, is_synchronising


@pytest.mark.parametrize(
    ("recorded", "function"),
    [
        ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
        ("cudaLaunchKernel_ptsz", "cudaLaunchKernel"),
        ("cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel"),
        ("cuMemcpyHtoD_v2", "cuMemcpyHtoD"),
        ("cuGraphLaunch_ptds", "cuGraphLaunch"),
        ("cudaLaunchKernel", "cudaLaunchKernel"),
        ("my_v2_function", "my_v2_function"),  # a suffix is at the end or it is none
        ("_v1", ""),
        ("", ""),
    ],
)
def test_a_version_suffix_is_not_part_of_the_name(recorded: str, function: str) -> None:
    assert function_name(recorded) == function


@pytest.mark.parametrize(
    "function",
    [
        "cudaLaunchKernel",
        "cudaLaunchKernelExC",
        "cuLaunchKernel",
        "cuLaunchKernelEx",
        "cuLaunchCooperativeKernel",
        "hipModuleLaunchKernel",
        "hipExtModuleLaunchKernel",
        "cudaGraphLaunch",
        "cuGraphLaunch",
        "hipGraphLaunch",
    ],
)
def test_launches(function: str) -> None:
    assert is_launch(function)
    assert is_graph_launch(function) == ("Graph" in function)
    assert not is_synchronising(function)


@pytest.mark.parametrize(
    "function", ["cudaLaunchHostFunc", "cudaGraphInstantiate", "cudaMemcpyAsync", "cudalaunchkernel", "xcudaLaunchKernel", ""]
)
def test_what_only_looks_like_a_launch_is_none(function: str) -> None:
    assert not is_launch(function)
    assert not is_graph_launch(function)


@pytest.mark.parametrize(
    ("function", "waits"),
    [
        ("cudaDeviceSynchronize", True),
        ("cudaStreamSynchronize", True),
        ("cudaEventSynchronize", True),
        ("cuCtxSynchronize", True),
        ("cuStreamSynchronize", True),
        ("hipDeviceSynchronize", True),
        ("cudaMemcpy", True),
        ("cudaMemcpy2D", True),
        ("cuMemcpyDtoH", True),
        ("hipMemcpyDtoH", True),
        ("cudaMemcpyAsync", False),
        ("cudaMemcpy2DAsync", False),
        ("cuMemcpyDtoHAsync", False),
        ("cudaEventRecord", False),
        ("cudaStreamWaitEvent", False),
        ("cudaLaunchKernel", False),
    ],
)
def test_waiting_calls(function: str, waits: bool) -> None:
    assert is_synchronising(function) is waits


@pytest.mark.parametrize(
    ("function", "driver"),
    [("cuLaunchKernel", True), ("cudaLaunchKernel", False), ("hipLaunchKernel", False), ("custom", False)],
)
def test_driver_functions(function: str, driver: bool) -> None:
    assert is_driver(function) is driver
