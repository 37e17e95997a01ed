"""`kerntrace predict`. Room: cli."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerntrace.cli.options import AsCsv, AsJson, one_format, print_csv, print_json
from kerntrace.errors import DONE, UsageError

if TYPE_CHECKING:
    from kerntrace.hardware import GpuSpec
    from kerntrace.model.dispatch import Host
    from kerntrace.model.predict import Options, Prediction
    from kerntrace.model.profile import Profile
    from kerntrace.workload import Mode

_MOST_CELLS = 2000
_SAMPLE = "name=value, e.g. dispatch=24"

Gpu = Annotated[str, typer.Option("--gpu", help="GPU or CUDA device name; several with commas; `all`.")]
Model = Annotated[str, typer.Option("--model", help="Model name, or the path of a config.json; several with commas.")]
Numbers = Annotated[str, typer.Option("--batch", help="Sequences in a step: 1, or 1,2,4, or 1-8.")]
Contexts = Annotated[str, typer.Option("--context", help="Tokens of context: as --batch.")]
ModeName = Annotated[str, typer.Option("--mode", help="eager, graph, graph-nocompile, compile; several with commas; `all`.")]
ProfileName = Annotated[str, typer.Option("--profile", help="ideal, flat, affine, h200-calibrated or a .toml; with commas.")]
Reading = Annotated[str, typer.Option("--reading", help="dispatch: host dispatch floor; published: alpha(N) S(N) added.")]
STable = Annotated[str, typer.Option("--s-table", help="S by batch in ms for --s-form table: 1:1.3,16:4.3.")]
HostCosts = Annotated[
    list[str] | None,
    typer.Option("--host", help="A host cost in us: dispatch, driver, graph or sampler, e.g. --host dispatch=24; repeat."),
]


def predict(
    gpu: Gpu = "H200",
    model: Model = "llama-3.1-8b",
    batch: Numbers = "1",
    context: Contexts = "512",
    mode: ModeName = "graph",
    profile: ProfileName = "affine",
    tokens: Annotated[int, typer.Option("--tokens", help="Tokens generated: the mean step is predicted.")] = 33,
    max_length: Annotated[
        int | None, typer.Option("--max-model-len", help="Longest sequence the engine was started for.")
    ] = None,
    dtype: Annotated[str, typer.Option("--dtype", help="Weights: bfloat16, float16, fp8.")] = "bfloat16",
    kv_dtype: Annotated[str | None, typer.Option("--kv-dtype", help="Keys and values; as --dtype if not given.")] = None,
    reading: Reading = "dispatch",
    s_form: Annotated[str, typer.Option("--s-form", help="S(N): linear, log2, sqrt, power, table.")] = "linear",
    s_table: STable = "",
    alpha: Annotated[str, typer.Option("--alpha", help="alpha(N): mode (1 eager, 0 graph), shadow, none.")] = "mode",
    host: HostCosts = None,
    efficiency: Annotated[float | None, typer.Option("--efficiency", help="Share of bandwidth, for --profile flat.")] = None,
    bandwidth: Annotated[float | None, typer.Option("--bandwidth", help="GB/s, for a GPU that is not in the table.")] = None,
    sms: Annotated[int | None, typer.Option("--sms", help="Multiprocessors, likewise.")] = None,
    clock: Annotated[float | None, typer.Option("--clock", help="Highest clock in MHz, likewise.")] = None,
    bf16_tflops: Annotated[float | None, typer.Option("--bf16-tflops", help="Dense BF16 peak, likewise.")] = None,
    l2: Annotated[float | None, typer.Option("--l2", help="L2 cache in MiB, likewise.")] = None,
    compute_capability: Annotated[str, typer.Option("--compute-capability", help="Such as 9.0, likewise.")] = "",
    gpu_file: Annotated[Path | None, typer.Option("--gpu-file", help="TOML file in the table's format.")] = None,
    kernels: Annotated[
        bool | None, typer.Option("--kernels/--no-kernels", help="The kernel table; shown for one cell.")
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> int:
    """Predict a decode step from shapes alone: every kernel's time and the terms of the step."""
    one_format(as_json, as_csv)
    given = (bandwidth, sms, clock, bf16_tflops, l2)
    gpus = _gpus(gpu, gpu_file, given, compute_capability)
    options = _options(dtype, kv_dtype, tokens, max_length, reading, s_form, s_table, alpha, host)
    grid = (_numbers("batch", batch), _numbers("context", context))
    found = _predict(gpus, _names(model), _modes(mode), grid, _profiles(profile, efficiency), options)
    with_kernels = kernels if kernels is not None else len(found) == 1
    if as_json:
        from kerntrace.cli.predict_document import document

        print_json(document(found, with_kernels=kernels is not False))
    elif as_csv:
        from kerntrace.cli.predict_document import cell_row, kernel_rows

        print_csv(kernel_rows(found) if kernels else [cell_row(one) for one in found])
    else:
        from kerntrace.cli.predict_tables import show

        show(found, with_kernels=with_kernels)
    return DONE


