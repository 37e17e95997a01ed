#!/usr/bin/env python3
"""Fill the console blocks of README.md with what their `kerntrace` commands print now.

    python tools/readme.py            rewrite README.md
    python tools/readme.py --check    say whether it would change; exit status 1 if so

A block is rewritten if one of its commands runs kerntrace on a committed trace. Long outputs are cut after LINES lines.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
LINES = 34
BLOCK = re.compile(r"(```console\n\$ )([^\n]*)\n(.*?)(```)", re.DOTALL)
COMMAND = re.compile(r"kerntrace \w+(?: [\w./-]+)* ?traces/[^\n]*")


def output_of(command: str) -> str:
    """What the command prints on stdout, cut."""
    words = shlex.split(command)
    done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "\n".join(lines[:LINES] + (["..."] if len(lines) > LINES else [])) + "\n"


def filled(text: str) -> str:
    """The README with every such block's output as it is now."""

    def fill(block: re.Match[str]) -> str:
        found = COMMAND.search(block[2])
        return f"{block[1]}{block[2]}\n{output_of(found[0]) if found else block[3]}{block[4]}"

    return BLOCK.sub(fill, text)


def main() -> int:
    before = README.read_text()
    after = filled(before)
    if "--check" in sys.argv[1:]:
        print("README.md is up to date" if before == after else "README.md differs: run python tools/readme.py")
        return int(before != after)
    README.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
