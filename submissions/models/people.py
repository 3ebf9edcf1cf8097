"""Accounts, and the append-only log of audit events."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models

from submissions.enums import Verb
from submissions.models.append_only import AppendOnly, AppendOnlyQuerySet


class User(AbstractUser):
    """An account. ``is_staff`` marks maintainers; ``daily_submissions`` overrides the instance's quota."""

    daily_submissions = models.PositiveIntegerField(null=True, blank=True)


class AuditEvent(AppendOnly):
    """Who did what to what, when and why. Append-only; public events are shown on the subject's page.

    ``actor`` is null for the site itself. ``subject_kind`` and ``subject_id`` name the row; ``subject_text`` is its
    text at that time.
    """

    actor = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="audit_events")
    verb = models.CharField(max_length=20, choices=Verb)
    subject_kind = models.CharField(max_length=40)
    subject_id = models.CharField(max_length=40)
    subject_text = models.CharField(max_length=200)
    reason = models.TextField(blank=True)
    data = models.JSONField(default=dict, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["-created", "-pk"]
        indexes = [models.Index(fields=["subject_kind", "subject_id", "-created"], name="audit_by_subject")]

    def __str__(self) -> str:
        return f"{self.verb} {self.subject_text}"
