"""What the statistics take and give."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from leaderboard.agreement.types import Coefficient, Interval
from tests.conftest import PROJECT_ROOT

HEAVY = ("krippendorff", "pandas", "scipy", "statsmodels")


@pytest.mark.parametrize(
    ("modules", "unloaded"),
    [
        ("leaderboard.agreement.types", ("numpy", *HEAVY)),
        ("{0}.pairs, {0}.raters, {0}.judges, {0}.models".format("leaderboard.agreement"), HEAVY),
    ],
    ids=["types", "the rest"],
)
def test_importing_loads_no_statistics_library(modules: str, unloaded: tuple[str, ...]) -> None:
    """They are the tests' reference, and no part of the product."""
    code = f"import sys, {modules}; print(sorted(set({unloaded!r}) & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


@pytest.mark.parametrize(
    ("coefficient", "data"),
    [
        (Coefficient(0.5, Interval(0.25, 0.75)), {"value": 0.5, "interval": {"low": 0.25, "high": 0.75}, "why": ""}),
        (Coefficient(None, None, "undefined: x"), {"value": None, "interval": None, "why": "undefined: x"}),
    ],
    ids=["a number", "a reason"],
)
def test_a_coefficient_is_plain_data(coefficient: Coefficient, data: dict[str, object]) -> None:
    assert json.loads(json.dumps(coefficient.as_data())) == data
