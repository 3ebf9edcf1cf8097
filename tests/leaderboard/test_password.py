"""``manage.py password``."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from leaderboard.operation.maintainers import ALPHABET
from submissions.domain.audit import history
from submissions.enums import Verb
from submissions.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def maintainer() -> User:
    return User.objects.create_user(username="maintainer", password="the old one", is_staff=True)


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def typed(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    """Someone at a terminal who answers the questions in turn."""
    remaining = iter(answers)
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("leaderboard.management.commands.password.getpass", lambda _question: next(remaining))


def test_a_generated_password_is_printed_and_works(maintainer: User) -> None:
    output = StringIO()
    call_command("password", "maintainer", "--generate", stdout=output)
    head, _, password = output.getvalue().strip().partition("\n\n    ")
    assert head == "The new password of maintainer:"
    groups = password.split("-")
    assert [len(group) for group in groups] == [4] * 5
    assert set("".join(groups)) <= set(ALPHABET)
    maintainer.refresh_from_db()
    assert (maintainer.check_password(password), maintainer.check_password("the old one")) == (True, False)
    event = history(maintainer).get()
    assert (event.verb, event.actor, event.data, event.reason) == (Verb.PASSWORD, None, {}, "")


def test_a_typed_password_is_not_printed(maintainer: User, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, "a fine new password", "a fine new password")
    output = StringIO()
    call_command("password", "maintainer", stdout=output)
    assert output.getvalue() == "maintainer has a new password.\n"
    maintainer.refresh_from_db()
    assert maintainer.check_password("a fine new password")


def test_a_bad_password_changes_nothing(maintainer: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for answers, message in (
        (["one password", "another one"], "The two are not the same. Nothing was changed."),
        (["short"] * 2, "Nothing was changed. This password is too short. It must contain at least 10 characters."),
    ):
        typed(monkeypatch, *answers)
        with pytest.raises(CommandError) as refused:
            call_command("password", "maintainer")
        assert str(refused.value) == message
    assert not history(maintainer).exists()
    maintainer.refresh_from_db()
    assert maintainer.check_password("the old one")


def test_without_a_terminal_it_says_what_to_do(maintainer: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())
    with pytest.raises(CommandError, match="Use --generate"):
        call_command("password", "maintainer")


def test_an_unknown_account_is_answered_with_the_known_maintainers(maintainer: User) -> None:
    User.objects.create_user(username="ordinary")
    with pytest.raises(CommandError) as refused:
        call_command("password", "root", "--generate")
    assert str(refused.value) == "There is no account named 'root'. Maintainers: maintainer."
