"""Fixtures: a separate data folder for every test, and a small suite folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
def suite_folder(tmp_path: Path) -> Path:
    """A suite folder with one good paper of two tasks: ``alpha/1`` (function) and ``alpha/2`` (method)."""
    return write_suite(tmp_path / "suite")
