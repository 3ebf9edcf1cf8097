"""Database models of boards, notices and snapshots."""

from leaderboard.models.analysis import AnalysisReport
from leaderboard.models.board import BoardState, Entry, EntryMetric, ReportedAggregate, ReportedResult, ReportedRun
from leaderboard.models.bulk import AnswersFile
from leaderboard.models.notices import MailChoice, Notice
from leaderboard.models.snapshots import Snapshot

__all__ = [
    "AnalysisReport",
    "AnswersFile",
    "BoardState",
    "Entry",
    "EntryMetric",
    "MailChoice",
    "Notice",
    "ReportedAggregate",
    "ReportedResult",
    "ReportedRun",
    "Snapshot",
]
