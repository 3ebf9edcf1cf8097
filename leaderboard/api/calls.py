"""Serve the model calls behind an answer, and a submission's re-evaluations with their changed outcomes."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema

from evaluator.models import ModelCall
from leaderboard.api.paging import Page, Paging, paged
from leaderboard.api.schemas import filled
from leaderboard.api.submissions import visible
from leaderboard.board.visibility import require_open
from leaderboard.evidence import reevaluations
from leaderboard.evidence.answers import open_answer
from leaderboard.evidence.generations import calls_of
from leaderboard.evidence.submissions import may_see_code
from submissions.enums import Source

if TYPE_CHECKING:
    from submissions.models import Submission

router = Router(tags=["Submissions"])


class CallOut(Schema):
    """A request to a model. ``number`` counts its attempts; in state ``in_doubt`` the reply may have been lost."""

    id: int
    step: int
    number: int
    state: str
    message: str
    model: str
    returned_model: str
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int
    dollars: Decimal | None
    started: datetime
    ended: datetime | None
    page: str


class CallDetail(CallOut):
    """A call with its request and response in the provider's format; the response is null if none was stored."""

    request: dict[str, Any]
    response: Any


class ChangeOut(Schema):
    """An answer whose outcome changed, with both outcomes in words."""

    name: str
    before: str
    after: str


class ReevaluationOut(Schema):
    """A re-evaluation of a submission. While ``applied`` is null, the earlier results count.

    ``passed_before`` and ``passed_after`` give passed and counted tasks.
    """

    reason: str
    state: str
    begun: datetime
    applied: datetime | None
    from_version: int
    to_version: int
    done: int
    total: int
    why: list[str]
    changed: list[ChangeOut]
    passed_before: str | None
    passed_after: str | None


_ANSWER = "/submissions/{int:pk}/answers/{slug:paper}/{int:index}/{int:trial}"


@router.get(f"{_ANSWER}/calls", response=Page[CallOut])
def list_calls(
    request: HttpRequest, pk: int, paper: str, index: int, trial: int, paging: Query[Paging]
) -> dict[str, Any]:
    """List every call made for one answer, in the order of sending, if you may see its code."""
    shown = _code_visible(request, pk)
    answer = open_answer(request, shown, paper, index, trial)
    return paged(request, calls_of(answer), paging, lambda part: (_call(shown, each) for each in part))


@router.get("/submissions/{int:pk}/calls/{int:number}", response=CallDetail)
def get_call(request: HttpRequest, pk: int, number: int) -> dict[str, Any]:
    """Get one call with its request and response."""
    shown = _code_visible(request, pk)
    found = ModelCall.objects.select_related("answer_request__implementation__revision")
    call = get_object_or_404(found, pk=number, answer_request__implementation__submission=shown)
    assert call.answer_request is not None  # noqa: S101 - for the type checker: the filter ensures it
    require_open(request, submission=shown)
    return {**_call(shown, call), "request": call.request, "response": call.response}


@router.get("/submissions/{int:pk}/reevaluations", response=list[ReevaluationOut])
def list_reevaluations(request: HttpRequest, pk: int) -> list[dict[str, Any]]:
    """List a submission's re-evaluations and what each changed, newest first."""
    shown = visible(request, pk)
    require_open(request, submission=shown)
    return [_reevaluation(each) for each in reevaluations.of_submission(shown)]


def _code_visible(request: HttpRequest, pk: int) -> Submission:
    """Return the submission; its calls are visible to those who may see its code. Raises Http404 as the page does."""
    shown = visible(request, pk)
    if shown.source != Source.ENDPOINT or not may_see_code(request.user, shown):
        raise Http404
    return shown


def _call(shown: Submission, call: ModelCall) -> dict[str, Any]:
    return filled(CallOut, call, page=f"{shown.get_absolute_url()}calls/{call.pk}/")


def _reevaluation(shown: reevaluations.Shown) -> dict[str, Any]:
    row, difference = shown.row, shown.difference
    return {
        "reason": row.reason,
        "state": row.state,
        "begun": row.created,
        "applied": row.ended if difference else None,
        "from_version": row.from_version.number,
        "to_version": row.to_version.number,
        "done": row.done,  # type: ignore[attr-defined]
        "total": row.total,  # type: ignore[attr-defined]
        "why": difference.reasons if difference else [],
        "changed": difference.changed if difference else [],
        "passed_before": difference.before if difference else None,
        "passed_after": difference.after if difference else None,
    }
