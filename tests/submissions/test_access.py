"""Who may see and manage which submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import AnonymousUser

from submissions.domain.access import may_manage, visible_to
from submissions.enums import Visibility
from submissions.models import Submission
from tests.submissions.factories import SubmissionFactory

if TYPE_CHECKING:
    from submissions.models import User

ALL = set(Visibility)


@pytest.fixture
def of_alice(alice: User) -> None:
    """One submission of Alice's in every visibility."""
    for visibility in Visibility:
        SubmissionFactory(owner=alice, visibility=visibility)


def seen_by(user: User | AnonymousUser) -> set[Visibility]:
    return {Visibility(found.visibility) for found in visible_to(user)}


def test_everybody_sees_published_ones_only(of_alice: None, bob: User) -> None:
    assert seen_by(AnonymousUser()) == {Visibility.PUBLISHED}
    assert seen_by(bob) == {Visibility.PUBLISHED}


def test_owner_and_maintainer_see_all(of_alice: None, alice: User, maintainer: User) -> None:
    assert seen_by(alice) == ALL
    assert seen_by(maintainer) == ALL


def test_owner_and_maintainer_manage(of_alice: None, alice: User, bob: User, maintainer: User) -> None:
    published = Submission.objects.get(visibility=Visibility.PUBLISHED)
    assert [may_manage(user, published) for user in (alice, maintainer, bob, AnonymousUser())] == [
        True,
        True,
        False,
        False,
    ]
