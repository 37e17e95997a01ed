"""The kernels of a recorded step beside the operations of the inventory and their predicted times. Room: evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from kerntrace.accounting.analysis import Analysis
from kerntrace.accounting.summary import Cell
from kerntrace.evidence.roofline_setting import Setting, step_of_cell
from kerntrace.evidence.tally import Pair, Tally, tally_by
from kerntrace.evidence.typical_step import Member, TypicalStep, typical_step
from kerntrace.model.carriers import carrier_of
from kerntrace.model.inventory import Inventory
from kerntrace.model.join import Join, join
from kerntrace.model.kernels import Kernel
from kerntrace.model.profile import Profile
from kerntrace.model.roofline import Violation, faster_than_ideal, time_kernels, total_ns
from kerntrace.stats.accuracy import Accuracy, accuracy, signed_error
from kerntrace.steps.layers import Layers, layers_of

_UNKNOWN_CUT = ("periodic", "regex")


@dataclass(frozen=True, slots=True)
class Blocks:
    """T_blocks by one profile beside the device time of a step.

    Attributes:
        predicted_ns: sum of the slots.
        error: (predicted - measured) / measured.
    """

    profile: str
    predicted_ns: float
    error: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A kernel count that differs from the prediction, named.

    Attributes:
        what: `recorded, not predicted`, `predicted, not recorded`, or `predicted as a kernel, recorded as a copy`
            or the reverse.
        name: of the operation, or of the recorded kernel's family.
        change: by how much it moves the recorded count away from the predicted one.
    """

    what: str
    name: str
    count: int
    change: int


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Recorded work that the inventory has no operation for.

    Attributes:
        kind: what such kernels do, or empty where no rule knows the name.
        total_ns: over a step.
    """

    family: str
    name: str
    kind: str
    count: int
    total_ns: float


@dataclass(frozen=True, slots=True)
class CellRoofline:
    """A cell of a trace kernel by kernel beside its prediction.

    Attributes:
        pairs: recorded work with an operation, in launch order.
        rows, classes: pairs taken together by operation and by kind.
        device_ns: median of GPU busy plus device gap over the cell's steps, what T_blocks stands for.
        blocks: T_blocks by each profile, the chosen one first.
        layers: the layer that repeats in the recording, if one does.
        kernels_predicted, kernels_recorded: of a step; `differences` sum up to what is between them.
        accuracy: of kernels, recorded and predicted both as kernels; None where no pair is left.
        violations: kernels measured faster than their bytes allow.
    """

    cell: Cell
    batch: int
    setting: Setting
    profile: Profile
    inventory: Inventory
    step: TypicalStep
    pairs: tuple[Pair, ...]
    rows: tuple[Tally, ...]
    classes: tuple[Tally, ...]
    unmatched: tuple[Unmatched, ...]
    busy_ns: float
    device_gap_ns: float
    device_ns: float
    blocks: tuple[Blocks, ...]
    layers: Layers | None
    kernels_predicted: int
    kernels_recorded: int
    differences: tuple[Difference, ...]
    accuracy: Accuracy | None
    violations: tuple[Violation, ...]
    notes: tuple[str, ...]

    @property
    def work_ns(self) -> float:
        """Summed median durations of everything a step ran."""
        return sum(member.measured_ns for member in self.step.members)

    @property
    def classified_share(self) -> float:
        """Share of that time which was matched with an operation."""
        return sum(pair.member.measured_ns for pair in self.pairs) / self.work_ns if self.work_ns else 0.0

    @property
    def classified_kernels(self) -> float:
        """Share of the recorded kernels that were matched with an operation."""
        matched = sum(pair.member.is_kernel for pair in self.pairs)
        return matched / self.kernels_recorded if self.kernels_recorded else 0.0


def compare_cell(
    analysis: Analysis, cell: Cell, batch: int, setting: Setting, profile: Profile, others: Iterable[Profile]
) -> CellRoofline:
    """Lay a cell's typical step beside the inventory, and both beside each profile's times.

    Args:
        analysis: with a ledger.
        batch: sequences a step decodes, which a trace without step ranges does not say.
        profile: the one that times the kernels; T_blocks is given for `others` too.

    Raises:
        UsageError: if the cell is beyond the model's limit, or a profile lacks a constant for this GPU.
    """
    assert analysis.steps is not None
    step = typical_step(analysis, cell.steps)
    families = [member.family for member in step.members]
    inventory, notes = step_of_cell(analysis, cell, batch, setting, families)
    may_turn = analysis.steps.boundaries.method in _UNKNOWN_CUT
    joined = join(families, inventory.kernels, may_turn=may_turn)
    timed = time_kernels(inventory, profile, setting.dtype)
    pairs = tuple(Pair(member, timed[place]) for member, place in zip(step.members, joined.of.tolist()) if place >= 0)
    device_ns = _device_ns(analysis, cell)
    layers = layers_of(analysis.trace, analysis.ops, analysis.steps, int(step.steps[0]))
    return CellRoofline(
        cell=cell,
        batch=batch,
        setting=setting,
        profile=profile,
        inventory=inventory,
        step=step,
        pairs=pairs,
        rows=tally_by(pairs, lambda pair: (pair.kernel.name, pair.kernel.family, pair.kernel.shape)),
        classes=tally_by(pairs, lambda pair: (pair.kernel.kind.value,)),
        unmatched=_unmatched(step.members, joined),
        busy_ns=cell.terms["busy"].median,
        device_gap_ns=cell.terms["device_gap"].median,
        device_ns=device_ns,
        blocks=tuple(_blocks(inventory, one, setting.dtype, device_ns) for one in _distinct(profile, others)),
        layers=layers,
        kernels_predicted=inventory.kernel_count,
        kernels_recorded=sum(member.is_kernel for member in step.members),
        differences=_differences(step.members, joined, inventory.kernels),
        accuracy=_accuracy(pairs),
        violations=_violations(pairs, setting),
        notes=(*notes, *_notes(step, inventory, layers)),
    )


def _device_ns(analysis: Analysis, cell: Cell) -> float:
    from numpy import median

    ledger = analysis.ledger
    assert ledger is not None  # cells come from a ledger
    return float(median((ledger.busy + ledger.term("device_gap"))[cell.steps]))


def _distinct(profile: Profile, others: Iterable[Profile]) -> list[Profile]:
    return list({one.name: one for one in (profile, *others)}.values())


def _blocks(inventory: Inventory, profile: Profile, dtype: str, device_ns: float) -> Blocks:
    predicted = total_ns(time_kernels(inventory, profile, dtype))
    return Blocks(profile.name, predicted, signed_error(predicted, device_ns))


def _unmatched(members: Iterable[Member], joined: Join) -> tuple[Unmatched, ...]:
    groups: dict[tuple[str, str], list[float]] = {}
    for member, place in zip(members, joined.of.tolist()):
        if place < 0:
            groups.setdefault((member.family, member.name), []).append(member.measured_ns)
    found = []
    for (family, name), times in groups.items():
        carrier = carrier_of(family)
        found.append(Unmatched(family, name, carrier.kind.value if carrier else "", len(times), sum(times)))
    return tuple(sorted(found, key=lambda one: (-one.total_ns, one.family)))


def _differences(members: Iterable[Member], joined: Join, kernels: tuple[Kernel, ...]) -> tuple[Difference, ...]:
    """Every way in which the recorded kernel count came to differ from the predicted one."""
    extra: Counter[str] = Counter()
    as_copy: Counter[str] = Counter()
    as_kernel: Counter[str] = Counter()
    for member, place in zip(members, joined.of.tolist()):
        if place < 0 and member.is_kernel:
            extra[member.family] += 1
        elif place >= 0 and member.is_kernel is kernels[place].is_copy:
            (as_kernel if member.is_kernel else as_copy)[kernels[place].name] += 1
    missing = Counter(kernels[place].name for place in joined.missing if not kernels[place].is_copy)
    told = (
        ("recorded, not predicted", extra, 1),
        ("predicted, not recorded", missing, -1),
        ("predicted as a kernel, recorded as a copy", as_copy, -1),
        ("predicted as a copy, recorded as a kernel", as_kernel, 1),
    )
    return tuple(Difference(what, name, n, sign * n) for what, counts, sign in told for name, n in counts.items())


def _accuracy(pairs: Iterable[Pair]) -> Accuracy | None:
    compared = [pair for pair in pairs if pair.is_compared]
    if not compared:
        return None
    return accuracy([pair.timed.busy_ns for pair in compared], [pair.member.measured_ns for pair in compared])


def _violations(pairs: tuple[Pair, ...], setting: Setting) -> tuple[Violation, ...]:
    return faster_than_ideal(
        [pair.kernel for pair in pairs], [pair.member.measured_ns for pair in pairs], setting.gpu, setting.dtype
    )


def _notes(step: TypicalStep, inventory: Inventory, layers: Layers | None) -> list[str]:
    notes = list(inventory.notes)
    if len(step.steps) < step.of:
        notes.append(f"{len(step.steps)} of {step.of} steps ran the commonest sequence of kernels; medians are over those")
    expected = inventory.step.model.layers
    if layers is None:
        notes.append("no layer repeats in the recording")
    elif layers.repeats != expected:
        notes.append(f"a layer repeats {layers.repeats} times in the recording, but {expected} in the model: is --model right?")
    return notes
