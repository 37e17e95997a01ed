"""What the tests of the page share: reports made by the command, and a headless Chromium where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import called

TRACES = Path(__file__).parents[2] / "traces"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "browser: needs playwright and a Chromium")


@pytest.fixture(scope="session", autouse=True)
def _installed() -> None:
    pytest.importorskip("bokeh", reason="the report extra is not installed")
    pytest.importorskip("jinja2", reason="the report extra is not installed")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no chromium on PATH")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def made(where: Path, *arguments: str | Path, status: int = 0) -> Path:
    """The report that `kerntrace report` makes of these arguments."""
    page = where / "report.html"
    ran = called("report", *arguments, "-o", page)
    assert ran.status == status, ran.err
    assert ran.out == ""
    return page


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the committed eager and graph bundles. Not to be changed."""
    return made(tmp_path_factory.mktemp("pair"), TRACES / "h200-native-eager.ktrace", TRACES / "h200-native-graph.ktrace")


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory, bundles: Path) -> Path:
    """The report of a trace whose names are made to break what shows them."""
    return made(tmp_path_factory.mktemp("hostile"), bundles / "hostile.ktrace")


@pytest.fixture(scope="session")
def refused(tmp_path_factory: pytest.TempPathFactory, bundles: Path) -> Path:
    """The report of a sound trace and one that an integrity rule refuses."""
    return made(tmp_path_factory.mktemp("refused"), bundles / "eager.ktrace", bundles / "refused.ktrace", status=3)
