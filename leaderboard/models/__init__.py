"""What is published."""

from leaderboard.models.analysis import AnalysisReport
from leaderboard.models.board import BoardState, Entry, EntryMetric, ReportedAggregate, ReportedResult, ReportedRun
from leaderboard.models.snapshots import Snapshot

__all__ = [
    "AnalysisReport",
    "BoardState",
    "Entry",
    "EntryMetric",
    "ReportedAggregate",
    "ReportedResult",
    "ReportedRun",
    "Snapshot",
]
