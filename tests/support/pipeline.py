"""A trace's account without the rules' verdict: the rooms after one another, as the analysis runs them."""

from __future__ import annotations

from typing import NamedTuple

from kerntrace.accounting.ledger import Ledger, keep_ledger
from kerntrace.accounting.phases import Phases, attribute_phases
from kerntrace.steps.boundaries import Boundaries, find_ranges
from kerntrace.steps.ownership import Steps, own
from kerntrace.steps.steady import steady_steps
from kerntrace.trace.launches import Launches, join_launches
from kerntrace.trace.model import Trace
from kerntrace.trace.operations import Operations, operations_of
from kerntrace.trace.table import Mask


class Account(NamedTuple):
    """Everything that comes out on the way to a ledger."""

    trace: Trace
    launches: Launches
    ops: Operations
    steps: Steps
    steady: Mask
    ledger: Ledger
    phases: Phases


def account_of(trace: Trace, boundaries: Boundaries | None = None) -> Account | None:
    """The account of a trace, by its step ranges unless boundaries are given; None where it has neither."""
    launches = join_launches(trace)
    ops = operations_of(trace, launches)
    boundaries = boundaries or find_ranges(trace, None)
    if boundaries is None:
        return None
    steps = own(trace, launches, ops, boundaries)
    ledger = keep_ledger(trace, ops, steps)
    return Account(trace, launches, ops, steps, steady_steps(steps), ledger, attribute_phases(trace, ledger.gaps, len(steps)))
