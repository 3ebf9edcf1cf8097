"""Final labels in board rows, and what people said on the way to them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from django.db.models import F

from leaderboard.published.labels import FINAL, RaterAxis
from reviews.cases.final_labels import final_labels
from reviews.enums import CaseKind, CaseState, FinalSource
from reviews.models import CaseEvent
from submissions.models import Implementation

if TYPE_CHECKING:
    from datetime import datetime

    from evaluator.models import JudgeConfig
    from submissions.models import Submission

SOURCES: Final = tuple(source.value for source in FinalSource)

# The states in which what people say of an answer may be another than before. From AGREED to DISPUTED takes it back.
_TELLING: Final = (CaseState.AGREED, CaseState.DISPUTED, CaseState.FINAL, CaseState.VOID, CaseState.REOPENED)


def people_shares(
    submission: Submission, judge: JudgeConfig | None
) -> dict[str, dict[tuple[int | None, int], dict[str, float]]]:
    """``human`` and ``final`` -> (category id, task revision id) -> label -> share of the trials.

    The final ones also say how much comes from each source. Empty where people have settled no answer: then the
    judge's labels, which stand beside it, are the final ones. Four queries.
    """
    answers = Implementation.objects.filter(submission=submission).order_by("pk")
    places = {
        pk: (category, revision)
        for pk, category, revision in answers.values_list("pk", "revision__category_id", "revision_id")
    }
    finals = final_labels(list(places), judge)
    if all(final.source == FinalSource.JUDGE for final in finals.values()):
        return {}
    human: dict[tuple[int | None, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    every: dict[tuple[int | None, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for answer, final in finals.items():
        share = 1 / submission.trials
        every[places[answer]][final.label] += share
        every[places[answer]][final.source.value] += share
        if final.source != FinalSource.JUDGE:
            human[places[answer]][final.label] += share
    return {RaterAxis.HUMAN.value: human, FINAL: every}


def reviewed_since(since: datetime | None) -> list[int]:
    """Submissions of whose answers people have said something newer than their row; from ``since`` on, where given."""
    answer = "case__implementation__submission"
    events = CaseEvent.objects.filter(
        case__kind=CaseKind.REVIEW, after__in=_TELLING, created__gt=F(f"{answer}__entry__computed")
    )
    if since is not None:
        events = events.filter(created__gt=since)
    return list(events.order_by().values_list(answer, flat=True).distinct())
