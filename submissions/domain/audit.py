"""Record and list audit events: who did what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from submissions.models import AuditEvent, User

if TYPE_CHECKING:
    from django.db.models import Model, QuerySet

    from submissions.enums import Verb


def record(
    *,
    verb: Verb,
    subject: Model,
    actor: User | None,
    reason: str = "",
    data: dict[str, Any] | None = None,
) -> AuditEvent:
    """Append one event about ``subject``. ``actor`` is None if the site itself acted."""
    return AuditEvent.objects.create(
        actor=actor,
        verb=verb,
        subject_kind=subject._meta.model_name or "",  # noqa: SLF001 - Django's documented API
        subject_id=str(subject.pk),
        subject_text=str(subject)[:200],
        reason=reason,
        data=data or {},
    )


def history(subject: Model) -> QuerySet[AuditEvent]:
    """Return every event about ``subject``, newest first."""
    kind = subject._meta.model_name or ""  # noqa: SLF001 - Django's documented API
    return AuditEvent.objects.filter(subject_kind=kind, subject_id=str(subject.pk)).select_related("actor")
