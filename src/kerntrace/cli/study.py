"""`kerntrace study`: its verbs, each imported when it is called. Room: cli."""

from __future__ import annotations

from typing import ClassVar

import typer

from kerntrace.cli.verbs import Verb, Verbs


class StudyVerbs(Verbs):
    """The verbs of a study."""

    verbs: ClassVar[dict[str, Verb]] = {
        "run": Verb("Measure a study's grid in every mode, then trace chosen cells; run it again to resume.",
                    "study_run", "run",
                    example="study run quick -o mystudy"),
        "status": Verb("Say how far a study is: what is done and left in each mode, the time it takes, and what is left out.",
                       "study_status", "status",
                       example="study status mystudy"),
        "report": Verb("Say what a study found: gaps and benefits with intervals, the three-way cross-check, each hypothesis.",
                       "study_report", "report",
                       example="study report mystudy --add published"),
    }  # fmt: skip


def study() -> typer.Typer:
    """Repeat the wall-clock study of what CUDA graphs remove, and settle by trace which cost it is."""
    group = typer.Typer(
        cls=StudyVerbs,
        name="study",
        help=study.__doc__,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    group.callback()(_nothing)
    return group


def _nothing() -> None:
    pass
