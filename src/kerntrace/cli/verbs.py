"""The verbs by name. A verb's module is imported when the verb is called: `kerntrace --help` reads none of them. Room: cli."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any, ClassVar

import typer
import typer.core
import typer.main

from kerntrace.errors import StoppedError


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb.

    Attributes:
        about: what it does, as its function's docstring begins.
        module, function: where it is, below `kerntrace.cli`.
        settings: of its command line, e.g. that it passes on what it does not know.
        is_group: the function makes a group of verbs.
        example: a command line after `kerntrace`, shown below the help.
    """

    about: str
    module: str
    function: str
    settings: dict[str, Any] = field(default_factory=dict)
    is_group: bool = False
    example: str = ""


PASSES_ON = {"allow_interspersed_args": False, "ignore_unknown_options": True}

VERBS = {
    "compare": Verb("Put two traces side by side: every term of the ledger, its difference, and whether the same kernels ran.",
                    "compare", "compare",
                    example="compare eager.ktrace graph.ktrace"),
    "steps": Verb("Account for every step: GPU busy, and each nanosecond of idleness by its cause.", "steps", "steps",
                  example="steps run.ktrace --batch 1"),
    "kernels": Verb("Say which kernels a step runs: how often, how long, by family, and the layer that repeats.",
                    "kernels", "kernels",
                    example="kernels run.ktrace --batch 1"),
    "check": Verb("Say whether figures may be taken from a trace, rule by rule.", "check", "check",
                  example="check run.ktrace"),
    "import": Verb("Turn a trace of any known kind into a .ktrace bundle.", "import_", "import_",
                   example="import nsys.sqlite -o run.ktrace"),
    "export": Verb("Write a trace, and what was found in it, for Nsight Systems, Perfetto, pandas, DuckDB or a spreadsheet.",
                   "export", "export",
                   example="export run.ktrace --format nsys-sqlite -o run.sqlite"),
    "profile": Verb("Run a model's decode steps under a collector, and account for every one of them.", "profile", "profile",
                    example="profile --mode eager --model llama-3.1-8b --batch 1,16 --context 512"),
    "record": Verb("Run any CUDA program, all its processes included, and record what they do on the GPU.",
                   "record", "record", PASSES_ON,
                   example="record -o run.ktrace -- python program.py"),
    "compare-collectors": Verb("Record the same decode steps with several collectors: kernel counts, GPU busy and dilation side"
                               " by side.", "collectors", "compare_collectors",
                               example="compare-collectors --mode eager --batch 1"),
    "predict": Verb("Predict a decode step from shapes alone: every kernel's time and the terms of the step.",
                    "predict", "predict",
                    example="predict --gpu H200 --model llama-3.1-8b --batch 1,2,4,8 --context 512"),
    "roofline": Verb("Compare every kernel of a step with its roofline: what it moved, how fast, predicted and measured.",
                     "roofline", "roofline",
                     example="roofline run.ktrace --model llama-3.1-8b"),
    "report": Verb("Make one HTML file of a trace, of two side by side, or of a study: where the step's time went, to each gap"
                   " and kernel.", "report", "report",
                   example="report eager.ktrace graph.ktrace -o pair.html"),
    "figure": Verb("Draw one figure of a trace or a study for a paper, from the numbers that --json prints.",
                   "figure", "figure",
                   example="figure --list"),
    "study": Verb("Repeat the wall-clock study of what CUDA graphs remove, and settle by trace which cost it is.",
                  "study", "study", is_group=True),
    "calibrate": Verb("Measure this machine's GPU in a few minutes and write a timing profile for predict and roofline.",
                      "calibrate", "calibrate",
                      example="calibrate -o my-gpu.toml"),
    "doctor": Verb("Look at what recording needs on this machine: each line is ok, a warning, or something to fix.",
                   "doctor", "doctor",
                   example="doctor"),
}  # fmt: skip


class Verbs(typer.core.TyperGroup):
    """The group of all verbs.

    Attributes:
        verbs: by name; a group within it has its own.
    """

    verbs: ClassVar[dict[str, Verb]] = VERBS

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.verbs)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        verb = self.verbs.get(cmd_name)
        if verb is None:
            return None
        alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        function = getattr(importlib.import_module(f"kerntrace.cli.{verb.module}"), verb.function)
        if verb.is_group:
            return typer.main.get_command(function())
        settings = {"help_option_names": ["-h", "--help"], "max_content_width": 110} | verb.settings
        epilog = f"Example: kerntrace {verb.example}" if verb.example else None
        alone.command(cmd_name, context_settings=settings, epilog=epilog)(function)
        return typer.main.get_command(alone)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # else typer would end with a status and no word
            raise StoppedError("interrupted") from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        self.commands = dict.fromkeys(self.verbs, None)  # type: ignore[assignment]  # only names: what it looks among for a near miss
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.about) for name, verb in self.verbs.items()])
