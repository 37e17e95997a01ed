"""Predicted steps and gaps by GPU, mode, batch and context, for a study's grid. Room: evidence.

They come from the model, or from a document of `kerntrace predict --json`; nothing measured enters them here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from kerntrace.errors import KerntraceError, UnreadableError
from kerntrace.study.records import Plan
from kerntrace.workload import Cell, Mode


@dataclass(frozen=True, slots=True)
class Predicted:
    """A predicted time, ns.

    Attributes:
        of: a mode, for its step; or `gap (residual)` / `gap (total)`, for what a graph removes.
        source: the reading and profile that made it.
    """

    gpu: str
    of: str
    batch: int
    context: int
    source: str
    ns: float


def predict_study(plan: Plan, gpu: str, s_form: str, s_table: Mapping[int, float]) -> list[Predicted]:
    """What the model predicts for the plan's grid on a GPU, by both readings.

    Raises:
        UsageError: if the GPU or the model is not known, or S has no value at a batch size.
    """
    from kerntrace.hardware import find_gpu
    from kerntrace.model.architecture import load_model
    from kerntrace.model.predict import Options, Reading, predict_step
    from kerntrace.model.profile import load_profile
    from kerntrace.model.scheduler import SForm

    spec, model, profile = find_gpu(gpu), load_model(plan.model), load_profile("affine")
    options = Options(tokens=plan.tokens, s_form=SForm(s_form), s_table=dict(s_table))
    modes = [mode for mode in Mode if mode.value in plan.modes]
    found = []
    for batch, context in product(plan.batches, plan.contexts):
        steps = {mode: predict_step(model, spec, Cell(mode, batch, context), profile, options) for mode in modes}
        for reading in Reading:
            source = f"{reading.value}, {profile.name}"
            times = {mode.value: one.by_reading_ns[reading.value] for mode, one in steps.items()}
            if Mode.EAGER in steps and Mode.GRAPH in steps:
                times["gap (total)"] = times[Mode.EAGER.value] - times[Mode.GRAPH.value]
                if reading is Reading.PUBLISHED:
                    times["gap (residual)"] = steps[Mode.GRAPH].gap_residual_ns
            found += [Predicted(gpu, of, batch, context, source, ns) for of, ns in times.items()]
    return found


def from_document(document: Any, gpus: Sequence[str], name: str) -> list[Predicted]:
    """The predictions of a `kerntrace.predict/1` document for these GPUs, by every reading it holds.

    Args:
        gpus: as CUDA names them; the document's short names are looked up.
        name: of the document, for what is said of it.

    Raises:
        UnreadableError: if it is no such document, or holds nothing for these GPUs.
    """
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list) or document.get("schema") != "kerntrace.predict/1":
        raise UnreadableError(f"{name} is no kerntrace.predict/1 document", "Write it with kerntrace predict --json.")
    wanted = {_short(gpu): gpu for gpu in gpus}
    try:
        found = [one for cell in cells for one in _of_cell(cell, wanted)]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UnreadableError(f"{name} lacks keys of a prediction", "Write it with kerntrace predict --json.") from None
    if not found:
        there = ", ".join(wanted) or "no host"
        raise UnreadableError(f"{name} predicts nothing for {there}", "Predict for the study's GPU with --gpu.")
    return found


def _of_cell(cell: Mapping[str, Any], wanted: Mapping[str, str]) -> Iterator[Predicted]:
    gpu = wanted.get(str(cell["gpu"]))
    if gpu is None:
        return
    batch, context, profile = int(cell["batch"]), int(cell["context"]), str(cell["profile"])
    for reading, ns in cell["terms"]["step_by_reading_ns"].items():
        yield Predicted(gpu, str(cell["mode"]), batch, context, f"{reading}, {profile}", float(ns))
    if cell["mode"] == Mode.GRAPH.value:
        source = f"{cell['reading']}, {profile}"
        yield Predicted(gpu, "gap (total)", batch, context, source, float(cell["terms"]["gap_total_ns"]))
        yield Predicted(gpu, "gap (residual)", batch, context, source, float(cell["terms"]["gap_residual_ns"]))


def _short(gpu: str) -> str:
    from kerntrace.hardware import find_gpu

    try:
        return find_gpu(gpu).name
    except KerntraceError:
        return gpu
