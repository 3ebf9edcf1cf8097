"""Record the file of all public answers of a suite, which a job writes."""

from __future__ import annotations

from django.db import models

from benchmark_tasks.models import Suite


class AnswersFile(models.Model):
    """A zip file with the answers that were public at change ``changed`` of the suite's boards.

    ``entries`` are the ids of the rows whose answers are in it: once one of them is no longer public, the file is no
    longer served. ``digest`` (SHA-256) and ``size`` are those of the bytes.
    """

    suite = models.OneToOneField(Suite, primary_key=True, on_delete=models.CASCADE, related_name="answers_file")
    changed = models.PositiveBigIntegerField()
    entries = models.JSONField(default=list)
    file = models.FileField(max_length=200)
    digest = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    answers = models.PositiveIntegerField()
    made = models.DateTimeField()

    class Meta:
        ordering = ["suite"]

    def __str__(self) -> str:
        return f"answers of {self.suite_id}"
