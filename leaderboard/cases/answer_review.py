"""What people said of one answer, for its page, and whether somebody may appeal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from leaderboard.board.judge_labels import shown_judge
from leaderboard.cases.case_pages import public_cases
from reviews.cases.final_labels import final_labels
from reviews.cases.flags import flags_of
from reviews.enums import CLOSED, CaseKind, CaseState
from reviews.models import Case
from submissions.domain.access import may_manage
from submissions.enums import SubmissionState

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from reviews.cases.final_labels import FinalLabel
    from reviews.models import TaskFlag
    from submissions.models import Implementation, User

_ENDED: Final = (*CLOSED, CaseState.VOID)


@dataclass(frozen=True, slots=True)
class AnswerReview:
    """``final`` is empty while nobody has settled it; ``case`` has a page of its own; ``opened`` is under review.

    Of an open review nothing is told but that there is one: not a label that somebody has locked in it, and not the
    judge's as the final one, which it may not stay.
    """

    final: FinalLabel | None
    case: Case | None
    opened: Case | None
    flags: tuple[tuple[TaskFlag, Case | None], ...]


def review_of(answer: Implementation) -> AnswerReview:
    """Final label, reviews and flags of one answer. The number of queries is constant."""
    cases = list(Case.objects.filter(implementation=answer, kind=CaseKind.REVIEW).order_by("round"))
    opened = next((case for case in cases if case.state not in _ENDED), None)
    final = final_labels([answer.pk], shown_judge(answer.submission.suite_version.suite_id)).get(answer.pk)
    if opened and final and (final.case is None or final.case.state not in CLOSED):
        final = None
    flags = flags_of([answer.revision_id]).get(answer.revision_id, [])
    shown = {case.pk: case for case in public_cases().filter(pk__in=_linked(final, flags))}
    return AnswerReview(
        final=final,
        case=shown.get(final.case.pk) if final and final.case else None,
        opened=opened,
        flags=tuple((flag, shown.get(flag.decision.case_id)) for flag in flags),
    )


def _linked(final: FinalLabel | None, flags: list[TaskFlag]) -> list[int]:
    """The cases that the page would like to link to."""
    own = [final.case.pk] if final and final.case else []
    return own + [flag.decision.case_id for flag in flags]


def may_appeal(user: User | AnonymousUser, answer: Implementation) -> bool:
    """Whether the page offers ``user`` an appeal: the submission's owner and maintainers, once it was measured."""
    measured = answer.attempted and answer.submission.state == SubmissionState.SCORED
    return measured and may_manage(user, answer.submission)
