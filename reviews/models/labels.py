"""Reviewers' blind labels and decisions, and the task flags that decisions raise."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from benchmark_tasks.models import TaskRevision
from evaluator.enums import LABEL_CHOICES
from reviews.enums import Confidence, ReasonCode, Role
from reviews.models.cases import Assignment, Case
from reviews.models.guidelines import GuidelineRevision
from reviews.models.reviewers import Reviewer
from submissions.models.append_only import AppendOnly, AppendOnlyQuerySet


class Review(AppendOnly):
    """A reviewer's locked blind label of one case.

    ``findings`` lists ``{side, start, end, text, error_class}``: 1-based, inclusive lines of the candidate's or the
    golden function as shown; ``error_class`` may be empty. Agreement uses only annotators' labels.
    """

    identifier = models.UUIDField(default=uuid.uuid4, unique=True)
    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="reviews")
    assignment = models.OneToOneField(
        Assignment, null=True, blank=True, on_delete=models.PROTECT, related_name="review"
    )
    reviewer = models.ForeignKey(Reviewer, on_delete=models.PROTECT, related_name="reviews")
    role = models.CharField(max_length=12, choices=Role)
    label = models.CharField(max_length=2, choices=LABEL_CHOICES)
    confidence = models.PositiveSmallIntegerField(choices=Confidence)
    findings = models.JSONField(default=list, blank=True)
    note = models.TextField(blank=True)
    guideline = models.ForeignKey(GuidelineRevision, on_delete=models.PROTECT, related_name="reviews")
    active_seconds = models.PositiveIntegerField(default=0)
    locked = models.DateTimeField()

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["locked", "pk"]
        constraints = [models.UniqueConstraint(fields=["case", "reviewer"], name="one_label_per_person")]

    def __str__(self) -> str:
        return f"{self.label} on case {self.case_id}"


class Decision(AppendOnly):
    """An adjudicator's final label of a case. ``reasons`` are codes of :class:`ReasonCode`, in order."""

    identifier = models.UUIDField(default=uuid.uuid4, unique=True)
    case = models.OneToOneField(Case, on_delete=models.CASCADE, related_name="decision")
    adjudicator = models.ForeignKey(Reviewer, on_delete=models.PROTECT, related_name="decisions")
    label = models.CharField(max_length=2, choices=LABEL_CHOICES)
    reasons = models.JSONField(default=list)
    note = models.TextField(blank=True)
    guideline = models.ForeignKey(GuidelineRevision, on_delete=models.PROTECT, related_name="decisions")
    decided = models.DateTimeField()

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["decided", "pk"]

    def __str__(self) -> str:
        return f"{self.label} for case {self.case_id}"

    @property
    def reason_names(self) -> str:
        """Return the names of the reasons why the raters differed."""
        return ReasonCode.in_words(self.reasons)


class TaskFlag(models.Model):
    """A decision's finding that a task's test or golden function is bad. It marks every score until it is lifted."""

    revision = models.ForeignKey(TaskRevision, on_delete=models.CASCADE, related_name="flags")
    decision = models.ForeignKey(Decision, on_delete=models.PROTECT, related_name="flags")
    reason = models.CharField(max_length=16, choices=ReasonCode)
    created = models.DateTimeField(auto_now_add=True)
    lifted = models.DateTimeField(null=True, blank=True)
    lifted_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    lifted_because = models.TextField(blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["decision", "reason"], name="one_flag_per_decision_and_reason")]

    def __str__(self) -> str:
        return f"{self.get_reason_display()} of {self.revision_id}"
