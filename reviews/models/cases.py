"""Cases, their triggers, assignments and events."""

from __future__ import annotations

import random
import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse

from evaluator.enums import LABEL_CHOICES
from reviews.enums import (
    AssignmentState,
    CaseKind,
    CaseState,
    FinalSource,
    Role,
    Severity,
    TriggerKind,
)
from reviews.models.reviewers import Reviewer
from submissions.models import Implementation
from submissions.models.append_only import AppendOnly, AppendOnlyQuerySet


def _any_place() -> int:
    """Return a random rank among the cases of the same severity and day."""
    return random.SystemRandom().randrange(2**31)


class Case(models.Model):
    """One answer under review, in one round. An appeal opens the next round and keeps this one.

    ``label`` and ``source`` are set when it closes. A repeat is ``reserved_for`` the reviewer who labelled the answer
    before. A practice case has a ``known_label`` and ``explanation``, and accepts any number of labels.
    """

    identifier = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    implementation = models.ForeignKey(Implementation, on_delete=models.CASCADE, related_name="cases")
    kind = models.CharField(max_length=10, choices=CaseKind, default=CaseKind.REVIEW)
    round = models.PositiveSmallIntegerField(default=1)
    state = models.CharField(max_length=12, choices=CaseState, default=CaseState.QUEUED)
    severity = models.PositiveSmallIntegerField(choices=Severity, default=Severity.AUDIT)
    place = models.PositiveIntegerField(default=_any_place)
    labels_wanted = models.PositiveSmallIntegerField(default=2)
    reserved_for = models.ForeignKey(
        Reviewer, null=True, blank=True, on_delete=models.CASCADE, related_name="reserved_cases"
    )
    known_label = models.CharField(max_length=2, choices=LABEL_CHOICES, blank=True)
    explanation = models.TextField(blank=True)
    label = models.CharField(max_length=2, choices=LABEL_CHOICES, blank=True)
    source = models.CharField(max_length=10, choices=FinalSource, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    closed = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["implementation", "round"],
                condition=models.Q(kind=CaseKind.REVIEW),
                name="one_case_per_answer_and_round",
            ),
            models.UniqueConstraint(
                fields=["implementation", "reserved_for"],
                condition=models.Q(kind=CaseKind.REPEAT),
                name="one_repeat_per_person",
            ),
            models.UniqueConstraint(
                fields=["implementation"], condition=models.Q(kind=CaseKind.PRACTICE), name="one_practice_per_answer"
            ),
        ]
        indexes = [models.Index(fields=["state", "-severity", "place"], name="cases_to_label")]

    def __str__(self) -> str:
        return f"case {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("case", args=[self.pk])


class Trigger(AppendOnly):
    """Why a case was opened. ``inclusion_probability`` is 1 if always reviewed, less for random samples.

    An appeal has a user in ``raised_by`` and evidence in ``detail``.
    """

    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="triggers")
    kind = models.CharField(max_length=14, choices=TriggerKind)
    detail = models.TextField(blank=True)
    inclusion_probability = models.FloatField(default=1.0)
    raised_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created = models.DateTimeField(auto_now_add=True)

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["case", "kind"], name="one_trigger_per_kind")]

    def __str__(self) -> str:
        return f"{self.kind} of case {self.case_id}"

    @property
    def sampled(self) -> str:
        """Return the probability of the random draw as text; empty if always reviewed."""
        share = self.inclusion_probability
        return f"drawn with probability {100 * share:.3g} %" if share < 1 else ""


class Assignment(models.Model):
    """A reviewer's work on a case, held with ``token`` until ``lease_until``. At most one per reviewer and case.

    ``draft`` has the unlocked input and ``draft_version`` counts its saves; both outlive the lease. ``active_seconds``
    is the time in which the page was visible and in use.
    """

    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="assignments")
    reviewer = models.ForeignKey(Reviewer, on_delete=models.PROTECT, related_name="assignments")
    role = models.CharField(max_length=12, choices=Role, default=Role.ANNOTATOR)
    state = models.CharField(max_length=10, choices=AssignmentState, default=AssignmentState.ACTIVE)
    token = models.UUIDField(default=uuid.uuid4)
    lease_until = models.DateTimeField(null=True, blank=True)
    draft = models.JSONField(default=dict, blank=True)
    draft_version = models.PositiveIntegerField(default=0)
    draft_saved = models.DateTimeField(null=True, blank=True)
    active_seconds = models.PositiveIntegerField(default=0)
    skip_reason = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["case", "reviewer"], name="one_assignment_per_person")]
        indexes = [models.Index(fields=["state", "lease_until"], name="assignments_by_lease")]

    def __str__(self) -> str:
        return f"assignment {self.pk}"


class CaseEvent(AppendOnly):
    """A change of a case's state, or a reviewer's claim, hand-back, expiry or skip."""

    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="events")
    reviewer = models.ForeignKey(Reviewer, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    before = models.CharField(max_length=12, choices=CaseState, blank=True)
    after = models.CharField(max_length=12, choices=CaseState)
    what = models.CharField(max_length=200, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"case {self.case_id}: {self.before} to {self.after}"
