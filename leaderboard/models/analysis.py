"""What the analysis of a suite version computes in a job, since it takes seconds."""

from __future__ import annotations

from django.db import models

from benchmark_tasks.models import SuiteVersion


class AnalysisReport(models.Model):
    """Computed from what everybody could see then. ``digest`` is ``analysis.data.inputs_digest`` of that.

    ``entries`` are the ids of the rows that were counted: when one of them is no longer visible, the report is not
    shown any more. ``data`` is an ``analysis.report.ReportData``.
    """

    suite_version = models.OneToOneField(SuiteVersion, on_delete=models.CASCADE, related_name="analysis_report")
    digest = models.CharField(max_length=64)
    entries = models.JSONField(default=list)
    data = models.JSONField(default=dict)
    computed = models.DateTimeField()

    class Meta:
        ordering = ["suite_version"]

    def __str__(self) -> str:
        return f"analysis of {self.suite_version}"
