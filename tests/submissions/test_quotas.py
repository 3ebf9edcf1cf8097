"""How much one person may submit on one day."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
import time_machine
from django.db import transaction
from django.utils import timezone

from submissions.domain import quotas
from submissions.domain.submitting import cancel
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError, QuotaExceededError
from submissions.models import AuditEvent
from tests.submissions.factories import SubmissionFactory

if TYPE_CHECKING:
    from pytest_django import Settings

    from submissions.models import User


def test_the_instance_has_a_limit_and_a_person_may_have_another(alice: User) -> None:
    assert quotas.limit(alice) == 10
    alice.daily_submissions = 0
    assert quotas.limit(alice) == 0


@pytest.mark.parametrize(
    ("state", "used"),
    [
        (SubmissionState.QUEUED, 1),
        (SubmissionState.RUNNING, 1),
        (SubmissionState.SCORED, 1),
        (SubmissionState.HELD, 0),
        (SubmissionState.CANCELLED, 0),
    ],
)
def test_cancelled_and_held_ones_are_given_back(alice: User, state: SubmissionState, used: int) -> None:
    SubmissionFactory(owner=alice, state=state)
    assert quotas.used_today(alice) == used
    assert quotas.remaining(alice) == 10 - used


def test_cancelling_what_workers_had_begun_has_a_cap_of_its_own(alice: User, settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, daily_cancelled=2)
    for state in (SubmissionState.QUEUED, SubmissionState.HELD, SubmissionState.RUNNING, SubmissionState.RUNNING):
        with transaction.atomic():
            quotas.require(alice)
        cancel(submission=SubmissionFactory(owner=alice, state=state), actor=alice)
    assert (quotas.used_today(alice), quotas.cancelled_today(alice)) == (0, 2)
    with (
        pytest.raises(QuotaExceededError, match=r"^You have cancelled 2 submissions today \(UTC\) after"),
        transaction.atomic(),
    ):
        quotas.require(alice)
    with time_machine.travel(timezone.now() + timedelta(days=1)), transaction.atomic():
        quotas.require(alice)
    # Whoever may submit more may cancel as much more.
    alice.daily_submissions = 3
    alice.save()
    with transaction.atomic():
        quotas.require(alice)


def test_submissions_of_others_do_not_count(alice: User, bob: User) -> None:
    SubmissionFactory(owner=bob)
    assert quotas.used_today(alice) == 0


def test_the_quota_is_renewed_at_midnight_utc(alice: User) -> None:
    with time_machine.travel(datetime(2026, 3, 1, 23, 59, tzinfo=UTC), tick=False):
        SubmissionFactory(owner=alice)
        assert quotas.used_today(alice) == 1
    with time_machine.travel(datetime(2026, 3, 2, 0, 0, tzinfo=UTC), tick=False):
        assert quotas.used_today(alice) == 0


def test_the_limit_is_held_exactly(alice: User) -> None:
    alice.daily_submissions = 2
    alice.save()
    for _ in range(2):
        with transaction.atomic():
            quotas.require(alice)
        SubmissionFactory(owner=alice)
    with (
        pytest.raises(QuotaExceededError, match=r"^You have sent 2 submissions today \(UTC\); your limit is 2\."),
        transaction.atomic(),
    ):
        quotas.require(alice)


def test_more_than_the_limit_leaves_nothing_rather_than_less(alice: User) -> None:
    SubmissionFactory.create_batch(2, owner=alice)
    alice.daily_submissions = 1
    alice.save()
    assert quotas.remaining(alice) == 0
    with (
        pytest.raises(QuotaExceededError, match=r"^You have sent 2 submissions today \(UTC\); your limit is 1\."),
        transaction.atomic(),
    ):
        quotas.require(alice)


def test_a_maintainer_sets_a_limit_and_it_is_recorded(alice: User, maintainer: User) -> None:
    quotas.set_limit(user=alice, daily=3, actor=maintainer, reason="a large model")
    alice.refresh_from_db()
    assert quotas.limit(alice) == 3
    event = AuditEvent.objects.get()
    assert (event.verb, event.actor, event.reason) == (Verb.QUOTA, maintainer, "a large model")
    assert (event.subject_text, event.data) == ("alice", {"before": None, "after": 3})
    quotas.set_limit(user=alice, daily=None, actor=maintainer, reason="done")
    alice.refresh_from_db()
    assert quotas.limit(alice) == 10


def test_nobody_raises_their_own_quota(alice: User) -> None:
    with pytest.raises(NotAllowedError, match="Only maintainers change quotas"):
        quotas.set_limit(user=alice, daily=99, actor=alice, reason="please")
    alice.refresh_from_db()
    assert alice.daily_submissions is None
    assert not AuditEvent.objects.exists()
