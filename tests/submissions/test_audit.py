"""The append-only audit log, and who may see and manage a submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command

from benchmark_tasks.models import SuiteVersion
from submissions.domain.access import may_manage, visible_to
from submissions.domain.audit import history, record
from submissions.domain.operators import local_operator
from submissions.enums import Verb, Visibility
from submissions.models import AuditEvent
from tests.conftest import PROJECT_ROOT
from tests.submissions.factories import SubmissionFactory

if TYPE_CHECKING:
    from submissions.models import User


def test_an_event_keeps_its_subjects_name_at_that_time(alice: User) -> None:
    submission = SubmissionFactory(owner=alice, system__name="Alpha")
    event = record(verb=Verb.HIDDEN, subject=submission, actor=alice, reason="copied", data={"a": 1})
    submission.system.name = "Beta"
    submission.system.save()
    stored = AuditEvent.objects.get()
    assert stored == event
    assert (stored.subject_kind, stored.subject_id) == ("submission", str(submission.pk))
    assert stored.subject_text == f"Alpha on {submission.suite_version}"
    assert (stored.reason, stored.data) == ("copied", {"a": 1})


def test_history_has_one_subject_newest_first(alice: User) -> None:
    mine, other = SubmissionFactory(owner=alice), SubmissionFactory()
    for verb in (Verb.SUBMITTED, Verb.PUBLISHED, Verb.WITHDRAWN):
        record(verb=verb, subject=mine, actor=alice)
    record(verb=Verb.HIDDEN, subject=other, actor=alice)
    # Another kind of row may have the same number.
    record(verb=Verb.QUOTA, subject=alice, actor=alice)
    assert [event.verb for event in history(mine)] == [Verb.WITHDRAWN, Verb.PUBLISHED, Verb.SUBMITTED]


def test_events_cannot_be_changed_or_deleted(alice: User) -> None:
    event = record(verb=Verb.SUBMITTED, subject=SubmissionFactory(owner=alice), actor=alice)
    event.reason = "another"
    with pytest.raises(TypeError, match="append-only"):
        event.save()
    with pytest.raises(TypeError, match="append-only"):
        event.delete()
    with pytest.raises(TypeError, match=r"append-only, so \['reason'\] cannot be changed"):
        AuditEvent.objects.update(reason="another")
    with pytest.raises(TypeError, match="append-only"):
        AuditEvent.objects.all().delete()
    assert AuditEvent.objects.get().reason == ""


@pytest.mark.django_db
def test_the_operator_account_is_recorded_once() -> None:
    operator = local_operator()
    assert local_operator() == operator
    event = history(operator).get()
    assert (event.verb, event.actor, event.data) == (Verb.ROLE, None, {"before": None, "after": "maintainer"})
    assert (operator.is_staff, operator.has_usable_password()) == (True, False)


@pytest.mark.django_db(transaction=True)
def test_an_import_records_an_event_only_if_it_changes_something() -> None:
    folder = PROJECT_ROOT / "benchmark_tasks" / "suites" / "lmr-mini"
    for _ in range(2):
        call_command("import_suite", str(folder), "--slug", "mine")
    version = SuiteVersion.objects.get(suite__slug="mine")
    event = history(version).get()
    assert (event.verb, event.actor, event.subject_text) == (Verb.IMPORTED, None, str(version))


ANONYMOUS = AnonymousUser()


def test_who_can_see_and_manage_a_submission(alice: User, bob: User, maintainer: User) -> None:
    made = {visibility: SubmissionFactory(owner=alice, visibility=visibility) for visibility in Visibility}
    seen = {user: {found.visibility for found in visible_to(user)} for user in (alice, maintainer, bob, ANONYMOUS)}
    own, others = set(Visibility), {Visibility.PUBLISHED}
    assert seen == {alice: own, maintainer: own, bob: others, ANONYMOUS: others}
    managing = [may_manage(user, made[Visibility.PUBLISHED]) for user in seen]
    assert managing == [True, True, False, False]
