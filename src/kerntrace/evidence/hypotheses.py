"""Verdicts on the claims that a study wrote down before its first measurement. Room: evidence.

A claim names its test; the tests are here and in `gap_claims` and `trace_claims`. A test that the store cannot answer is not
testable, with the reason. Claims of several machines hold only if they hold on each. p values are adjusted together (Holm), and
a decision that does not survive the adjustment is inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kerntrace.evidence.finding import ALPHA, Finding, Verdict, not_testable
from kerntrace.evidence.gap_claims import gap_follows_residual, gap_positive, kill_switch
from kerntrace.evidence.machine_claims import benefit_rises, model_level
from kerntrace.evidence.study_evidence import Evidence
from kerntrace.evidence.trace_claims import dispatch_floor, same_kernels
from kerntrace.stats.multiplicity import holm
from kerntrace.study.records import Hypothesis

TESTS: dict[str, Callable[[Hypothesis, Evidence], Finding]] = {
    "gap-positive": gap_positive,
    "gap-follows-residual": gap_follows_residual,
    "benefit-rises-with-bandwidth": benefit_rises,
    "model-level": model_level,
    "same-kernels": same_kernels,
    "dispatch-floor": dispatch_floor,
    "kill-switch": kill_switch,
}


def weigh(evidence: Evidence) -> tuple[Finding, ...]:
    """A finding for every claim of the plan, in its order."""
    found = [_weighed(hypothesis, evidence) for hypothesis in evidence.study.plan.hypotheses]
    tested = [i for i, one in enumerate(found) if one.p is not None]
    for i, adjusted in zip(tested, holm([p for one in found if (p := one.p) is not None])):
        found[i] = _adjusted(found[i], adjusted)
    return tuple(found)


def _weighed(hypothesis: Hypothesis, evidence: Evidence) -> Finding:
    test = TESTS.get(hypothesis.test)
    if test is None:
        return not_testable(hypothesis, f"there is no test {hypothesis.test!r}; known are {', '.join(TESTS)}")
    return test(hypothesis, evidence)


def _adjusted(finding: Finding, p_holm: float) -> Finding:
    decided = finding.verdict in (Verdict.SUPPORTS, Verdict.CONTRADICTS)
    if decided and p_holm > ALPHA:
        told = f"{finding.reason}; alone it {finding.verdict.value}, but not beside the other claims (Holm p = {p_holm:.3g})"
        return replace(finding, verdict=Verdict.INCONCLUSIVE, p_holm=p_holm, reason=told)
    return replace(finding, p_holm=p_holm)
