"""The shipped results."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command

from tests.evaluator.roles import bare_role, tests_role  # noqa: F401 - fixtures


@pytest.fixture
def shipped(db: None) -> None:
    """The shipped catalogue and published results of LMR-BENCH."""
    call_command("load_catalogue", stdout=io.StringIO())
    call_command("load_published", stdout=io.StringIO())
