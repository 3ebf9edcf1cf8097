"""Store the analysis of a suite version, which a job computes because it takes seconds."""

from __future__ import annotations

from django.db import models

from benchmark_tasks.models import SuiteVersion


class AnalysisReport(models.Model):
    """A report computed from the public data of its time. ``digest`` is their ``analysis.data.inputs_digest``.

    ``entries`` are the ids of the counted rows: the report is no longer shown once one of them is not public.
    ``data`` is an ``analysis.report.ReportData``.
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
