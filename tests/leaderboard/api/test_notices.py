"""One's notices, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from leaderboard.models import Notice
from tests.leaderboard.api.asking import Program
from tests.leaderboard.factories import measured

if TYPE_CHECKING:
    from submissions.models import User

pytestmark = pytest.mark.django_db


def told(owner: User, **facts: object) -> Notice:
    return Notice.objects.create(
        recipient=owner,
        kind="scored",
        key=str(Notice.objects.count()),
        submission=measured(owner=owner).submission,
        made=timezone.now(),
        **facts,
    )


def test_listing(alice: User, bob: User) -> None:
    old, new = told(alice, read=timezone.now()), told(alice)
    told(bob)
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
    assert Notice.objects.filter(read=None).count() == 2, "listing reads nothing"


def test_marking_as_read(alice: User, bob: User) -> None:
    notices, his = [told(alice) for _ in range(3)], told(bob)
    program = Program(alice, "notices")
    assert program.post(f"/notices/{notices[0].pk}/read") == {"read": 1}
    assert program.post(f"/notices/{notices[0].pk}/read") == {"read": 0}
    assert program.problem("POST", f"/notices/{his.pk}/read")["status"] == 404
    assert program.post("/notices/read") == {"read": 2}
    assert list(Notice.objects.filter(read=None)) == [his]
    assert Program(alice, "read").problem("POST", "/notices/read")["status"] == 403
