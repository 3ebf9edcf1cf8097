"""People who may label at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.reviews.factories import ready

if TYPE_CHECKING:
    from reviews.models import Reviewer


@pytest.fixture
def annotator(db: None) -> Reviewer:
    """An annotator who has read the guidelines."""
    return ready()


@pytest.fixture
def other_annotator(db: None) -> Reviewer:
    """Another one."""
    return ready()


@pytest.fixture
def adjudicator(db: None) -> Reviewer:
    """An adjudicator, and nothing else."""
    return ready(annotator=False, adjudicator=True)
