"""Serve an account's notices about its submissions, appeals and labelling."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema

from leaderboard.api.access import NOTICES, READ
from leaderboard.api.paging import Page, Paging, paged
from leaderboard.api.schemas import filled
from leaderboard.models import Notice
from leaderboard.models.enums import NoticeKind
from leaderboard.notices.reading import listed, mark_read
from submissions.permissions import user_of

if TYPE_CHECKING:
    from leaderboard.models.notices import NoticeQuerySet

router = Router(tags=["Notices"])


class NoticeOut(Schema):
    """A notice of one event. ``read`` is null if unread; ``submission`` and ``case`` are null if it concerns none."""

    id: int
    kind: Literal[*NoticeKind.values]  # type: ignore[valid-type]
    text: str
    made: datetime
    read: datetime | None
    submission: int | None
    case: int | None
    page: str


class NoticesQuery(Schema):
    """Select notices."""

    unread: bool = Field(False, description="Unread notices only.")


class ReadOut(Schema):
    """The number of notices marked as read by this request."""

    read: int


@router.get("/notices", response=Page[NoticeOut], auth=READ)
def list_notices(request: HttpRequest, query: Query[NoticesQuery], paging: Query[Paging]) -> dict[str, Any]:
    """List your notices, newest first. Listing does not mark them as read."""
    found = listed(user_of(request))
    return paged(request, found.filter(read=None) if query.unread else found, paging, _shown)


@router.post("/notices/{int:pk}/read", response=ReadOut, auth=NOTICES)
def read_notice(request: HttpRequest, pk: int) -> dict[str, Any]:
    """Mark one of your notices as read."""
    found = get_object_or_404(Notice.objects.shown_to(user_of(request)), pk=pk)
    return {"read": mark_read(Notice.objects.filter(pk=found.pk))}


@router.post("/notices/read", response=ReadOut, auth=NOTICES)
def read_notices(request: HttpRequest) -> dict[str, Any]:
    """Mark all of your notices as read."""
    return {"read": mark_read(Notice.objects.filter(recipient=user_of(request)))}


def _shown(notices: NoticeQuerySet) -> list[dict[str, Any]]:
    return [
        filled(NoticeOut, each, submission=each.submission_id, case=each.case_id, page=each.get_absolute_url())
        for each in notices
    ]
