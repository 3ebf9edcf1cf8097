"""What the queue calls of this room. A job fetches, claims and delegates."""

from __future__ import annotations

from benchmark_tasks.models import SuiteVersion


def rank_board(version_id: int) -> None:
    """Compute the rank bands of a suite version's board, if results changed since they were computed."""
    # numpy is for this job only.
    from leaderboard.comparing.ranks import rank_version

    rank_version(version_id)


def compute_analysis(version_id: int) -> None:
    """Compute the analysis of a suite version; nothing where it is gone."""
    # statsmodels is for this job only.
    from leaderboard.analysis.report import compute_report

    version = SuiteVersion.objects.filter(pk=version_id).first()
    if version is not None:
        compute_report(version)
