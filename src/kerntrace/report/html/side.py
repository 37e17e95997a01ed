"""One trace of a page: its documents, as the verbs print them, and what they leave out. Room: report."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerntrace.accounting.analysis import Analysis
from kerntrace.accounting.summary import Cell, cells_of
from kerntrace.capture.wallclock import Pair, step_times
from kerntrace.errors import UsageError
from kerntrace.evidence.roofline_setting import Asked, guess_mode, settle
from kerntrace.report.documents import brief_steps_document, kernels_document
from kerntrace.report.html.choose import Run, Sample, sample_steps, timeline_runs
from kerntrace.report.roofline_document import roofline_document
from kerntrace.steps.layers import layers_of
from kerntrace.steps.work import brief_kernels_in

Json = dict[str, Any]
PROFILES = ("affine", "flat", "ideal")  # as `kerntrace roofline` takes them when not told otherwise


@dataclass(frozen=True, slots=True)
class Untraced:
    """A decode step's time without a recorder, from the trace's `walls`.

    Attributes:
        times: (wall of all tokens - wall of one) / steps between, a value a repetition, ns; measured by the host's clock.
        traced_ns: median wall of the traced steady steps, by the device's clock.
    """

    context: int
    times: tuple[float, ...]
    traced_ns: float

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def ratio(self) -> float:
        """Dilation: traced wall over untraced wall."""
        return self.traced_ns / self.median


@dataclass(frozen=True, slots=True)
class Side:
    """A trace and everything a page says of it.

    Attributes:
        letter: a or b.
        name: the file's, without its directory.
        dtype: of the weights, for the GPU's peak.
        mode: of execution: what the manifest says, else what the work shows; empty where neither does.
        documents: `steps` and `kernels` in brief, and `roofline` where the setting is known, as the verbs' `--json` has them.
        no_roofline: why there is no roofline; empty where there is one.
        untraced: by batch.
    """

    letter: str
    name: str
    analysis: Analysis
    cells: list[Cell]
    mode: str
    dtype: str
    documents: Mapping[str, Json]
    no_roofline: str
    sample: Sample
    runs: list[Run]
    untraced: Mapping[int, Untraced]


def read_side(
    letter: str, name: str, analysis: Analysis, asked: Asked, batches: list[int], steps_asked: tuple[int, int] | None
) -> Side:
    """Everything a page says of a trace.

    Args:
        asked: what is said of the recording, for the roofline.
        batches: cells to keep; all where empty.

    Raises:
        UsageError: if the steps asked for are not there.
    """
    cells = [cell for cell in cells_of(analysis) if not batches or cell.batch in batches]
    sample = sample_steps(analysis)
    shown = sample.steps.tolist() if analysis.ok else []
    documents = {
        "steps": brief_steps_document(analysis, cells, shown),
        "kernels": kernels_document(analysis, _kernels(analysis, cells)),
    }
    roofline, no_roofline = _roofline(analysis, cells, asked)
    if roofline is not None:
        documents["roofline"] = roofline
    runs = timeline_runs(analysis, cells, steps_asked)
    mode = _mode(analysis, asked)
    dtype = asked.dtype or analysis.trace.manifest.workload.dtype or "bfloat16"
    return Side(
        letter,
        name,
        analysis,
        cells,
        mode,
        dtype,
        documents,
        no_roofline,
        sample,
        runs,
        _untraced(analysis, cells, mode),
    )


def _kernels(analysis: Analysis, cells: list[Cell]) -> list[Any]:
    found = []
    for cell in cells:
        assert analysis.steps is not None  # cells come from steps
        uses = brief_kernels_in(analysis.trace, analysis.ops, analysis.steps, cell.steps)
        layers = layers_of(analysis.trace, analysis.ops, analysis.steps, int(cell.steps[len(cell.steps) // 2]))
        found.append((cell, uses, layers.json() if layers else None))
    return found


def _mode(analysis: Analysis, asked: Asked) -> str:
    if asked.mode is not None:
        return asked.mode.value
    said = analysis.trace.manifest.workload.mode
    if said:
        return said
    return guess_mode(analysis)[0].value if analysis.steps is not None and analysis.ok else ""


def _roofline(analysis: Analysis, cells: list[Cell], asked: Asked) -> tuple[Json | None, str]:
    """The roofline document, or why there is none."""
    from kerntrace.evidence.roofline_join import compare_cell
    from kerntrace.model.profile import load_profile

    known = [(cell, cell.batch) for cell in cells if cell.batch is not None]
    if not known:
        return None, "no steady decode step of a known batch"
    profiles = [load_profile(name) for name in PROFILES]
    try:
        setting = settle(analysis, asked)
        compared = [compare_cell(analysis, cell, size, setting, profiles[0], profiles) for cell, size in known]
    except UsageError as error:
        return None, f"{error.what}; {error.hint}" if error.hint else error.what
    return roofline_document(analysis, compared), ""


def _untraced(analysis: Analysis, cells: list[Cell], mode: str) -> dict[int, Untraced]:
    """What the walls of the trace's mode say, for each batch that was timed with two lengths at one context."""
    walls = analysis.trace.walls
    if not len(walls):
        return {}
    chosen = np.flatnonzero(walls.names("mode").where(lambda said: said == mode or not mode))
    names = ("batch", "context", "tokens", "repetition", "wall_ns")
    rows = list(zip(*(walls.ints(name)[chosen].tolist() for name in names)))
    found = {}
    for cell in cells:
        contexts = {context for batch, context, *_ in rows if batch == cell.batch}
        if cell.batch is None or len(contexts) != 1:
            continue
        times = _step_times([row[2:] for row in rows if row[0] == cell.batch])
        if times and statistics.median(times) > 0:
            found[cell.batch] = Untraced(contexts.pop(), tuple(times), cell.terms["wall"].median)
    return found


def _step_times(rows: list[tuple[int, ...]]) -> list[float]:
    """Of (tokens, repetition, wall): a decode step's time by each repetition that has a long and a one-token call."""
    by: dict[int, dict[int, int]] = {}
    for tokens, repetition, wall in rows:
        by.setdefault(repetition, {})[tokens] = wall
    return [
        t
        for walls in by.values()
        if 1 in walls and len(walls) == 2
        for t in step_times([Pair(walls[max(walls)], walls[1])], max(walls))
    ]
