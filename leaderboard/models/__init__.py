"""What is published."""

from leaderboard.models.board import Entry, EntryMetric, Label, ReportedAggregate, ReportedResult, ReportedRun

__all__ = ["Entry", "EntryMetric", "Label", "ReportedAggregate", "ReportedResult", "ReportedRun"]
