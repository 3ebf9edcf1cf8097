"""Whether the reference stopped at something that its environment lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.auditing.auditor import missing_in
from evaluator.outcomes import Outcome
from evaluator.sandbox.missing_modules import Missing
from evaluator.testing.verdicts import CaseResult, Verdict


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the modules ``models.gate`` and ``helpers``."""
    for name in ("models/gate.py", "src/helpers.py", "torch.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


def raised(error: str, *, log: str = "", outcome: Outcome = Outcome.RAISED) -> Verdict:
    return Verdict(outcome, (CaseResult(None, 0, True, outcome, error=error, name="unit_test_1.py"),), log, 0.1)


@pytest.mark.parametrize(
    ("error", "missing"),
    [
        ("ModuleNotFoundError: No module named 'torch'\n  at unit_test_1.py:3", Missing("torch", "torch")),
        ("ModuleNotFoundError: No module named 'sklearn.metrics'", Missing("sklearn.metrics", "scikit-learn")),
        ("the test logged: Test Failed: No module named 'yaml'", Missing("yaml", "pyyaml")),
        ("PackageNotFoundError: No package metadata was found for tqdm", Missing("tqdm", "tqdm")),
        (
            "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
            Missing("libGL.so.1"),
        ),
        ("ModuleNotFoundError: No module named 'models.unknown'", None),
        ("ModuleNotFoundError: No module named 'helpers'", None),
        ("AssertionError: 1 != 2", None),
        ("ImportError: cannot import name 'gate' from 'models'", None),
    ],
)
def test_missing_modules_are_recognised(error: str, missing: Missing | None, repository: Path) -> None:
    assert missing_in(raised(error), repository) == missing


def test_the_log_names_the_module_where_the_test_swallows_the_error(repository: Path) -> None:
    found = missing_in(
        raised("", log="Test Failed: No module named 'einops'", outcome=Outcome.WRONG_OUTPUT), repository
    )
    assert str(found) == "the module 'einops' is missing"


def test_a_reference_that_passes_lacks_nothing(repository: Path) -> None:
    log = "falling back: No module named 'flash_attn'"
    assert missing_in(raised("", log=log, outcome=Outcome.PASSED), repository) is None
