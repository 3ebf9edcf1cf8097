"""What is published."""

from leaderboard.models.board import Entry, EntryMetric, ReportedAggregate, ReportedResult, ReportedRun

__all__ = ["Entry", "EntryMetric", "ReportedAggregate", "ReportedResult", "ReportedRun"]
