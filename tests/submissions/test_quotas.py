"""Daily submission quotas and hourly limits on checks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from submissions.domain import quotas
from submissions.domain.submitting import cancel
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError, QuotaExceededError
from submissions.models import AuditEvent, Submission, Upload
from tests.submissions.factories import RIGHT, SubmissionFactory, bundle, checked_by_worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.test import Client
    from pytest_django import Settings

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User

pytestmark = pytest.mark.usefixtures("half_past_noon")


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
def test_cancelled_and_held_submissions_do_not_count(alice: User, state: SubmissionState, used: int) -> None:
    SubmissionFactory(owner=alice, state=state)
    assert quotas.used_today(alice) == used
    assert quotas.remaining(alice) == 10 - used


def test_cancelling_after_the_start_has_a_separate_limit(alice: User, settings: Settings) -> None:
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
    # A higher submission limit also raises the cancellation limit.
    alice.daily_submissions = 3
    alice.save()
    with transaction.atomic():
        quotas.require(alice)


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


def test_a_maintainer_sets_a_limit_and_it_is_recorded(alice: User, maintainer: User) -> None:
    quotas.set_limit(holder=alice, daily=3, actor=maintainer, reason="a large model")
    alice.refresh_from_db()
    assert quotas.limit(alice) == 3
    event = AuditEvent.objects.get()
    assert (event.verb, event.actor, event.reason) == (Verb.QUOTA, maintainer, "a large model")
    assert (event.subject_text, event.data) == ("alice", {"before": None, "after": 3})
    quotas.set_limit(holder=alice, daily=None, actor=maintainer, reason="done")
    alice.refresh_from_db()
    assert quotas.limit(alice) == 10


def test_users_cannot_raise_their_own_quota(alice: User) -> None:
    with pytest.raises(NotAllowedError, match="Only maintainers may change quotas"):
        quotas.set_limit(holder=alice, daily=99, actor=alice, reason="please")
    alice.refresh_from_db()
    assert alice.daily_submissions is None
    assert not AuditEvent.objects.exists()


TOO_MANY = "You have had 3 files checked within this hour"


@pytest.fixture
def few_checks(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Allow three checks per hour, with none counted yet, and one submission per day."""
    monkeypatch.setattr(quotas, "CHECKS_AN_HOUR", 3)
    monkeypatch.setattr(quotas, "limit", lambda _: 1)
    cache.clear()
    yield
    cache.clear()


def send(client: Client, **fields: Any) -> Any:
    file = SimpleUploadedFile("answers.zip", bundle({"alpha/1": RIGHT}))
    return client.post(reverse("upload"), {"file": file, **fields})


@pytest.mark.usefixtures("few_checks")
def test_sending_and_discarding_in_a_loop_is_limited(as_alice: Client, small: SuiteVersion) -> None:
    for _ in range(3):
        assert send(as_alice).status_code == 302
        as_alice.post(reverse("upload_discard", args=[Upload.objects.get().pk]))
    response = send(as_alice, system="Typed Name")
    page = response.content.decode()
    assert (response.status_code, TOO_MANY in page, "Typed Name" in page) == (200, True, True)
    assert not Upload.objects.exists()


@pytest.mark.usefixtures("few_checks")
def test_submitting_in_a_loop_without_a_quota_is_limited(
    as_alice: Client, small: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotas, "used_today", lambda _: 1)
    send(as_alice)
    checked_by_worker()
    address = reverse("upload_check", args=[Upload.objects.get().pk])
    pages = [as_alice.post(address).content.decode() for _ in range(3)]
    assert [TOO_MANY in page for page in pages] == [False, False, True]
    assert (Upload.objects.count(), Submission.objects.count()) == (1, 0)


@pytest.mark.usefixtures("few_checks")
def test_limits_are_per_account_and_reset_after_an_hour(alice: User, bob: User) -> None:
    for _ in range(3):
        quotas.count_check(alice)
    with pytest.raises(QuotaExceededError, match=TOO_MANY):
        quotas.count_check(alice)
    quotas.count_check(bob)
    with time_machine.travel(timezone.now() + timedelta(hours=1)):
        quotas.count_check(alice)
