"""Report a token's scopes and expiry, and its owner's remaining quota."""

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
    """A token's owner, scopes and expiry, and the submissions its owner has left today (UTC)."""

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
    """Get the token sent with the request, and its owner."""
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