def _predict(
    gpus: list[GpuSpec],
    models: list[str],
    modes: list[Mode],
    grid: tuple[list[int], list[int]],
    profiles: list[Profile],
    options: Options,
) -> list[Prediction]:
    from kerntrace.model.architecture import load_model
    from kerntrace.model.predict import predict_step
    from kerntrace.workload import Cell

    batches, contexts = grid
    count = len(gpus) * len(models) * len(modes) * len(batches) * len(contexts) * len(profiles)
    if count > _MOST_CELLS:
        raise UsageError(f"{count} cells asked for, {_MOST_CELLS} at most", "Ask for fewer batches, contexts, models or GPUs.")
    return [
        predict_step(architecture, spec, Cell(mode, batch, context), profile, options)
        for architecture in map(load_model, models)
        for profile in profiles
        for spec in gpus
        for mode in modes
        for context in contexts
        for batch in batches
    ]


def _options(
    dtype: str,
    kv_dtype: str | None,
    tokens: int,
    max_length: int | None,
    reading: str,
    s_form: str,
    s_table: str,
    alpha: str,
    host: list[str] | None,
) -> Options:
    from kerntrace.model.predict import Options, Reading
    from kerntrace.model.scheduler import Alpha, SForm

    if max_length is not None and max_length < 1:
        raise UsageError(f"--max-model-len {max_length}", "Give 1 or more.")
    return Options(
        dtype=dtype,
        kv_dtype=kv_dtype,
        tokens=tokens,
        max_length=max_length,
        reading=Reading(_one_of("reading", reading, [r.value for r in Reading])),
        s_form=SForm(_one_of("s-form", s_form, [f.value for f in SForm])),
        s_table=_table(s_table),
        alpha=Alpha(_one_of("alpha", alpha, [a.value for a in Alpha])),
        host=_host(host or []),
    )


def _gpus(names: str, gpu_file: Path | None, given: tuple[float | None, ...], compute_capability: str) -> list[GpuSpec]:
    from kerntrace.hardware import device_reported, find_gpu, known_gpus
    from kerntrace.hardware.table import read_gpus

    if gpu_file is not None:
        return list(read_gpus(gpu_file))
    bandwidth, sms, clock, bf16_tflops, l2 = given
    if bandwidth is not None and sms is not None:
        if not compute_capability:
            raise UsageError(f"{names}: --compute-capability is missing", "Give what the device reports, such as 8.6.")
        described = device_reported(
            names,
            bandwidth_gb_s=bandwidth,
            sms=int(sms),
            compute_capability=compute_capability,
            clock_mhz=clock,
            bf16_tflops=bf16_tflops,
            l2_mib=l2,
        )
        return [described]
    if any(value is not None for value in given):
        raise UsageError(f"{names}: --bandwidth and --sms are both needed to describe a GPU", "Give both, or none of them.")
    return list(known_gpus()) if names == "all" else [find_gpu(name) for name in _names(names)]


def _profiles(names: str, efficiency: float | None) -> list[Profile]:
    from kerntrace.model.profile import load_profile, with_efficiency

    found = [load_profile(name) for name in _names(names)]
    if efficiency is None:
        return found
    for profile in found:
        if profile.form != "flat":
            raise UsageError(f"--efficiency does not apply to profile {profile.name}", "Use it with --profile flat.")
    return [with_efficiency(profile, efficiency) for profile in found]


def _modes(names: str) -> list[Mode]:
    from kerntrace.workload import Mode

    known = [mode.value for mode in Mode]
    return list(Mode) if names == "all" else [Mode(_one_of("mode", name, known)) for name in _names(names)]


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UsageError("an empty name was given", "Give a name, or several with commas.")
    return names


def _numbers(option: str, text: str) -> list[int]:
    numbers: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", part)
        if not found:
            raise UsageError(f"--{option} {text!r} is not a list of whole numbers", "Write it as 1, as 1,2,4 or as 1-8.")
        first, last = int(found[1]), int(found[2] or found[1])
        if first < 1 or last < first or last - first >= _MOST_CELLS:
            raise UsageError(
                f"--{option} {text!r}: {part.strip()} is not a range from 1 up", "Give 1 or more, the lower end first."
            )
        numbers.extend(range(first, last + 1))
    return list(dict.fromkeys(numbers))


def _one_of(option: str, value: str, known: list[str]) -> str:
    if value not in known:
        raise UsageError(f"--{option} {value!r} is not known", f"Known are {', '.join(known)}.")
    return value


def _table(text: str) -> dict[int, float]:
    table = {}
    for part in filter(None, text.split(",")):
        found = re.fullmatch(r"\s*(\d{1,9})\s*:\s*(\d+(?:\.\d+)?)\s*", part)
        if not found or int(found[1]) < 1:
            raise UsageError(f"--s-table {text!r} is not a table", "Write it as 1:1.3,16:4.3, batch:milliseconds.")
        table[int(found[1])] = float(found[2])
    return table


def _host(settings: list[str]) -> Host:
    from dataclasses import replace

    from kerntrace.model.dispatch import Host
    from kerntrace.model.profile import Constant

    fields = {
        "dispatch": "t_dispatch_us",
        "driver": "t_launch_driver_us",
        "graph": "t_graph_launch_us",
        "sampler": "t_sampler_host_us",
    }
    host = Host()
    for setting in settings:
        found = re.fullmatch(r"\s*([a-z]+)\s*=\s*(\d+(?:\.\d+)?)\s*", setting)
        if not found or found[1] not in fields:
            raise UsageError(f"--host {setting!r} is not a host cost", f"Write {_SAMPLE}; names are {', '.join(fields)}.")
        host = replace(host, **{fields[found[1]]: Constant(float(found[2]), "measured", "given on the command line")})
    return host
