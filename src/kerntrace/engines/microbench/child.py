"""The process that runs groups of microbenchmarks: a line of JSON in a file for each thing it measured. Room: engines.

    python -m kerntrace.engines.microbench.child LINES DEADLINE GROUP...

DEADLINE is on the clock of `time.monotonic`. A file, and not a pipe: what was written is there whatever becomes of the process.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

from kerntrace.engines.microbench.groups import AGAIN, run

INTERRUPTED = 130


def main(arguments: list[str]) -> int:
    """Run the groups; the exit status."""
    path, deadline, *names = arguments
    with open(path, "a", encoding="utf-8") as lines:
        try:
            return run(names, lambda line: _write(lines, line), float(deadline))
        except KeyboardInterrupt:
            return INTERRUPTED


def _write(lines: TextIO, line: dict[str, Any]) -> None:
    lines.write(json.dumps(line) + "\n")
    lines.flush()


if __name__ == "__main__":
    status = main(sys.argv[1:])
    if status in (AGAIN, INTERRUPTED):
        # A dead context makes every object complain as it is taken down, or hangs; nothing here is worth that.
        os._exit(status)
    sys.exit(status)
