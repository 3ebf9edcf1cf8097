"""Second factors at rest: who needs one, and sealing them under another secret."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import AnonymousUser
from django.core.management import CommandError, call_command

from submissions.domain import second_factor
from submissions.exceptions import WrongStateError
from submissions.models import AuditEvent, User
from tests.reviews.factories import ReviewerFactory
from tests.second_factors import SECRET, code, with_app
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from pytest_django import Settings

pytestmark = pytest.mark.django_db
OLD, NEW = "o" * 40, "n" * 40


def use(settings: Settings, *secrets: str, roles: tuple[str, ...] = ()) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, endpoint_keys=list(secrets), require_second_factor=list(roles))


def rotated() -> str:
    out = io.StringIO()
    call_command("rotate_endpoint_keys", stdout=out)
    return out.getvalue()


def test_who_needs_one(settings: Settings) -> None:
    use(settings, roles=("annotators", "maintainers"))
    maintainer: User = UserFactory(is_staff=True)
    adjudicator: User = ReviewerFactory(annotator=False, adjudicator=True).user
    both: User = ReviewerFactory(user=UserFactory(is_staff=True)).user
    found = [
        second_factor.required_as(user) for user in (maintainer, adjudicator, both, UserFactory(), AnonymousUser())
    ]
    assert found == ["maintainers", "annotators", "annotators", "", ""]
    with_app(maintainer)
    assert (second_factor.missing_as(maintainer), second_factor.missing_as(adjudicator)) == ("", "annotators")
    assert list(second_factor.maintainers_without()) == [both]


def test_every_role_of_the_setting_is_defined(settings: Settings) -> None:
    from leaderboard.settings.environment import ROLES

    use(settings, roles=ROLES)
    assert second_factor.required_as(UserFactory()) == ""
    assert set(ROLES) == {second_factor.MAINTAINERS, second_factor.ANNOTATORS}


def test_removing_needs_something_to_remove() -> None:
    ada: User = UserFactory(username="ada")
    with pytest.raises(WrongStateError, match="ada has no second factor"):
        second_factor.remove(user=ada, actor=None)
    assert not AuditEvent.objects.exists()


def test_the_old_secret_is_not_needed_after_rotation(settings: Settings) -> None:
    use(settings, OLD)
    app = with_app(UserFactory())
    codes = Authenticator.objects.get(type="recovery_codes").wrap().generate_codes()
    Authenticator.objects.create(user=app.user, type="webauthn", data={"name": "Key", "credential": {}})
    use(settings, NEW, OLD)
    with_app(UserFactory())
    assert rotated() == "2 keys re-sealed, 2 keys already sealed with the first secret.\n"
    use(settings, NEW)
    app.refresh_from_db()
    assert second_factor.unseal(app.data["secret"]) == SECRET
    assert app.wrap().validate_code(code())  # type: ignore[no-untyped-call]
    assert Authenticator.objects.get(type="recovery_codes", user=app.user).wrap().generate_codes() == codes
    assert rotated() == "0 keys re-sealed, 4 keys already sealed with the first secret.\n"


def test_a_lost_secret_is_reported_and_nothing_is_changed(settings: Settings) -> None:
    use(settings, OLD)
    ada: User = UserFactory(username="ada")
    before = with_app(ada).data
    use(settings, NEW)
    with pytest.raises(CommandError, match=r"opens the second factors of ada\. Put the secret"):
        rotated()
    assert Authenticator.objects.get(type="totp").data == before
    assert second_factor.unreadable() == ["ada"]
