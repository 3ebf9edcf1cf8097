"""Revisions of the labelling guidelines, and which reviewers have read them."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from reviews.models.reviewers import Reviewer
from submissions.models.append_only import AppendOnly, AppendOnlyQuerySet


class GuidelineRevision(AppendOnly):
    """The guidelines in force from ``created`` until the next revision. ``text`` is Markdown."""

    number = models.PositiveIntegerField(unique=True)
    text = models.TextField()
    changes = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"guidelines, revision {self.number}"


class GuidelineReading(AppendOnly):
    """A reviewer's confirmation of having read a revision, or its changes since the last one read."""

    reviewer = models.ForeignKey(Reviewer, on_delete=models.CASCADE, related_name="readings")
    revision = models.ForeignKey(GuidelineRevision, on_delete=models.PROTECT, related_name="readings")
    created = models.DateTimeField(auto_now_add=True)

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["reviewer", "revision"], name="one_reading_per_revision")]

    def __str__(self) -> str:
        return f"{self.reviewer_id} read {self.revision_id}"
