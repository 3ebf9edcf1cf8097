"""Collect what the page of an answer and the panel of its mark on the board both show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluator.models import Judgement
from leaderboard.evidence.answer_code import judge_findings, shown_code
from leaderboard.evidence.answers import request_of
from leaderboard.evidence.cases import findings_of, labels_of, review_of
from leaderboard.evidence.generations import without_answer
from leaderboard.evidence.outcomes import shown_run
from leaderboard.evidence.submissions import answer_row, may_see_code
from submissions.domain.shown_changes import changes_more
from submissions.enums import Source

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from evaluator.models import TestRun
    from submissions.models import Implementation, User


def shown_answer(
    user: User | AnonymousUser, answer: Implementation, run: TestRun | None, *, folds: bool = True
) -> dict[str, Any]:
    """Return how ``answer`` did in ``run``, and the code, judgements and labels that ``user`` may see.

    The keys are variables of the partials in ``templates/leaderboard/answer/``.
    """
    submission = answer.submission
    model_request = request_of(answer)
    row = answer_row(answer, run, model_request)
    sees_code = may_see_code(user, submission)
    judges, review = list(Judgement.objects.of_answer(answer)), review_of(answer)
    if review.case:
        review.case.implementation = answer
    labels = labels_of(review.case, sees_code=sees_code) if review.case else ()
    findings = [*findings_of(labels), *judge_findings(judges)]
    compares = sees_code and answer.attempted and not answer.answer_error
    return {
        "submission": submission,
        "suite": submission.suite_version.suite,
        "answer": answer,
        "revision": answer.revision,
        "task": answer.revision.task,
        "run": run,
        "row": row,
        "tests": shown_run(run, row.badge),
        "sees_code": sees_code,
        "code": shown_code(answer, findings, folds=folds) if compares else None,
        # The reason why the answer does not apply is shown with the code.
        "explained": sees_code and bool(answer.answer_error),
        "changes_more": sees_code and changes_more(answer),
        "asked": model_request if sees_code else None,
        "without_answer": without_answer(model_request)
        if submission.source == Source.ENDPOINT and not answer.attempted
        else "",
        "judges": judges,
        "review": review,
        "labels": labels,
        "decision": getattr(review.case, "decision", None) if review.case else None,
    }
