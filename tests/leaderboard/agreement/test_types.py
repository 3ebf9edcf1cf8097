"""What the statistics take and give."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import PROJECT_ROOT

HEAVY = ("krippendorff", "pandas", "scipy", "statsmodels")


@pytest.mark.parametrize(
    ("modules", "unloaded"),
    [
        ("leaderboard.agreement.types", ("numpy", *HEAVY)),
        ("leaderboard.agreement.estimates", HEAVY),
    ],
    ids=["types", "the rest"],
)
def test_importing_loads_no_statistics_library(modules: str, unloaded: tuple[str, ...]) -> None:
    """They are the tests' reference, and no part of the product."""
    code = f"import sys, {modules}; print(sorted(set({unloaded!r}) & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
