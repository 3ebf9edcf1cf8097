"""Let annotators label blind through the API: take an item, save a draft, lock a label.

``reviews.labelling.items`` decides what an annotator may know of an item. Adjudication and practice are on the pages
only.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from ninja import Field, Router, Schema, Status

from evaluator.labels import Label
from leaderboard.api.access import LABEL
from leaderboard.api.catalogue import file_of
from leaderboard.api.problems import Kind, ProblemError
from leaderboard.api.schemas import filled
from reviews.annotators.reviewers import reviewer_of
from reviews.cases import holding
from reviews.enums import CaseKind, Confidence, ErrorClass, FindingSide, Role
from reviews.labelling import claiming, drafts, locking
from reviews.labelling.claiming import own_assignment
from reviews.labelling.findings import TypedLabel, typed_label
from reviews.labelling.items import blind_item, line_count, paper_response
from reviews.models import Assignment

if TYPE_CHECKING:
    from reviews.models import Review

router = Router(tags=["Labels"])


class FindingIn(Schema):
    """An error and its place: the lines (from 1, both ends included) of one of the two codes as shown."""

    side: Literal[*FindingSide.values] = FindingSide.CANDIDATE.value  # type: ignore[valid-type]
    start: int | None = None
    end: int | None = None
    text: str = ""
    error_class: Literal["", *ErrorClass.values] = ""  # type: ignore[valid-type]


class LabelIn(Schema):
    """A label, complete or not; LC and LI need a finding. ``active_seconds``: working time since the last save."""

    label: Literal["", *(label.value for label in Label)] = ""  # type: ignore[valid-type]
    confidence: int | None = Field(None, description=f"One of {', '.join(map(str, Confidence.values))}.")
    findings: list[FindingIn] = []
    note: str = ""
    active_seconds: int = 0


class DraftIn(LabelIn):
    """A draft, and the ``version`` that it is based on."""

    version: int = Field(ge=0)


class DraftOut(Schema):
    """The stored draft of an unlocked label. Line numbers are kept as typed."""

    label: str
    confidence: int | None
    findings: list[dict[str, Any]]
    note: str
    version: int


class MaskedOut(Schema):
    """The goal file as systems received it; the lines ``first`` to ``last`` are masked."""

    path: str
    text: str
    first: int
    last: int


class FileOut(Schema):
    """A repository file given as context."""

    path: str
    text: str


class LockedOut(Schema):
    """A locked label, which can no longer be changed."""

    label: str
    confidence: int
    findings: list[dict[str, Any]]
    note: str
    locked: datetime


class ItemOut(Schema):
    """One answer to label, without its system or anyone else's labels. You hold it until ``lease_until``."""

    id: int
    state: str
    lease_until: datetime | None
    task: str
    goal: str
    category: str
    paper_title: str
    paper_address: str
    paper_year: int | None
    instruction: str
    masked: MaskedOut
    context: list[FileOut]
    golden: str
    candidate: str
    candidate_is_diff: bool
    other_changes: str
    withheld: bool
    lines: dict[str, int]
    draft: DraftOut
    locked: LockedOut | None


class SkipIn(Schema):
    """The reason why you cannot label the item."""

    reason: str


def own_item(request: HttpRequest, pk: int) -> Assignment:
    """Return the requesting annotator's own item for blind labelling. Raises Http404."""
    assignment = own_assignment(request.user, pk)
    if assignment.role != Role.ANNOTATOR or assignment.case.kind == CaseKind.PRACTICE:
        raise Http404
    return assignment


@router.post("/labels/next", response={200: ItemOut, 204: None}, auth=LABEL)
def take_item(request: HttpRequest) -> Status[Any]:
    """Take the item that you hold, else the next one; 204 if none is waiting for you."""
    reviewer = reviewer_of(request.user)
    if reviewer is None:
        raise ProblemError(Kind.NOT_ALLOWED, "Only annotators of this site can label. Maintainers invite them.")
    taken = claiming.claim(reviewer=reviewer, role=Role.ANNOTATOR)
    if taken is None:
        return Status(204, None)
    return Status(200, _item(own_item(request, taken.pk)))


@router.get("/labels/{int:pk}", response=ItemOut, auth=LABEL)
def get_item(request: HttpRequest, pk: int) -> dict[str, Any]:
    """Get one of your items: the task, the answer, and your draft or locked label."""
    return _item(own_item(request, pk))


@router.get("/labels/{int:pk}/paper", auth=LABEL, openapi_extra=file_of("application/pdf", "text/plain"))
def get_item_paper(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Download the paper of one of your items."""
    return paper_response(own_item(request, pk))


@router.put("/labels/{int:pk}/draft", response=DraftOut, auth=LABEL)
def save_draft(request: HttpRequest, pk: int, typed: DraftIn) -> dict[str, Any]:
    """Save a draft and extend the lease. On 409, another program or tab saved first; check its draft."""
    assignment = own_item(request, pk)
    # The page's view state stays in the draft.
    kept = {name: value for name, value in assignment.draft.items() if name in {"paper_page", "view"}}
    drafts.save_draft(
        assignment=assignment,
        draft={**_typed(typed).draft, **kept},
        version=typed.version,
        active_seconds=typed.active_seconds,
    )
    holding.extend(assignment)
    return _draft(assignment)


@router.post("/labels/{int:pk}/lock", response=LockedOut, auth=LABEL)
def lock_label(request: HttpRequest, pk: int, typed: LabelIn) -> Review:
    """Lock a label permanently. Sending the same label twice locks it once."""
    assignment = own_item(request, pk)
    return locking.lock(assignment=assignment, **_typed(typed)._asdict(), active_seconds=typed.active_seconds)


@router.post("/labels/{int:pk}/return", response=ItemOut, auth=LABEL)
def return_item(request: HttpRequest, pk: int) -> dict[str, Any]:
    """Return an item to the queue; your draft is kept."""
    assignment = own_item(request, pk)
    holding.hand_back(assignment)
    return _item(assignment)


@router.post("/labels/{int:pk}/resume", response=ItemOut, auth=LABEL)
def resume_item(request: HttpRequest, pk: int) -> dict[str, Any]:
    """Resume an item that was returned or whose lease expired."""
    return _item(claiming.resume(own_item(request, pk)))


@router.post("/labels/{int:pk}/skip", response=ItemOut, auth=LABEL)
def skip_item(request: HttpRequest, pk: int, skip: SkipIn) -> dict[str, Any]:
    """Skip an item permanently; others will label it."""
    assignment = own_item(request, pk)
    holding.skip(assignment, reason=skip.reason)
    return _item(assignment)


def _typed(given: LabelIn) -> TypedLabel:
    return typed_label(**given.model_dump(include=set(TypedLabel._fields)))


def _item(assignment: Assignment) -> dict[str, Any]:
    return filled(
        ItemOut,
        blind_item(assignment),
        id=assignment.pk,
        state=assignment.state,
        lease_until=assignment.lease_until,
        lines=line_count(assignment),
        draft=_draft(assignment),
        locked=locking.locked_label(assignment),
    )


def _draft(assignment: Assignment) -> dict[str, Any]:
    stored = assignment.draft
    return {
        "label": stored.get("label") or "",
        "confidence": stored.get("confidence"),
        "findings": stored.get("findings") or [],
        "note": stored.get("note") or "",
        "version": assignment.draft_version,
    }
