"""What the queue calls in this room."""

from __future__ import annotations

from benchmark_tasks.models import SuiteVersion


def compute_analysis(version_id: int) -> None:
    """Compute the analysis of a suite version; nothing where it is gone."""
    # Here, since only the process of the job needs statsmodels.
    from leaderboard.analysis.report import compute_report

    version = SuiteVersion.objects.filter(pk=version_id).first()
    if version is not None:
        compute_report(version)
