"""All that is derived from a study before any claim is weighed. Room: evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kerntrace.errors import KerntraceError
from kerntrace.evidence.attribution import Regression, exposure_targets, gap_target, pooled_targets, regress
from kerntrace.evidence.cells import Missing, cells_of, hosts_of, missing_of, traced_of
from kerntrace.evidence.crosscheck import CrossCheck
from kerntrace.evidence.effects import COMPILATION, GAP, GRAPHS, CellFigures, Resampling, cell_figures
from kerntrace.evidence.gap_check import GapCheck, all_cross_checks, gap_checks
from kerntrace.evidence.machines import ALL, COMMON, PUBLISHED, PUBLISHED_GRID, Grid, MachineFigures, machine_figures
from kerntrace.evidence.phase_trend import PhaseTrend, phase_trends
from kerntrace.evidence.prediction_table import Predicted, predict_study
from kerntrace.evidence.published import REFERENCES, STUDIED_MODEL, Reference
from kerntrace.evidence.rivals import Contest
from kerntrace.evidence.rivals import contests as contests_of
from kerntrace.evidence.same_kernels import WorkCheck, work_checks
from kerntrace.evidence.study_accuracy import AccuracyFigures, study_accuracy
from kerntrace.evidence.traced import TracedFigures, traced_figures
from kerntrace.model.scheduler import SForm
from kerntrace.study.records import Host, Study


@dataclass(frozen=True, slots=True)
class Question:
    """How a study is looked at.

    Attributes:
        seed, resamples: of the bootstrap; the plan's where None.
        s_form: the form of S(N) that decides; all forms are computed.
        s_table: ms by batch for form `table`.
        predictions: to measure against instead of the model's own.
        published: whether the published reference rows stand beside the figures.
    """

    seed: int | None = None
    resamples: int | None = None
    s_form: str = SForm.LINEAR.value
    s_table: Mapping[int, float] = field(default_factory=dict)
    predictions: tuple[Predicted, ...] = ()
    published: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """One host of one store, with its cells."""

    store: str
    host: Host
    cells: tuple[CellFigures, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A study with everything derived from it.

    Attributes:
        how: seed, resamples and margin used.
        machines: hosts of the study, then of other stores; only the first kind enter any figure but the machines' own.
        figures: over the grids of each machine.
        references: published rows, beside the figures and in none of them.
        notes: what could not be derived, and why.
    """

    study: Study
    question: Question
    how: Resampling
    machines: tuple[Machine, ...]
    missing: tuple[Missing, ...]
    figures: tuple[MachineFigures, ...]
    references: tuple[Reference, ...]
    traced: tuple[TracedFigures, ...]
    checks: tuple[CrossCheck, ...]
    gap_checks: tuple[GapCheck, ...]
    works: tuple[WorkCheck, ...]
    regressions: tuple[Regression, ...]
    contests: tuple[Contest, ...]
    trends: tuple[PhaseTrend, ...]
    accuracy: tuple[AccuracyFigures, ...]
    notes: tuple[str, ...]

    @property
    def own(self) -> tuple[Machine, ...]:
        """The machines of the study itself."""
        return tuple(machine for machine in self.machines if not machine.store)

    @property
    def cells(self) -> tuple[CellFigures, ...]:
        """The cells of the study itself."""
        return tuple(cell for machine in self.own for cell in machine.cells)

    def gpu_of(self, host: str) -> str:
        return next((machine.host.gpu for machine in self.own if machine.host.key == host), "unknown GPU")


def gather(study: Study, question: Question | None = None, others: Sequence[tuple[str, Study]] = ()) -> Evidence:
    """Derive everything from a study.

    Args:
        others: other stores by name; their machines are figured with the same seed and kept apart.
    """
    question = question or Question()
    plan = study.plan
    seed = plan.seed if question.seed is None else question.seed
    resamples = plan.resamples if question.resamples is None else question.resamples
    how = Resampling(seed, resamples, plan.margin_ns)
    machines = [machine for name, one in (("", study), *others) for machine in _machines(name, one, how)]
    mine = [cell for machine in machines if not machine.store for cell in machine.cells]
    traced = traced_figures(traced_of(study), seed, resamples)
    checks, works = all_cross_checks(traced, mine, seed, resamples), work_checks(traced)
    gpus: dict[str, list[CellFigures]] = {}
    for machine in machines:
        if not machine.store:
            gpus.setdefault(machine.host.gpu, []).extend(machine.cells)
    predictions, notes = _predictions(study, question, list(gpus))
    regressions, contests = _attributed([m for m in machines if not m.store], traced, question, how)
    return Evidence(
        study,
        question,
        how,
        tuple(machines),
        missing_of(study, cells_of(study)),
        _figures(machines, plan.model, seed),
        REFERENCES if question.published and plan.model == STUDIED_MODEL else (),
        traced,
        checks,
        gap_checks(checks, works, mine),
        works,
        regressions,
        contests,
        phase_trends(traced),
        study_accuracy(gpus, predictions, seed, resamples),
        tuple(notes),
    )


def _machines(store: str, study: Study, how: Resampling) -> list[Machine]:
    figures = cell_figures(cells_of(study), how)
    return [
        Machine(store, host, tuple(cell for cell in figures if cell.place.host == key)) for key, host in hosts_of(study).items()
    ]


def _figures(machines: Sequence[Machine], model: str, seed: int) -> tuple[MachineFigures, ...]:
    measured = [
        {(cell.place.batch, cell.place.context) for cell in machine.cells if GAP in cell.effects} for machine in machines
    ]
    having = [cells for cells in measured if cells]
    grids: dict[str, Grid | None] = {ALL: None}
    if len(having) > 1:
        grids[COMMON] = frozenset(set.intersection(*having))
    if model == STUDIED_MODEL:
        grids[PUBLISHED] = PUBLISHED_GRID
    return tuple(
        one for machine in machines for one in machine_figures(machine.cells, machine.host.gpu, grids, seed, machine.store)
    )


def _attributed(
    machines: Sequence[Machine], traced: Sequence[TracedFigures], question: Question, how: Resampling
) -> tuple[tuple[Regression, ...], tuple[Contest, ...]]:
    regressions: list[Regression] = []
    contests: list[Contest] = []
    table = dict(question.s_table)
    for effect in (GAP, GRAPHS, COMPILATION):
        found = [gap_target(machine.cells, effect) for machine in machines]
        targets = [one for one in found if one is not None]
        for target in (*targets, *pooled_targets(targets)):
            regressions += regress(target, table, how.seed, how.resamples)
        for target in targets if effect != COMPILATION else ():
            contests += contests_of(target, table)
    for machine in machines:
        here = [one for one in traced if one.place.host == machine.host.key]
        for target in exposure_targets(here):
            regressions += regress(target, table, how.seed, how.resamples)
    return tuple(regressions), tuple(contests)


def _predictions(study: Study, question: Question, gpus: Sequence[str]) -> tuple[list[Predicted], list[str]]:
    if question.predictions:
        return list(question.predictions), []
    found: list[Predicted] = []
    notes = []
    for gpu in gpus:
        predicted, note = _predicted(study, question, gpu)
        found += predicted
        notes += [note] if note else []
    return found, notes


def _predicted(study: Study, question: Question, gpu: str) -> tuple[list[Predicted], str]:
    try:
        return predict_study(study.plan, gpu, question.s_form, question.s_table), ""
    except KerntraceError as error:
        return [], f"no prediction for {gpu}: {error.what}"
