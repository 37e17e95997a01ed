"""What all tests share: reproducible examples of Hypothesis, and a few bundles for the command line.

Hypothesis makes the same examples on every run, unless HYPOTHESIS_PROFILE=explore asks for many new ones.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_LOOSE = [HealthCheck.too_slow, HealthCheck.filter_too_much]

settings.register_profile("ci", derandomize=True, deadline=None, database=None, suppress_health_check=_LOOSE)
settings.register_profile("explore", deadline=None, max_examples=2_000, print_blob=True, suppress_health_check=_LOOSE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of bundles: eager, graph, refused, hostile, devices, unstepped, many. Not to be changed."""
    from tests.support.bundles import write_bundles

    where = tmp_path_factory.mktemp("bundles")
    write_bundles(where)
    return where
