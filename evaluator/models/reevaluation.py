"""Re-evaluations: a submission is measured again because its test conditions have changed."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from benchmark_tasks.models import SuiteVersion
from evaluator.enums import ReevaluationState
from submissions.models import Submission


class Reevaluation(models.Model):
    """One repeated measurement of a submission. Old results count until every new one exists; none is overwritten.

    Its changes are computed from the runs (``evaluator.reevaluation.reevaluating``).
    """

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="reevaluations")
    from_version = models.ForeignKey(SuiteVersion, on_delete=models.PROTECT, related_name="+")
    to_version = models.ForeignKey(SuiteVersion, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT)
    state = models.CharField(max_length=10, choices=ReevaluationState, default=ReevaluationState.RUNNING)
    held_reason = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["submission"],
                condition=models.Q(state__in=[ReevaluationState.RUNNING, ReevaluationState.HELD]),
                name="one_reevaluation_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"re-evaluation {self.pk} of submission {self.submission_id}"

    @property
    def is_held(self) -> bool:
        """Whether a maintainer must act."""
        return self.state == ReevaluationState.HELD
