"""One's notices: what happened to what one sent, appealed against or may label."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema

from leaderboard.api.access import NOTICES, READ
from leaderboard.api.paging import Page, Paging, paged
from leaderboard.models import Notice
from leaderboard.models.enums import NoticeKind
from leaderboard.notices.reading import listed, mark_read
from submissions.permissions import user_of

if TYPE_CHECKING:
    from leaderboard.models.notices import NoticeQuerySet

router = Router(tags=["Notices"])


class NoticeOut(Schema):
    """Something that happened. ``read`` is null until then; ``submission`` and ``case`` are null where it has none."""

    id: int
    kind: Literal[*NoticeKind.values]  # type: ignore[valid-type]
    text: str
    made: datetime
    read: datetime | None
    submission: int | None
    case: int | None
    page: str


class WantedNotices(Schema):
    """Which notices are asked for."""

    unread: bool = Field(False, description="Only those that are not read yet.")


class ReadOut(Schema):
    """How many notices were marked as read just now."""

    read: int


@router.get("/notices", response=Page[NoticeOut], auth=READ)
def list_notices(request: HttpRequest, asked: Query[WantedNotices], paging: Query[Paging]) -> dict[str, Any]:
    """One's notices, newest first. Listing them does not mark them as read."""
    found = listed(user_of(request))
    return paged(request, found.filter(read=None) if asked.unread else found, paging, _shown)


@router.post("/notices/{int:pk}/read", response=ReadOut, auth=NOTICES)
def read_notice(request: HttpRequest, pk: int) -> dict[str, Any]:
    """Mark one of one's notices as read."""
    found = get_object_or_404(Notice.objects.shown_to(user_of(request)), pk=pk)
    return {"read": mark_read(Notice.objects.filter(pk=found.pk))}


@router.post("/notices/read", response=ReadOut, auth=NOTICES)
def read_notices(request: HttpRequest) -> dict[str, Any]:
    """Mark all of one's notices as read."""
    return {"read": mark_read(Notice.objects.filter(recipient=user_of(request)))}


def _shown(notices: NoticeQuerySet) -> list[dict[str, Any]]:
    return [
        {
            **{name: getattr(notice, name) for name in ("kind", "text", "made", "read")},
            "id": notice.pk,
            "submission": notice.submission_id,
            "case": notice.case_id,
            "page": notice.get_absolute_url(),
        }
        for notice in notices
    ]
