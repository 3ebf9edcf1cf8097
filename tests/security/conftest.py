"""Something private of Alice's, with a sentinel in everything that could be shown, and the people who look for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.core.files.base import ContentFile

from submissions.domain.uploads import discard
from tests.evaluator.factories import TestRunFactory
from tests.submissions.conftest import alice, bob, data_dir, maintainer, small
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, SystemFactory, UploadFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import Submission, Upload, User

__all__ = ["alice", "bob", "data_dir", "maintainer", "small"]

SENTINEL = "S3CRET-of-Alice"


@pytest.fixture
def secret_submission(small: SuiteVersion, alice: User) -> Submission:
    """A scored submission that is not published."""
    system = SystemFactory(owner=alice, slug="alices", name=SENTINEL, backbone=SENTINEL, organisation=SENTINEL)
    submission: Submission = SubmissionFactory(owner=alice, system=system, suite_version=small, notes=SENTINEL)
    submission.bundle.save("x.bundle", ContentFile(SENTINEL.encode()))
    answer = ImplementationFactory(
        submission=submission,
        revision=small.revisions.get(task__slug="alpha/1"),
        goal_source=f"def double(x):\n    return '{SENTINEL}'\n",
        files={"scoring/core.py": SENTINEL},
    )
    case = {"seed": 1, "index": 0, "public": True, "outcome": "raised", "difference": SENTINEL, "error": SENTINEL}
    TestRunFactory(implementation=answer, done="raised", reason=SENTINEL, log=SENTINEL, cases=[case])
    return submission


@pytest.fixture
def secret_upload(alice: User) -> Iterator[Upload]:
    """A checked bundle that was not submitted."""
    made: Upload = UploadFactory(owner=alice, name=f"{SENTINEL}.zip")
    yield made
    discard(upload=made)
