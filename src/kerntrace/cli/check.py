"""`kerntrace check`. Room: cli."""

from __future__ import annotations

from kerntrace.cli.options import (
    JSON_LIMIT,
    AsJson,
    Device,
    JsonLimit,
    Pid,
    StepRange,
    TracePath,
    analyse_file,
    print_json,
)
from kerntrace.errors import DONE, REFUSED


def check(
    trace: TracePath,
    as_json: AsJson = False,
    device: Device = None,
    pid: Pid = None,
    step_range: StepRange = None,
    json_limit: JsonLimit = JSON_LIMIT,
) -> int:
    """Say whether figures may be taken from a trace, rule by rule. Exit status 3 if one forbids it."""
    analysis = analyse_file(trace, device, pid, step_range, json_limit, with_ledger=False, verify=True)
    if as_json:
        from kerntrace.report.documents import check_document

        print_json(check_document(analysis))
    else:
        from kerntrace.report.text import show_check

        show_check(analysis, trace.name)
    return DONE if analysis.ok else REFUSED
