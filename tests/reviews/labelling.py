"""Helpers for tests of labelling: an answer whose task is in the content store, and its reviewer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import SuiteVersion, TaskRevision
from reviews.enums import CaseState
from tests.benchmark_tasks.factories import MASKED, STUB, write_suite
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings

    from reviews.models import Assignment, Reviewer
    from submissions.models import User

CANDIDATE = 'def double(x):\n    """Twice x."""\n    return x + x  # candidate-comment\n'
HIDDEN = (
    *("Secret Otter", "secret-otter", "otter-9-2026-01", "Otter Works", "HiddenScaffold", "hidden notes"),
    *("submitter-olga", "olga@mail.example", "cafe" * 16),
    *("hidden-trigger", "hidden-raw", "hidden-error", "hidden-usage"),
)
"""Texts that no page, header or file of labelling may contain."""


FINDING = {"side": "candidate", "start": "2", "end": "3", "text": "Twice, not once.", "error_class": "comprehension"}
DRAFT: dict[str, Any] = {
    "label": "LI",
    "confidence": 3,
    "findings": [FINDING],
    "note": "A note.",
    "paper_page": 2,
    "view": {"tab": "pane-paper"},
}
HTMX: Any = {"HX-Request": "true"}


def form_of(*findings: dict[str, str], **changes: str) -> dict[str, str]:
    """Return the form data of :data:`DRAFT`, with ``findings`` and ``changes`` applied."""
    rows = [*(findings or (FINDING,)), {"side": "candidate", "start": "", "end": "", "text": "", "error_class": ""}]
    fields = {"label": "LI", "confidence": "3", "note": "A note.", "paper_page": "2", "tab": "pane-paper"}
    counts = {"finding-TOTAL_FORMS": str(len(rows)), "finding-INITIAL_FORMS": "0"}
    sent = {f"finding-{number}-{part}": value for number, row in enumerate(rows) for part, value in row.items()}
    return {**fields, **counts, **sent, "version": "0", "active_seconds": "0", "act": "save", **changes}


def stored_task(settings: Settings, tmp_path: Path, **paper: Any) -> TaskRevision:
    """Import task ``alpha/1`` of the suite ``small`` into a separate content store."""
    settings.DATA_DIR = tmp_path / "data"
    import_suite(folder=write_suite(tmp_path / "suite", **paper), slug="small")
    TaskRevision.objects.update(audit_state=AuditState.PASSED)
    return TaskRevision.objects.select_related("task__paper").get(task__slug="alpha/1")


def sign_in(client: Client, reviewer: Reviewer) -> None:
    """Sign ``reviewer`` in, replacing any earlier session."""
    assert reviewer.user is not None
    client.force_login(reviewer.user)


def others() -> list[User]:
    """Return users who must not see another's item: a visitor, a maintainer, another annotator."""
    other = ready().user
    assert other is not None
    return [UserFactory(), UserFactory(is_staff=True), other]


def held_by(
    reviewer: Reviewer, revision: TaskRevision, *, case: Any = None, assignment: Any = None, **answer: Any
) -> Assignment:
    """Assign ``reviewer`` an answer to ``revision`` with recognisable values in everything hidden."""
    submission = SubmissionFactory(
        suite_version=SuiteVersion.objects.get(revisions=revision),
        published=True,
        owner__username="submitter-olga",
        owner__email="olga@mail.example",
        system__name="Secret Otter",
        system__slug="secret-otter",
        system__backbone="otter-9-2026-01",
        system__scaffold="HiddenScaffold",
        system__organisation="Otter Works",
        notes="hidden notes",
        bundle_digest="cafe" * 16,
    )
    facts = {
        "files": {"scoring/core.py": MASKED.replace(CANDIDATE.partition("    return")[0] + STUB, CANDIDATE, 1)},
        "goal_source": CANDIDATE,
        "raw_answer": "hidden-raw",
        "answer_error": {"message": "hidden-error"},
        "usage": {"model": "hidden-usage"},
        **answer,
    }
    made = ImplementationFactory(submission=submission, revision=revision, **facts)
    opened = case_of(made, **{"state": CaseState.LEASED, **(case or {})})
    opened.triggers.create(kind="appeal", detail="hidden-trigger")
    return assigned(opened, reviewer, **(assignment or {}))
