"""Fixtures: a separate data folder for every test, and a small open suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import SuiteVersion, TaskRevision
from tests.benchmark_tasks.factories import write_suite

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings


@pytest.fixture(autouse=True)
def data_dir(settings: Settings, tmp_path: Path) -> Path:
    """An empty ``DATA_DIR``."""
    settings.DATA_DIR = tmp_path / "data"
    return tmp_path / "data"


@pytest.fixture
def small(db: None, tmp_path: Path) -> SuiteVersion:
    """The suite ``small`` with the tasks ``alpha/1`` (function) and ``alpha/2`` (method), imported and audited."""
    import_suite(folder=write_suite(tmp_path / "suite"), slug="small")
    TaskRevision.objects.update(audit_state=AuditState.PASSED)
    return SuiteVersion.objects.select_related("suite").get(suite__slug="small")
