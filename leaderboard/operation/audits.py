"""What the pages say of a task's audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from benchmark_tasks.domain.catalogue import SHIPPED_SUITE
from benchmark_tasks.enums import AuditState
from evaluator.enums import RunState
from evaluator.models import TestRun
from evaluator.sandbox.configuration import EVALUATOR_VERSION

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

    from benchmark_tasks.models import TaskRevision


def may_see_reference(revision: TaskRevision, user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether ``user`` may see mutants, which quote the golden function: everybody where golden files are shipped with
    the site, else maintainers alone. An operator's golden files may be secret.
    """
    return reference_is_shipped(revision) or bool(getattr(user, "is_staff", False))


def reference_is_shipped(revision: TaskRevision) -> bool:
    """Whether the reference answer comes with the site, so that everybody can read it."""
    return revision.task.suite.slug == SHIPPED_SUITE


def why_outdated(revision: TaskRevision) -> str:
    """Why the audit does not speak for what is measured now: another evaluator or environment; empty when it does."""
    made_by = revision.audit.get("evaluator_version")
    if revision.audit_state == AuditState.UNAUDITED:
        return ""
    if made_by != EVALUATOR_VERSION:
        return f"it was made by evaluator version {made_by or 'unknown'}, the current one is {EVALUATOR_VERSION}"
    digest = revision.audit.get("environment_digest")
    measured = TestRun.objects.filter(
        Q(revision=revision) | Q(revision=None, implementation__revision=revision),
        state=RunState.DONE,
        finished__gt=revision.audit.get("made") or "1970-01-01T00:00:00Z",
    ).exclude(environment_digest="")
    if measured.exclude(environment_digest=digest or "").exists():
        return "answers have been measured in another environment since"
    return ""
