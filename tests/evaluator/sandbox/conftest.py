"""What tests of the sandboxes call the sandboxes."""

from __future__ import annotations

import pytest

from evaluator.sandbox.types import Sandbox


@pytest.fixture
def sandbox(each_way: Sandbox) -> Sandbox:
    """Each of the two, with boxes that are started and with boxes that are forked."""
    return each_way
