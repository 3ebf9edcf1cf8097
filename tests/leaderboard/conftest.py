"""The people of the pages' tests, and the shipped results."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command


@pytest.fixture
def shipped(db: None) -> None:
    """The shipped facts about lmr-bench."""
    call_command("load_catalogue", stdout=io.StringIO())
    call_command("load_published", stdout=io.StringIO())
