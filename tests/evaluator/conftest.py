"""A small suite that real boxes can run, imported and audited in advance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import SuiteVersion, TaskRevision
from evaluator.domain.configuration import configured_sandbox
from evaluator.sandbox.types import SandboxError
from tests.benchmark_tasks.factories import write_suite

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.sandbox.types import Sandbox


@pytest.fixture
def real_sandbox() -> Sandbox:
    """The sandbox that this machine offers, skipped with its own words where there is none."""
    try:
        return configured_sandbox()
    except SandboxError as error:
        pytest.skip(str(error))


@pytest.fixture
def small_version(tmp_path: Path, db: None) -> SuiteVersion:
    """Version 1 of the suite ``small``: ``alpha/1`` (``double``) and ``alpha/2`` (``Scorer.score``)."""
    version = import_suite(folder=write_suite(tmp_path / "suite"), slug="small").version
    assert version is not None
    TaskRevision.objects.update(audit_state=AuditState.PASSED)
    return version
