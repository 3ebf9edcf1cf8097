"""What is published."""

from leaderboard.models.analysis import AnalysisReport
from leaderboard.models.board import Entry, EntryMetric, ReportedAggregate, ReportedResult, ReportedRun

__all__ = ["AnalysisReport", "Entry", "EntryMetric", "ReportedAggregate", "ReportedResult", "ReportedRun"]
