"""What tests of the sandboxes call the sandboxes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from evaluator.sandbox.types import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sandbox(each_sandbox: Sandbox) -> Sandbox:
    """Each of the two, one after the other."""
    return each_sandbox


@pytest.fixture
def usual_umask() -> Iterator[None]:
    """What the test writes can be read by everybody, as what operators install; what the site writes cannot."""
    before = os.umask(0o022)
    yield
    os.umask(before)
