"""What the judges say of one answer, as pages of every room show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluator.enums import WorkState
from evaluator.models import Judgement, JudgeVote, ShownJudge

if TYPE_CHECKING:
    from submissions.models import Implementation


@dataclass(frozen=True, slots=True)
class ShownVote:
    """One vote; ``findings`` and ``rationale`` quote the code, and are empty for whoever may not see it."""

    row: JudgeVote
    findings: tuple[tuple[str, str, str], ...]
    rationale: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerJudgement:
    """What one judge says of one answer. ``on_board`` is whether the suite's board shows this judge.

    ``superseded`` are the votes that do not count any more.
    """

    row: Judgement
    on_board: bool
    votes: tuple[ShownVote, ...]
    superseded: tuple[ShownVote, ...] = ()

    @property
    def abstentions(self) -> tuple[str, ...]:
        """Why votes have no label, each reason once."""
        reasons = (vote.row.get_abstention_display() for vote in self.votes if vote.row.abstention)
        return tuple(dict.fromkeys(reasons))

    @property
    def waiting(self) -> str:
        """Why there is no label yet; empty when it is decided."""
        if self.row.state == WorkState.DONE:
            return ""
        return f"{self.row.get_state_display()}{f': {self.row.reason}' if self.row.reason else ''}"


def judges_of(answer: Implementation, *, sees_code: bool) -> list[AnswerJudgement]:
    """What each judge says of ``answer``, the board's judge first. Three queries, one where nothing was judged."""
    rows = list(
        Judgement.objects.filter(implementation=answer)
        .select_related("config")
        .prefetch_related("votes")
        .order_by("-config__active", "config")
    )
    if not rows:
        return []
    suite = ShownJudge.objects.filter(suite__versions=answer.submission.suite_version_id).first()
    shown = suite.config_id if suite else None
    judged = [
        AnswerJudgement(
            row=row,
            on_board=row.config_id == shown,
            votes=tuple(_shown_vote(vote, sees_code=sees_code) for vote in row.votes.all() if not vote.superseded),
            superseded=tuple(_shown_vote(vote, sees_code=sees_code) for vote in row.votes.all() if vote.superseded),
        )
        for row in rows
    ]
    return sorted(judged, key=lambda each: not each.on_board)


def _shown_vote(row: JudgeVote, *, sees_code: bool) -> ShownVote:
    if not sees_code:
        return ShownVote(row, (), ())
    findings = tuple(
        (str(each.get("severity", "")), str(each.get("point", "")), _lines(each.get("lines"))) for each in row.findings
    )
    return ShownVote(row, findings, tuple(map(str, row.rationale)))


def _lines(value: Any) -> str:
    """The lines that a finding names, as text: a list of numbers, or what the judge wrote."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")
