"""The verbs, and the one error boundary: an exception becomes a line on stderr and an exit status. Room: cli."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated

import typer

from kerntrace import __version__
from kerntrace.cli.say import complain
from kerntrace.cli.verbs import Verbs
from kerntrace.errors import ASKED_WRONGLY, FAILED, INTERRUPTED, KerntraceError

app = typer.Typer(
    cls=Verbs,
    name="kerntrace",
    help="Where each LLM decode step's time went, to the nanosecond: GPU busy, or waiting for the host, and why.",
    epilog="Begin with `kerntrace profile --mode eager` on a GPU machine, or `kerntrace steps TRACE` on any. Exit status: "
    "0 done, 1 failed, 2 asked wrongly, 3 refused by integrity, 4 contradicted, 5 undecided.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


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
    """Run the command line and return its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    ours = arguments.index("--") if "--" in arguments else len(arguments)  # what follows is another program's command line
    debug = "--debug" in arguments[:ours]
    arguments = [a for a in arguments[:ours] if a != "--debug"] + arguments[ours:]  # it may stand before or after the verb
    if not _prepared_streams():
        return complain(FAILED, "standard output is closed, so nothing can be printed", "Redirect it to a file.")
    try:
        status = app(arguments, standalone_mode=False, prog_name="kerntrace")
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except KerntraceError as error:
        if debug:
            traceback.print_exc()
        return complain(error.exit_code, error.what, error.hint)
    except BrokenPipeError:  # the reader of stdout has gone, as `| head` does
        _abandon_stdout()
        return FAILED
    except KeyboardInterrupt:
        return complain(INTERRUPTED, "interrupted")
    except MemoryError:
        if debug:
            traceback.print_exc()
        return complain(FAILED, "out of memory", "Choose part of the trace, or use a machine with more memory.")
    except Exception as error:
        if debug:
            traceback.print_exc()
        return _other(error)


def _prepared_streams() -> bool:
    """See to it that talk and results can be written: a closed stderr swallows talk, and a character that the terminal's
    encoding lacks is escaped. False where there is no stdout."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (it lives as long as the process)
    return sys.stdout is not None


def _abandon_stdout() -> None:
    """Nobody reads stdout, or it cannot take any more: what is left in its buffer must not fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_a_line(text: str) -> str:
    """The parser lists choices a line each."""
    first, *others = text.replace("Value error, ", "").split("\n\t")
    return " ".join([first, " ".join(others)]).strip()


def _other(error: Exception) -> int:
    """A wrong command line, which the parser words itself, or a stream that fails; anything else is a defect of ours."""
    kind = type(error).__name__
    if kind == "NoArgsIsHelpError":
        print(error, file=sys.stderr)
        return ASKED_WRONGLY
    if kind == "Abort":
        return complain(INTERRUPTED, "interrupted")
    message = getattr(error, "format_message", None)
    if message is not None:
        context = getattr(error, "ctx", None)
        verb = context.command_path if context else "kerntrace"
        return complain(ASKED_WRONGLY, _in_a_line(message()), f"See {verb} --help.")
    if isinstance(error, OSError) and error.filename is None and error.strerror:
        _abandon_stdout()
        return complain(FAILED, f"the output cannot be written: {error.strerror}", "Write it to another place.")
    return complain(
        FAILED,
        f"this is a defect in kerntrace: {kind}: {(str(error).splitlines() or [''])[0][:200]}",
        "Run it again with --debug and report what it prints.",
    )
