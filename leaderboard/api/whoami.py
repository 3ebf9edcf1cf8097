"""What a token may do, and what is left of its owner's quota."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from leaderboard.api.access import READ
from reviews.annotators.reviewers import reviewer_of
from submissions.domain import quotas
from submissions.permissions import user_of

router = Router(tags=["Token"])


class Me(Schema):
    """Whose token this is, what it may do until when, and how many submissions its owner has left today (UTC)."""

    username: str
    token: str
    scopes: list[str]
    expires: datetime
    maintainer: bool
    annotator: bool
    submissions_a_day: int
    submissions_left: int


@router.get("/me", response=Me, auth=READ)
def get_me(request: HttpRequest) -> dict[str, Any]:
    """The token that was sent, and its owner."""
    token, user = request.auth, user_of(request)  # type: ignore[attr-defined]
    reviewer = reviewer_of(user)
    return {
        "username": user.username,
        "token": token.name,
        "scopes": token.scopes,
        "expires": token.expires,
        "maintainer": user.is_staff,
        "annotator": reviewer is not None and reviewer.is_annotator,
        "submissions_a_day": quotas.limit(user),
        "submissions_left": quotas.remaining(user),
    }
