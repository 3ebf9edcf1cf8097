"""What is published."""

from leaderboard.models.analysis import AnalysisReport
from leaderboard.models.board import BoardState, Entry, EntryMetric, ReportedAggregate, ReportedResult, ReportedRun

__all__ = [
    "AnalysisReport",
    "BoardState",
    "Entry",
    "EntryMetric",
    "ReportedAggregate",
    "ReportedResult",
    "ReportedRun",
]
