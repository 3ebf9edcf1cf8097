"""The people of the pages' tests, and the shipped results."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command

from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import User


@pytest.fixture
def alice(db: None) -> User:
    """Who submits."""
    made: User = UserFactory(username="alice")
    return made


@pytest.fixture
def bob(db: None) -> User:
    """Somebody else."""
    made: User = UserFactory(username="bob")
    return made


@pytest.fixture
def carol(db: None) -> User:
    """A maintainer."""
    made: User = UserFactory(username="carol", is_staff=True)
    return made


@pytest.fixture
def as_alice(client: Client, alice: User) -> Client:
    """The browser of who submits."""
    client.force_login(alice)
    return client


@pytest.fixture
def as_carol(client: Client, carol: User) -> Client:
    """The browser of a maintainer."""
    client.force_login(carol)
    return client


@pytest.fixture
def shipped(db: None) -> None:
    """The shipped facts about lmr-bench."""
    call_command("load_catalogue", stdout=io.StringIO())
    call_command("load_published", stdout=io.StringIO())
