"""A user's notices through the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from leaderboard.models import Notice
from tests.leaderboard.api.program import Program
from tests.leaderboard.factories import measured

if TYPE_CHECKING:
    from submissions.models import User

pytestmark = pytest.mark.django_db


def notice(owner: User, **facts: object) -> Notice:
    return Notice.objects.create(
        recipient=owner,
        kind="scored",
        key=str(Notice.objects.count()),
        submission=measured(owner=owner).submission,
        made=timezone.now(),
        **facts,
    )


def test_listing(alice: User, bob: User) -> None:
    old, new = notice(alice, read=timezone.now()), notice(alice)
    notice(bob)
    program = Program(alice, "read")
    listed = program.get("/notices")["items"]
    assert [each["id"] for each in listed] == [new.pk, old.pk]
    assert listed[0] == {
        "id": new.pk,
        "kind": "scored",
        "text": new.text,
        "made": listed[0]["made"],
        "read": None,
        "submission": new.submission_id,
        "case": None,
        "page": f"/notices/{new.pk}/",
    }
    assert [each["id"] for each in program.get("/notices?unread=true")["items"]] == [new.pk]
    assert Notice.objects.filter(read=None).count() == 2, "listing marks nothing as read"


def test_marking_as_read(alice: User, bob: User) -> None:
    notices, other = [notice(alice) for _ in range(3)], notice(bob)
    program = Program(alice, "notices")
    assert program.post(f"/notices/{notices[0].pk}/read") == {"read": 1}
    assert program.post(f"/notices/{notices[0].pk}/read") == {"read": 0}
    assert program.problem("POST", f"/notices/{other.pk}/read")["status"] == 404
    assert program.post("/notices/read") == {"read": 2}
    assert list(Notice.objects.filter(read=None)) == [other]
    assert Program(alice, "read").problem("POST", "/notices/read")["status"] == 403
