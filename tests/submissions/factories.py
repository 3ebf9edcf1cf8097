"""Factories of accounts, systems, submissions and answers for all tests."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import factory
from django.contrib.auth.hashers import make_password
from django.utils import timezone

from submissions.domain import checking
from submissions.enums import Inputs, Kind, SubmissionState, Verb, Visibility
from submissions.models import AuditEvent, Implementation, Submission, System, Upload, User
from tests.benchmark_tasks.factories import SuiteVersionFactory, TaskFactory, TaskRevisionFactory
from tests.numbering import numbered

if TYPE_CHECKING:
    from collections.abc import Mapping

PASSWORD = "correct-horse-battery"

MANIFEST: dict[str, Any] = {
    "suite": "small",
    "system": "Alpha Solver",
    "backbone": "alpha-2-2026-01",
    "scaffold": "none",
    "inputs": "full",
}
RIGHT = "def double(x):\n    return 2 * x\n"
BROKEN = "def double(x:\n    return 2 * x\n"


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """Return a zip archive of ``files``."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def checked_by_worker() -> None:
    """Let a worker check every waiting upload."""
    while checking.check_next():
        pass


def bundle(answers: Mapping[str, str] | None = None, **manifest: Any) -> bytes:
    """Return a bundle with ``answers`` (``alpha/1`` to the source of ``answer.py``) and changes of :data:`MANIFEST`."""
    files = {"submission.json": json.dumps({**MANIFEST, **manifest})}
    given = {"alpha/1": RIGHT} if answers is None else answers
    return zipped({**files, **{f"answers/{task}/answer.py": source for task, source in given.items()}})


class UserFactory(factory.django.DjangoModelFactory):
    """An account named ``person-1``, ``person-2``, … with the password :data:`PASSWORD`."""

    class Meta:
        model = User

    username = numbered("person-")
    email = factory.LazyAttribute(lambda row: f"{row.username}@mail.example")
    password = factory.LazyFunction(lambda: make_password(PASSWORD))


class SystemFactory(factory.django.DjangoModelFactory):
    """A model without an agent."""

    class Meta:
        model = System

    slug = numbered("system-")
    name = factory.LazyAttribute(lambda row: row.slug.replace("-", " ").title())
    backbone = "alpha-2-2026-01"
    owner = factory.SubFactory(UserFactory)


class SubmissionFactory(factory.django.DjangoModelFactory):
    """A private, scored submission without answers; :func:`with_answers` adds them."""

    class Meta:
        model = Submission

    owner = factory.SubFactory(UserFactory)
    system = factory.SubFactory(SystemFactory, owner=factory.SelfAttribute("..owner"))
    suite_version = factory.SubFactory(SuiteVersionFactory)
    inputs = Inputs.FULL
    kind = Kind.RANKED
    bundle_digest = factory.Sequence(lambda number: hashlib.sha256(str(number).encode()).hexdigest())
    state = SubmissionState.SCORED
    visibility = Visibility.PRIVATE

    class Params:
        published = factory.Trait(
            visibility=Visibility.PUBLISHED,
            code_licence="MIT",
            published_at=factory.LazyFunction(timezone.now),
            scored_at=factory.LazyFunction(timezone.now),
        )


class ImplementationFactory(factory.django.DjangoModelFactory):
    """An answer that applied."""

    class Meta:
        model = Implementation

    submission = factory.SubFactory(SubmissionFactory)
    revision = factory.LazyAttribute(
        lambda row: TaskRevisionFactory(task=TaskFactory(suite=row.submission.suite_version.suite))
    )
    attempted = True
    files = factory.LazyFunction(lambda: {"scoring/core.py": RIGHT})
    diff = (
        "--- a/scoring/core.py\n+++ b/scoring/core.py\n@@ -1,2 +1,2 @@\n def double(x):\n"
        "-    raise NotImplementedError\n+    return 2 * x\n"
    )
    goal_source = RIGHT
    raw_answer = RIGHT


class UploadFactory(factory.django.DjangoModelFactory):
    """An upload that was checked and may be submitted. Its file is not on disk."""

    class Meta:
        model = Upload

    owner = factory.SubFactory(UserFactory)
    file = "uploads/none.bundle"
    name = "answers.zip"
    size = 2048
    digest = "d" * 64
    report = factory.LazyFunction(
        lambda: {
            "acceptable": True,
            "digest": "",
            "suite": "",
            "suite_version": None,
            "manifest": {**MANIFEST, "organisation": "", "links": [], "notes": "", "kind": "ranked"},
            "answers": [],
            "problems": [],
        }
    )


class AuditEventFactory(factory.django.DjangoModelFactory):
    """An audit event about a submission."""

    class Meta:
        model = AuditEvent

    actor = factory.SubFactory(UserFactory)
    verb = Verb.SUBMITTED
    subject_kind = "submission"
    subject_id = "1"
    subject_text = "A system on small v1"


def with_answers(submission: Submission, number: int, **answer: Any) -> list[Implementation]:
    """Add ``number`` answers to new tasks, which are added to the submission's suite version."""
    made: list[Any] = [ImplementationFactory(submission=submission, **answer) for _ in range(number)]
    submission.suite_version.revisions.add(*(implementation.revision for implementation in made))
    return made
