"""Registered organisations and verified addresses for the tests of every room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allauth.account.models import EmailAddress

from submissions.domain import organisations
from submissions.models import User
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from submissions.models import Organisation


def registered(name: str = "Example Lab", *domains: str, by: User | None = None) -> Organisation:
    """An organisation that a maintainer registered."""
    actor = by or User.objects.filter(is_staff=True).first() or UserFactory(username="registrar", is_staff=True)
    return organisations.register(name=name, homepage="https://lab.example.org", domains=domains, actor=actor)


def has_address(account: User, email: str, *, verified: bool = True) -> None:
    """Give an account an address."""
    EmailAddress.objects.create(user=account, email=email, verified=verified)
