"""What is published."""

from leaderboard.models.board import BoardState, Entry, EntryMetric, ReportedAggregate, ReportedResult, ReportedRun

__all__ = ["BoardState", "Entry", "EntryMetric", "ReportedAggregate", "ReportedResult", "ReportedRun"]
