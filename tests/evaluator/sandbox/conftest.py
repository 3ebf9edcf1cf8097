"""What tests of the sandboxes call the sandboxes."""

from __future__ import annotations

import pytest

from evaluator.sandbox.types import Sandbox


@pytest.fixture
def sandbox(each_sandbox: Sandbox) -> Sandbox:
    """Each of the two, one after the other."""
    return each_sandbox
