"""What is published."""

from leaderboard.models.analysis import AnalysisReport
from leaderboard.models.board import BoardState, Entry, EntryMetric, ReportedAggregate, ReportedResult, ReportedRun
from leaderboard.models.bulk import AnswersFile
from leaderboard.models.notices import MailChoice, Notice

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
]
