"""``manage.py second_factor``: what an account has, and removing it after a loss."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from allauth.mfa.models import Authenticator
from django.core.management import CommandError, call_command

from submissions.models import AuditEvent, User
from tests.second_factors import with_app
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from pytest_django import Settings

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("second_factor", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def ada() -> User:
    user: User = UserFactory(username="ada")
    return user


def test_what_an_account_has(ada: User) -> None:
    assert run("ada") == "ada: no second factor.\n"
    with_app(ada)
    assert run("ada") == "ada: recovery codes, authenticator app.\n"


def test_removing_leaves_those_of_others_and_is_recorded(ada: User) -> None:
    with_app(ada)
    eve: User = UserFactory()
    with_app(eve)
    assert run("ada", "--remove") == "ada has no second factor now, and signs in without one.\n"
    assert set(Authenticator.objects.values_list("user", flat=True)) == {eve.pk}
    event = AuditEvent.objects.get(verb="factor_removed")
    assert (event.subject_text, event.actor) == ("ada", None)
    with pytest.raises(CommandError, match=r"^ada has no second factor\.$"):
        run("ada", "--remove")


def test_removing_that_of_an_account_that_needs_one(ada: User, settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, require_second_factor=["maintainers"])
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    with_app(ada)
    assert run("ada", "--remove") == (
        "ada has no second factor now, and signs in without one. As one of the maintainers, the account opens nothing "
        "until it has a new one.\n"
    )


def test_an_unknown_account() -> None:
    with pytest.raises(CommandError, match="There is no account named 'ada'"):
        run("ada", "--remove")
