"""The verbs, and the one error boundary: an exception becomes a line on stderr and an exit status. Room: cli."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from kerntrace import __version__
from kerntrace.cli.calibrate import calibrate
from kerntrace.cli.check import check
from kerntrace.cli.collectors import compare_collectors
from kerntrace.cli.compare import compare
from kerntrace.cli.doctor import doctor
from kerntrace.cli.import_ import import_
from kerntrace.cli.kernels import kernels
from kerntrace.cli.predict import predict
from kerntrace.cli.profile import profile
from kerntrace.cli.record import CONTEXT_SETTINGS, record
from kerntrace.cli.roofline import roofline
from kerntrace.cli.steps import steps
from kerntrace.errors import ASKED_WRONGLY, FAILED, KerntraceError

app = typer.Typer(
    name="kerntrace",
    help="Where each LLM decode step's time went, to the nanosecond: GPU busy, or waiting for the host, and why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
app.command()(compare)
app.command()(steps)
app.command()(kernels)
app.command()(check)
app.command("import")(import_)
app.command()(profile)
app.command(context_settings=CONTEXT_SETTINGS)(record)
app.command("compare-collectors")(compare_collectors)
app.command()(predict)
app.command()(roofline)
app.command()(calibrate)
app.command()(doctor)


def _version(asked: bool) -> None:
    if asked:
        print(f"kerntrace {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    pass


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status; never raises but for --debug."""
    arguments = sys.argv[1:] if arguments is None else arguments
    ours = arguments.index("--") if "--" in arguments else len(arguments)  # what follows is another program's command line
    debug = "--debug" in arguments[:ours]
    arguments = [a for a in arguments[:ours] if a != "--debug"] + arguments[ours:]  # it may stand before or after the verb
    try:
        status = app(arguments, standalone_mode=False, prog_name="kerntrace")
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except KerntraceError as error:
        if debug:
            raise
        return _say(error.exit_code, error.what, error.hint)
    except BrokenPipeError:  # the reader of stdout has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return _say(130, "interrupted")
    except MemoryError:
        if debug:
            raise
        return _say(FAILED, "out of memory", "Choose part of the trace, or use a machine with more memory.")
    except Exception as error:
        if debug:
            raise
        return _other(error)


def _other(error: Exception) -> int:
    """A wrong command line, which the parser words itself; anything else is a defect of ours and says so."""
    message = getattr(error, "format_message", None)
    if message is not None:
        context = getattr(error, "ctx", None)
        verb = context.command_path if context else "kerntrace"
        return _say(ASKED_WRONGLY, message(), f"See {verb} --help.")
    return _say(
        FAILED,
        f"this is a defect in kerntrace: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}",
        "Run it again with --debug and report what it prints.",
    )


def _say(status: int, what: str, hint: str = "") -> int:
    print(f"kerntrace: {_printable(what)}", file=sys.stderr)
    if hint:
        print(_printable(hint), file=sys.stderr)
    return status


def _printable(text: str) -> str:
    """One line without control characters: names in messages may come from a hostile file."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)[:500]
