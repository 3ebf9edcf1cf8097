"""``python -m tests.load.preparing COUNTS ACCOUNTS``: make accounts on an instance, as its pages and commands do.

A process of its own, which has the instance's settings. ``COUNTS`` is JSON: how many accounts of each kind; the names
and tokens are written to the file ``ACCOUNTS``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import django

from tests.load.plan import PASSWORD, PREFIXES, Accounts

if TYPE_CHECKING:
    from submissions.models import User

DAILY_SUBMISSIONS: Final = 10_000


def prepare(*, browsing: int, uploading: int, labelling: int, calling: int) -> Accounts:
    """Make accounts: those that send have a quota, those that label have joined and practised."""
    reader, sender, rater, program = PREFIXES
    made = Accounts(
        browsing=[_account(f"{reader}{number}").username for number in range(browsing)],
        uploading=[_sender(f"{sender}{number}").username for number in range(uploading)],
        labelling=[_account(f"{rater}{number}").username for number in range(labelling)],
        tokens=[_token(_sender(f"{program}{number}")) for number in range(calling)],
    )
    for name in made.labelling:
        _join(name)
    return made


def _account(name: str) -> User:
    from submissions.models import User

    made: User = User.objects.create_user(username=name, email=f"{name}@mail.example", password=PASSWORD)
    return made


def _sender(name: str) -> User:
    from submissions.domain import quotas
    from submissions.domain.operators import local_operator

    user = _account(name)
    quotas.set_limit(holder=user, daily=DAILY_SUBMISSIONS, actor=local_operator(), reason="The load test sends many.")
    return user


def _token(user: User) -> str:
    from submissions.domain import tokens

    _, secret = tokens.make(owner=user, name="load", scopes=["read", "submit"], days=1)
    return secret


def _join(name: str) -> None:
    """Make an annotator who has read the guidelines and labelled the practice items, whatever the labels."""
    from reviews.annotators import guidelines, invitations, practice, reviewers
    from reviews.labelling.locking import lock
    from submissions.domain.operators import local_operator
    from submissions.models import User

    _, secret = invitations.invite(actor=local_operator(), annotator=True, adjudicator=False)
    reviewer = invitations.accept(user=User.objects.get(username=name), secret=secret)
    reviewers.update_profile(
        reviewer=reviewer, name="", shows_name=False, affiliation="none", expertise="", confirmed=True
    )
    guidelines.acknowledge(reviewer)
    while assignment := practice.next_practice(reviewer):
        lock(assignment=assignment, label="CC", confidence=3, findings=[])


if __name__ == "__main__":
    django.setup()
    accounts = prepare(**json.loads(sys.argv[1]))
    Path(sys.argv[2]).write_text(json.dumps(asdict(accounts)), encoding="utf-8")
