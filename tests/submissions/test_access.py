"""Who may see and manage which submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser

from submissions.domain.access import may_manage, visible_to
from submissions.enums import Visibility
from tests.submissions.factories import SubmissionFactory

if TYPE_CHECKING:
    from submissions.models import User

NOBODY = AnonymousUser()


def test_who_sees_and_who_manages(alice: User, bob: User, maintainer: User) -> None:
    made = {visibility: SubmissionFactory(owner=alice, visibility=visibility) for visibility in Visibility}
    seen = {user: {found.visibility for found in visible_to(user)} for user in (alice, maintainer, bob, NOBODY)}
    own, others = set(Visibility), {Visibility.PUBLISHED}
    assert seen == {alice: own, maintainer: own, bob: others, NOBODY: others}
    managing = [may_manage(user, made[Visibility.PUBLISHED]) for user in seen]
    assert managing == [True, True, False, False]
