"""`kerntrace doctor`. Room: cli."""

from __future__ import annotations

from kerntrace.cli.options import AsJson, print_json
from kerntrace.errors import DONE


def doctor(as_json: AsJson = False) -> int:
    """Look at what recording needs on this machine: each line is ok, a warning, or something to fix."""
    from kerntrace.capture.doctor import examine

    findings = examine()
    if as_json:
        rows = [{"what": f.what, "state": f.state, "told": f.told, "advice": f.advice} for f in findings]
        print_json({"schema": "kerntrace.doctor/1", "findings": rows})
        return DONE
    from rich.table import Table

    from kerntrace.report.text import console, printable

    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(no_wrap=True)
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    colours = {"ok": "green", "warning": "yellow", "fix": "red"}
    for finding in findings:
        told = printable(finding.told, 300) + (f"\n[bold]{printable(finding.advice, 300)}[/]" if finding.advice else "")
        made.add_row(f"[{colours[finding.state]}]{finding.state}[/]", finding.what, told)
    out = console()
    out.print(made)
    counts = {state: sum(f.state == state for f in findings) for state in colours}
    out.print(f"{counts['ok']} ok, {counts['warning']} to know, {counts['fix']} to fix before recording here")
    return DONE
