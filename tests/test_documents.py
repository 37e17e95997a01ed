"""README and docs say what the program does now: their outputs and tables are made again and compared."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_outputs_are_current() -> None:
    text = (ROOT / "README.md").read_text()
    assert tool("readme").filled(text) == text
    assert text.count("$ kerntrace ") >= 3


def test_trace_format_page_is_made_from_the_schema() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "trace_format.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md")), ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
