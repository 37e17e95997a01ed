"""The attributed and predicted parts of a study's report as terminal tables. Room: report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import isfinite

from rich.console import Console
from rich.markup import escape

from kerntrace.evidence.attribution import BATCH
from kerntrace.evidence.cells import Missing
from kerntrace.evidence.rivals import FORMULAS, LABELS, RivalFit
from kerntrace.evidence.study_evidence import Evidence
from kerntrace.report.tables import show, table
from kerntrace.report.text import printable
from kerntrace.stats.interval import Interval
from kerntrace.stats.sessions import SessionEstimate
from kerntrace.units import NS_PER_MS, ms

_MISSING_SHOWN = 12


def between(one: Interval | None, factor: float = 1.0, decimals: int = 2) -> str:
    """An interval in brackets, or nothing."""
    if one is None:
        return ""
    return f"[{factor * one.low:.{decimals}f}, {factor * one.high:.{decimals}f}]"


def in_ms(one: Interval | None) -> str:
    """An interval of nanoseconds in ms."""
    return between(one, 1 / NS_PER_MS, 3)


def of_sessions(one: SessionEstimate | None) -> str:
    """The estimate over sessions with its interval, in ms: it is another than the one over all repetitions."""
    return f"{ms(one.centre)} {in_ms(one.interval())}" if one else ""


def percent(value: float | None) -> str:
    return f"{100 * value:.1f} %" if value is not None else "-"


def _number(value: float | None) -> str:
    return f"{value:.3f}" if value is not None and isfinite(value) else "-"


def show_missing(out: Console, missing: Sequence[Missing]) -> None:
    """What the plan asks for and the store does not hold."""
    groups: dict[tuple[str, str, str, str, int], list[Missing]] = defaultdict(list)
    for one in missing:
        groups[one.what, one.host, one.mode, one.reason, one.have].append(one)
    lines = []
    for (what, host, mode, reason, have), group in groups.items():
        cells = ", ".join(f"{one.batch}x{one.context}" for one in group[:8]) + (", ..." if len(group) > 8 else "")
        some = f"{have} of {group[0].asked} repetitions" if what == "walls" and have else f"no {what}"
        why = f" ({reason})" if reason else ""
        lines.append(f"missing{f' on {host}' if host else ''}, {mode}: {some} in {cells}{why}")
    for line in lines[:_MISSING_SHOWN]:
        out.print(f"  {escape(line)}", style="yellow", soft_wrap=True)
    if len(lines) > _MISSING_SHOWN:
        out.print(f"  ... {len(lines) - _MISSING_SHOWN} more lines: --json has all", style="yellow")


def show_attribution(out: Console, evidence: Evidence) -> None:
    """Lines on S(N) and N, rivals, and phases."""
    if evidence.regressions:
        out.print()
        _show_lines(out, evidence)
    else:
        out.print("no line on S(N): the gap is known at fewer than two batch sizes", style="yellow")
    if evidence.contests:
        out.print()
        _show_rivals(out, evidence)
    if evidence.trends:
        out.print()
        _show_trends(out, evidence)


def _show_lines(out: Console, evidence: Evidence) -> None:
    made = table(
        "what follows S(N): slopes in ms a ms of S (on N: ms a sequence); S is a reference form, the rest derived",
        {
            "host": "left", "target": "left", "on": "left", "cells": "right", "slope": "right", "batch sizes 95 %": "left",
            "through means 95 %": "left", "intercept": "right", "R2": "right", "r": "right", "Theil-Sen": "right",
            "Siegel": "right", "p(1, 0)": "right", "given T: S": "right", "T": "right",
        },
    )  # fmt: skip
    for one in evidence.regressions:
        claim, plane, steady = one.claim, one.with_time, one.robust
        made.add_row(
            printable(one.target.host, 12),
            printable(one.target.name, 26),
            one.predictor,
            str(len(one.target.values)),
            _number(one.line.slope),
            between(one.by_groups.slope),
            between(claim.slope) if claim else "",
            _number(one.line.intercept),
            _number(one.line.r2),
            _number(one.line.r),
            _number(steady.theil_sen if steady else None),
            _number(steady.siegel if steady else None),
            f"{claim.p:.2g}" if claim and claim.p is not None and one.predictor != BATCH else "-",
            _number(plane.first if plane else None),
            _number(plane.second if plane else None),
        )
    show(out, made)
    out.print("p(1, 0): of slope 1 and intercept 0 together; given T: both slopes with the GPU's time held fixed", style="dim")


def _show_rivals(out: Console, evidence: Evidence) -> None:
    made = table(
        "rivals by the error in cells left out, ms (derived; T is the graphed step)",
        {
            "host": "left", "target": "left", "S": "left", "": "left", "rival": "left", "formula": "left", "fitted": "left",
            "error": "right", "left out": "right", "worst at": "right", "chosen in": "right",
        },
    )  # fmt: skip
    for one in evidence.contests:
        decides = one.form == evidence.question.s_form
        for fit in one.fits:
            if not decides and fit.slope is None:
                continue  # the same for every form of S
            mark = ("**" if one.sure else "*") if fit.rival == one.chosen else ""
            made.add_row(
                printable(one.target.host, 12),
                one.target.name,
                one.form,
                mark,
                LABELS[fit.rival],
                FORMULAS[fit.rival],
                _fitted(fit),
                _number(fit.rmse),
                _number(fit.left_out_rmse),
                f"{fit.worst[0]}x{fit.worst[1]}",
                percent(fit.chosen_share),
            )
    show(out, made)
    told = "* the simplest within one standard error of the best; ** so in 95 % of redrawn studies; H-C and H-D need no S"
    out.print(told, style="dim")


def _fitted(fit: RivalFit) -> str:
    parts = [f"c {fit.constant:.2f}"] if fit.constant is not None else []
    parts += [f"D {fit.floor:.2f} {between(fit.floor_interval)}"] if fit.floor is not None else []
    parts += [f"a {fit.slope:.2f} {between(fit.slope_interval)}"] if fit.slope is not None else []
    return ", ".join(part.strip() for part in parts)


def _show_trends(out: Console, evidence: Evidence) -> None:
    cells = sorted({cell for one in evidence.trends for cell in one.ns}, key=lambda cell: (cell[1], cell[0]))
    made = table(
        "exposed host time by part of the iteration, ms a step as traced (measured; launch latency is in no part);"
        " the last row is S(N) as measured",
        {"host": "left", "mode": "left", "part": "left", "us a sequence": "right"}
        | dict.fromkeys((f"{n}x{c}" for n, c in cells), "right"),
    )
    for one in evidence.trends:
        slope = one.us_a_sequence
        made.add_row(
            printable(one.host, 12),
            one.mode,
            one.part,
            f"{slope:.1f}" if slope is not None else "-",
            *(ms(one.ns[cell]) if cell in one.ns else "-" for cell in cells),
        )
    show(out, made)


def show_accuracy(out: Console, evidence: Evidence) -> None:
    """Predictions beside measured steps and gaps."""
    for note in evidence.notes:
        out.print(escape(note), style="yellow", soft_wrap=True)
    if not evidence.accuracy:
        return
    out.print()
    made = table(
        "predictions beside measured steps, % (derived from predicted and measured)",
        {
            "GPU": "left", "of": "left", "source": "left", "cells": "right", "MAPE/measured": "right", "95 %": "left",
            "MAPE/predicted": "right", "signed": "right", "median p/m": "right", "worst at": "right",
        },
    )  # fmt: skip
    for one in evidence.accuracy:
        found = one.accuracy
        made.add_row(
            printable(one.gpu, 24),
            one.of,
            printable(one.source, 24),
            str(found.count) + (f" (-{one.left_out})" if one.left_out else ""),
            percent(found.mape_of_measured),
            between(one.mape_interval, 100, 1),
            percent(found.mape_of_predicted),
            f"{100 * found.bias:+.1f} %",
            f"{found.median_factor:.3f}",
            f"{one.worst[1]}x{one.worst[2]}",
        )
    show(out, made)
